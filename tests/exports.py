"""Exports of every tool, made by code, each with the same few answers in it; written by hand from the tools' own
writers and documents, not by our exporters. Where a tool's package could be run, its output was compared and is the
same: Label Studio's CSV is byte for byte what label-studio-sdk 2.1.2's Converter writes, its JSON_MIN the same but for
annotation ids and a second control left out here; Argilla's records are what argilla 2.8.0's GenericIO.to_list gives,
but for the record's status. Files that the tools' own packages wrote are in tests/written (see test_written.py).
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass, field

import polars as pl

# task, worker, label of all samples that can say so
ANSWERS = [("t1", "ann", "pos"), ("t1", "bob", "neg"), ("t2", "ann", "neg"), ("t3", "bob", "pos")]
DATE = "2026-01-0{}T10:00:00Z"


@dataclass(frozen=True)
class Sample:
    format: str
    name: str
    content: bytes
    rows: list = field(default_factory=lambda: list(ANSWERS))
    options: dict = field(default_factory=dict)
    dropped: dict = field(default_factory=dict)

    @property
    def arguments(self) -> list[str]:
        columns = ",".join(f"{k}={v}" for k, v in self.options.get("columns", {}).items())
        flags = [f"--{key}" for key, value in self.options.items() if value is True]
        named = [(f"--{k}", v) for k, v in self.options.items() if isinstance(v, str)]
        return [*flags, *(part for pair in named for part in pair), *(["--columns", columns] if columns else [])]


def result(name, kind, value):
    return {"from_name": name, "to_name": "text", "type": kind, "value": value}


def choice(*labels, name="sent"):
    return result(name, "choices", {"choices": list(labels)})


def annotation(who, *results, **more):
    return {"completed_by": who, "result": list(results), "lead_time": 2.5, "created_at": DATE.format(1)} | more


def label_studio(*tasks):
    return json.dumps([{"id": i, "data": {"text": f"text of {i}"}, "annotations": list(a)} for i, a in tasks]).encode()


LABEL_STUDIO = label_studio(
    ("t1", [annotation("ann", choice("pos")), annotation({"id": "bob", "email": ""}, choice("neg"))]),
    ("t2", [annotation("ann", choice("neg")), annotation("bob", choice("pos"), was_cancelled=True)]),
    ("t3", [annotation("bob", choice("pos")), annotation("eve", choice("pos"), ground_truth=True), annotation("ann")]),
    ("t4", []),
)

# label-studio-sdk 2.1.2, Converter.convert(..., "CSV") of ANSWERS with one rating, and a task without annotations
LABEL_STUDIO_CSV = b"""\
"annotation_id","annotator","created_at","id","lead_time","sent","stars","text","updated_at"
11,"ann","2026-01-01T10:00:00Z","t1",2.5,"pos","[{""rating"":4}]","text of t1","2026-01-01T10:00:00Z"
12,"bob","2026-01-01T10:00:00Z","t1",2.5,"neg","","text of t1","2026-01-01T10:00:00Z"
13,"ann","2026-01-01T10:00:00Z","t2",2.5,"neg","","text of t2","2026-01-01T10:00:00Z"
14,"bob","2026-01-01T10:00:00Z","t3",2.5,"pos","","text of t3","2026-01-01T10:00:00Z"
"","","","t4","","","","text of t4",""
"""


def flat(task, who, label, **more):
    said = {"text": f"text of {task}", "id": task, "sent": label, "annotator": who, "annotation_id": 11}
    return said | {"created_at": DATE.format(1), "updated_at": DATE.format(1), "lead_time": 2.5} | more


NOBODY = {"annotator": None, "annotation_id": None, "created_at": None, "updated_at": None, "lead_time": None}
LABEL_STUDIO_MIN = json.dumps([*(flat(*a) for a in ANSWERS), {"text": "text of t4", "id": "t4"} | NOBODY]).encode()

UUID = {"ann": "00000000-0000-0000-0000-000000000001", "bob": "00000000-0000-0000-0000-000000000002"}


def by_task():
    return [(t, [(w, label) for each, w, label in ANSWERS if each == t]) for t in ("t1", "t2", "t3")]


def jsonl(records) -> bytes:
    return "".join(json.dumps(each) + "\n" for each in records).encode()


ARGILLA = [
    {
        "id": task,
        "status": "completed",
        "_server_id": None,
        "text": "ok",
        "label.responses": [label for _, label in said] + ["pos"],
        "label.responses.users": [UUID[who] for who, _ in said] + ["00000000-0000-0000-0000-000000000003"],
        "label.responses.status": ["submitted"] * len(said) + ["draft"],
        "label.suggestion": "pos",
        "label.suggestion.score": 0.9,
        "label.suggestion.agent": "gpt",
    }
    for task, said in by_task()
]
ARGILLA_NESTED = [
    {
        "id": task,
        "fields": {"text": "ok"},
        "metadata": {},
        "suggestions": {"label": {"value": "pos", "score": 0.9, "agent": "gpt"}},
        "responses": {"label": [{"value": label, "user_id": UUID[who]} for who, label in said]},
        "vectors": {},
        "status": "pending",
        "_server_id": None,
    }
    for task, said in by_task()
]
ARGILLA_ROWS = [(t, UUID[w], label) for t, w, label in ANSWERS]

MTURK_HEAD = '"HITId","AssignmentId","WorkerId","AssignmentStatus","SubmitTime","WorkTimeInSeconds","Input.id"'
MTURK = (
    f'{MTURK_HEAD},"Answer.sent.label"\n'
    '"t1","1","ann","Approved","Mon Nov 16 10:00:00 PST 2026","31","a","pos"\n'
    '"t1","2","bob","Rejected","Mon Nov 16 10:00:00 PST 2026","4","a","neg"\n'
    '"t2","3","ann","Submitted","Mon Nov 16 11:00:00 PST 2026","22","b","neg"\n'
    '"t3","4","bob","Approved","Mon Nov 16 12:00:00 PST 2026","22","c","pos"\n'
    '"t3","5","ann","Approved","Mon Nov 16 12:00:00 PST 2026","22","c",""\n'
).encode()
MTURK_FLAGS = (
    f'{MTURK_HEAD},"Answer.sent.pos","Answer.sent.neg"\n'
    '"t1","1","ann","Approved","","31","a","true","false"\n'
    '"t1","2","bob","Approved","","4","a","false","true"\n'
    '"t2","3","ann","Approved","","22","b","false","true"\n'
    '"t3","4","bob","Approved","","22","c","true","false"\n'
).encode()
MTURK_JSON = (
    f'{MTURK_HEAD},"Answer.taskAnswers"\n'
    '"t1","1","ann","Approved","","31","a","[{""sent"":{""label"":""pos""}}]"\n'
    '"t1","2","bob","Approved","","4","a","[{""sent"":{""pos"":false,""neg"":true}}]"\n'
    '"t2","3","ann","Approved","","22","b","[{""sent"":{""label"":""neg""}}]"\n'
    '"t3","4","bob","Approved","","22","c","[{""sent"":{""label"":""pos""}}]"\n'
).encode()
MTURK_ITEMS = (
    b'"HITId","WorkerId","Input.tweet1","Input.tweet2","Answer.Mood1","Answer.Mood2","Answer.comment"\n'
    b'"h1","ann","t1","t2","pos","neg","fine"\n"h2","bob","t1","t3","neg","pos",""\n'
)
TOLOKA = (
    b"INPUT:image\tOUTPUT:result\tGOLDEN:result\tASSIGNMENT:assignment_id\tASSIGNMENT:worker_id\tASSIGNMENT:status\t"
    b"ASSIGNMENT:started\tASSIGNMENT:submitted\n"
    b"t1\tpos\t\t1\tann\tAPPROVED\t2026-01-01T10:00:00\t2026-01-01T10:00:10\n"
    b"t2\tneg\tneg\t1\tann\tAPPROVED\t2026-01-01T10:00:00\t2026-01-01T10:00:10\n"
    b"\n"
    b"t1\tneg\t\t2\tbob\tREJECTED\t2026-01-01T10:03:00\t\n"
    b"t3\tpos\t\t2\tbob\tREJECTED\t2026-01-01T10:03:00\t\n"
    b"t3\t\t\t3\teve\tSKIPPED\t2026-01-01T10:03:00\t\n"
)


def prodigy(task, who, accept, answer="accept", **more):
    options = [{"id": "pos", "text": "Positive"}, {"id": "neg", "text": "Negative"}]
    return {
        "text": task,
        "_input_hash": task,
        "_task_hash": 7,
        "_annotator_id": who,
        "_view_id": "choice",
        "options": options,
        "accept": accept,
        "answer": answer,
        "_timestamp": 1_700_000_000,
    } | more


PRODIGY = [
    *(prodigy(t, w, [label]) for t, w, label in ANSWERS),
    prodigy("t1", "eve", [], "ignore"),
    prodigy("t2", "eve", ["pos"], "reject"),
    prodigy("t3", "eve", []),
]
PRODIGY_BINARY = [
    {"text": "x", "label": "POS", "_task_hash": t, "_input_hash": 1, "_session_id": w, "answer": a}
    for t, w, a in [("1", "ann", "accept"), ("1", "bob", "reject"), ("2", "ann", "ignore")]
]


def packed(files, compression=zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content, compression)
    return file.getvalue()


DOCCANO_FILES = {
    f"{who}.jsonl": jsonl({"id": t, "text": "x", "label": [label]} for t, w, label in ANSWERS if w == who)
    for who in ("ann", "bob")
}
DOCCANO_FILES["bob.jsonl"] += jsonl([{"id": "t2", "text": "x", "label": []}])


def cvat(rows, who=None, extra="") -> bytes:
    meta = f"<meta><job><id>1</id><assignee><username>{who}</username></assignee></job></meta>" if who else ""
    images = "".join(
        f'<image id="{i}" name="{t}" width="9" height="9"><tag label="{label}" source="manual"></tag></image>'
        for i, (t, label) in enumerate(rows)
    )
    head = '<?xml version="1.0" encoding="utf-8"?>\n<annotations><version>1.1</version>'
    return f"{head}{meta}{images}{extra}</annotations>".encode()


def said_by(who):
    return [(t, label) for t, w, label in ANSWERS if w == who]


BLANK_IMAGE = '<image id="9" name="t9" width="9" height="9"></image>'
CVAT_FILES = {"job_1.xml": cvat(said_by("ann"), "ann"), "bob.xml": cvat(said_by("bob"), extra=BLANK_IMAGE)}


def potato(who, rows) -> bytes:
    labels = {t: [[{"schema": "sent", "name": label}, "true"]] for t, label in rows}
    return json.dumps({"user_id": who, "instance_id_to_label_to_value": labels}).encode()


POTATO_FILES = {f"out/{who}/user_state.json": potato(who, said_by(who)) for who in ("ann", "bob")}
OLD_POTATO_FILES = {
    f"out/{who}/annotated_instances.jsonl": jsonl(
        {"id": t, "displayed_text": "x", "label_annotations": {"sent": {label: "true"}}} for t, label in said_by(who)
    )
    for who in ("ann", "bob")
}
NUMBERED = [(t, w, "1" if label == "pos" else "0") for t, w, label in ANSWERS]
CLEANLAB = b",ann,bob\nt1,1.0,0.0\nt2,0.0,NaN\nt3,,1.0\n"
LISTS = [{"id": t, "annotations": [x for _, x in said], "annotators": [w for w, _ in said]} for t, said in by_task()]
SNOW = (
    "!amt_annotation_ids\t!amt_worker_ids\torig_id\tresponse\tgold\n"
    + "".join(f"{i}\t{w}\t{t}\t{label}\tpos\n" for i, (t, w, label) in enumerate(ANSWERS))
).encode()
JUDGE = [
    {"item": t, "judge": w, "verdict": label, "score": 0.7, "timestamp": DATE.format(2)} for t, w, label in ANSWERS
]


def parquet(records) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(records).write_parquet(file)
    return file.getvalue()


SKIP, GAP = "skipped by the worker", "no answer to the question"
DRAFT = {"response is draft, not submitted": 3}
FLAT = {"task without annotations": 1}
SAMPLES = {
    "label_studio": Sample("label_studio", "e.json", LABEL_STUDIO,
                           dropped={SKIP: 1, GAP: 1, "ground truth, kept as gold": 1}),
    "label_studio_csv": Sample("label_studio_csv", "e.csv", LABEL_STUDIO_CSV, options={"question": "sent"},
                               dropped=FLAT),
    "label_studio_min": Sample("label_studio_min", "e.json", LABEL_STUDIO_MIN, options={"question": "sent"},
                               dropped=FLAT),
    "argilla": Sample("argilla", "e.jsonl", jsonl(ARGILLA), ARGILLA_ROWS, dropped=DRAFT),
    "argilla array": Sample("argilla", "e.json", json.dumps(ARGILLA).encode(), ARGILLA_ROWS, dropped=DRAFT),
    "argilla nested": Sample("argilla", "e.json", json.dumps(ARGILLA_NESTED).encode(), ARGILLA_ROWS),
    "argilla parquet": Sample("argilla", "e.parquet", parquet(ARGILLA), ARGILLA_ROWS, dropped=DRAFT),
    "mturk": Sample("mturk", "e.csv", MTURK, dropped={GAP: 1}),
    "mturk flags": Sample("mturk", "e.csv", MTURK_FLAGS),
    "mturk json": Sample("mturk", "e.csv", MTURK_JSON),
    "mturk old": Sample("mturk", "e.csv", MTURK.replace(b'"HITId"', b'"#HITId"'), dropped={GAP: 1}),
    "mturk items": Sample("mturk", "e.csv", MTURK_ITEMS,
                          options={"question": "Mood{i}", "columns": {"task": "Input.tweet{i}"}}),
    "toloka": Sample("toloka", "e.tsv", TOLOKA, dropped={SKIP: 1, "blank row": 1}),
    "prodigy": Sample("prodigy", "e.jsonl", jsonl(PRODIGY),
                      dropped={SKIP: 1, GAP: 1, "rejected as a whole, which is not a choice": 1}),
    "prodigy binary": Sample("prodigy", "e.jsonl", jsonl(PRODIGY_BINARY),
                             [("1", "ann", "accept"), ("1", "bob", "reject")], dropped={SKIP: 1}),
    "doccano": Sample("doccano", "e.zip", packed(DOCCANO_FILES), dropped={GAP: 1}),
    "cvat": Sample("cvat", "e.zip", packed(CVAT_FILES), dropped={GAP: 1}),
    "cvat zips": Sample("cvat", "e.zip", packed({f"{who}.zip": packed({"annotations.xml": cvat(said_by(who))})
                                                 for who in ("ann", "bob")})),
    "cvat one": Sample("cvat", "ann.xml", cvat(said_by("ann")), [a for a in ANSWERS if a[1] == "ann"]),
    "potato": Sample("potato", "e.zip", packed(POTATO_FILES)),
    "potato old": Sample("potato", "e.zip", packed(OLD_POTATO_FILES)),
    "potato one": Sample("potato", "user_state.json", potato("ann", said_by("ann")),
                         [a for a in ANSWERS if a[1] == "ann"]),
    "cleanlab": Sample("cleanlab", "e.csv", CLEANLAB, NUMBERED),
    "hf_lists": Sample("hf_lists", "e.jsonl", jsonl(LISTS)),
    "hf_lists parquet": Sample("hf_lists", "e.parquet", parquet(LISTS)),
    "snow": Sample("snow", "e.tsv", SNOW),
    "llm_judge": Sample("llm_judge", "e.jsonl", jsonl(JUDGE)),
}  # fmt: skip
