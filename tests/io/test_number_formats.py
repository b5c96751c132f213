"""Numbers in the exports of labelling tools: read as numbers where the file says so, or can mean nothing else."""

from __future__ import annotations

import json

import pytest

import crowdwise as cw
from crowdwise.kinds.numbers.answers import explain_detection

from ..exports import (
    DATE,
    MTURK_HEAD,
    NOBODY,
    UUID,
    annotation,
    choice,
    flat,
    jsonl,
    label_studio,
    packed,
    result,
)

# task, worker, value
SAID = [("t1", "ann", 4.0), ("t1", "bob", 2.5), ("t2", "ann", 3.0), ("t3", "bob", 0.1 + 0.2)]
WHOLE = [(task, worker, float(round(value))) for task, worker, value in SAID]


def by_task(said=SAID):
    return [(t, [(w, v) for each, w, v in said if each == t]) for t in ("t1", "t2", "t3")]


def studio(kind, said=SAID):
    return label_studio(
        *((t, [annotation(w, result("stars", kind, {kind: v})) for w, v in by]) for t, by in by_task(said))
    )


def studio_csv(kind, said=SAID):
    head = '"annotation_id","annotator","created_at","id","lead_time","stars","text","updated_at"\n'
    rows = (
        f'1,"{w}","{DATE.format(1)}","{t}",2.5,"[{{""{kind}"":{v}}}]","text","{DATE.format(1)}"\n' for t, w, v in said
    )
    return (head + "".join(rows)).encode()


def studio_min(kind, said=SAID):
    rows = [flat(t, w, "", **{"stars": [{kind: v}]}) for t, w, v in said]
    for row in rows:
        del row["sent"]
    return json.dumps([*rows, {"text": "text of t4", "id": "t4"} | NOBODY]).encode()


ARGILLA = [
    {
        "id": t,
        "text": "ok",
        "rating.responses": [v for _, v in by],
        "rating.responses.users": [UUID[w] for w, _ in by],
        "rating.responses.status": ["submitted"] * len(by),
    }
    for t, by in by_task(WHOLE)
]
MTURK = (
    f'{MTURK_HEAD},"Answer.slider"\n' + "".join(f'"{t}","1","{w}","Approved","","31","a","{v!r}"\n' for t, w, v in SAID)
).encode()
MTURK_JSON = (
    f'{MTURK_HEAD},"Answer.taskAnswers"\n'
    + "".join(f'"{t}","1","{w}","Approved","","31","a","[{{""slider"":{v!r}}}]"\n' for t, w, v in SAID)
).encode()
TOLOKA = (
    "INPUT:image\tOUTPUT:score\tGOLDEN:score\tASSIGNMENT:worker_id\tASSIGNMENT:status\n"
    + "".join(f"{t}\t{v:g}\t\t{w}\tAPPROVED\n" for t, w, v in WHOLE)
).encode()
JUDGE = [{"item": t, "judge": w, "verdict": "I give it a mark", "score": v} for t, w, v in SAID]
LISTS = [{"id": t, "ratings": [v for _, v in by], "annotators": [w for w, _ in by]} for t, by in by_task(WHOLE)]


def potato(said=SAID):
    def state(who):
        mine = {t: [[{"schema": "warmth", "name": "warmth"}, repr(v)]] for t, w, v in said if w == who}
        return json.dumps({"user_id": who, "instance_id_to_label_to_value": mine}).encode()

    return packed({f"out/{who}/user_state.json": state(who) for who in ("ann", "bob")})


# name -> file's name, content, rows, options
EXPORTS = {
    "label_studio number": ("e.json", studio("number"), SAID, {}),
    "label_studio rating": ("e.json", studio("rating", WHOLE), WHOLE, {}),
    "label_studio_csv number": ("e.csv", studio_csv("number"), SAID, {}),
    "label_studio_csv rating": ("e.csv", studio_csv("rating", WHOLE), WHOLE, {}),
    "label_studio_min number": ("e.json", studio_min("number"), SAID, {}),
    "label_studio_min rating": ("e.json", studio_min("rating", WHOLE), WHOLE, {}),
    "argilla rating": ("e.jsonl", jsonl(ARGILLA), [(t, UUID[w], v) for t, w, v in WHOLE], {}),
    "mturk slider": ("e.csv", MTURK, SAID, {}),
    "mturk json": ("e.csv", MTURK_JSON, SAID, {}),
    "toloka score": ("e.tsv", TOLOKA, WHOLE, {}),
    "potato slider": ("e.zip", potato(), SAID, {}),
    "hf_lists ratings": ("e.jsonl", jsonl(LISTS), WHOLE, {}),
    "llm_judge score": ("e.jsonl", jsonl(JUDGE), SAID, {"kind": "numbers"}),
}
every = pytest.mark.parametrize("name", EXPORTS)


def read(tmp_path, name, content, **options):
    (tmp_path / name).write_bytes(content)
    return cw.read_all(tmp_path / name, **options)


def rows(votes, column="value"):
    return sorted(votes.to_frame().select("task", "worker", column).iter_rows())


@every
def test_numbers_are_read_as_numbers(tmp_path, name):
    file, content, said, options = EXPORTS[name]
    reading = read(tmp_path, file, content, **options)
    assert reading.format == name.split()[0]
    assert reading.annotations.kind.name == "numbers"
    assert rows(reading.annotations) == sorted(said)
    assert reading.annotations.ledger.rows_used == len(said)


@every
def test_and_as_classes_when_asked(tmp_path, name):
    file, content, said, options = EXPORTS[name]
    reading = read(tmp_path, file, content, **options | {"kind": "classes"})
    assert isinstance(reading.annotations, cw.Annotations)
    if name != "llm_judge score":  # whose classes are the verdicts
        assert [float(label) for _, _, label in rows(reading.annotations, "label")] == [v for _, _, v in sorted(said)]


def test_what_told_is_said(tmp_path):
    notes = read(tmp_path, "e.csv", MTURK).annotations.ledger.notes
    assert "read as numbers (numbers with fractions, such as 2.5); --kind classes reads classes" in notes
    notes = read(tmp_path, "e.tsv", TOLOKA).annotations.ledger.notes
    assert "read as numbers (detected by the name 'score'); --kind classes reads classes" in notes
    assert not any("read as" in note for note in read(tmp_path, "e.json", studio("number")).annotations.ledger.notes)
    assert not any("read as" in n for n in read(tmp_path, "e.csv", MTURK, kind="numbers").annotations.ledger.notes)


def test_whole_numbers_of_a_platform_stay_classes(tmp_path):
    few = f'{MTURK_HEAD},"Answer.x"\n' + "".join(f'"t{i}","1","w","Approved","","1","a","{i % 5}"\n' for i in range(20))
    reading = read(tmp_path, "e.csv", few.encode())
    assert isinstance(reading.annotations, cw.Annotations)
    assert reading.annotations.n_classes == 5
    many = f'{MTURK_HEAD},"Answer.x"\n' + "".join(f'"t{i}","1","w","Approved","","1","a","{i}"\n' for i in range(20))
    notes = read(tmp_path, "e.csv", many.encode()).annotations.ledger.notes
    assert any("20 different whole numbers from 0 to 19 are read as classes" in note for note in notes)
    assert read(tmp_path, "e.csv", many.encode(), kind="numbers").annotations.answers.value[7, 0] == 15.0  # t15


def test_choices_that_look_like_numbers_are_choices(tmp_path):
    content = label_studio(("t1", [annotation("ann", choice("0.5")), annotation("bob", choice("1.5"))]))
    assert isinstance(read(tmp_path, "e.json", content).annotations, cw.Annotations)
    assert rows(read(tmp_path, "e.json", content, kind="numbers").annotations) == [
        ("t1", "ann", 0.5),
        ("t1", "bob", 1.5),
    ]
    commas = (
        f'{MTURK_HEAD},"Answer.x"\n"t1","1","w","Approved","","1","a","1,2"\n"t2","1","w","Approved","","1","a","1,3"\n'
    )
    assert read(tmp_path, "e.csv", commas.encode()).annotations.classes.to_list() == ["1,2", "1,3"]


def test_naming_classes_asks_for_classes(tmp_path):
    votes = read(tmp_path, "e.json", studio("rating", WHOLE), classes=["0", "2", "3", "4"]).annotations
    assert votes.classes.to_list() == ["0", "2", "3", "4"]


def test_gold_and_control_come_with_the_numbers(tmp_path):
    gold = annotation("eve", result("stars", "number", {"number": 3.5}), ground_truth=True)
    votes = [annotation(w, result("stars", "number", {"number": v})) for w, v in (("ann", 4), ("bob", 3.25))]
    reading = read(tmp_path, "e.json", label_studio(("t1", [*votes, gold]), ("t2", votes)))
    assert reading.gold.rows() == [("t1", "3.5")]
    assert (reading.control.from_name, reading.control.kind) == ("stars", "number")
    fit = cw.numbers.Mean().fit(reading.annotations, gold=reading.gold)
    assert fit.mean.tolist() == [3.5, 3.625]
    flat_one = read(tmp_path, "e.csv", studio_csv("rating", WHOLE))
    assert (flat_one.control.from_name, flat_one.control.kind) == ("stars", "rating")


def test_a_number_that_is_none_is_refused(tmp_path):
    content = MTURK.replace(b'"2.5"', b'"lots"')
    with pytest.raises(cw.DataError, match="--missing lots leaves them out, --kind classes"):
        read(tmp_path, "e.csv", content)
    assert isinstance(read(tmp_path, "e.csv", content, kind="classes").annotations, cw.Annotations)
    with pytest.raises(cw.DataError, match="'lots' in column 'value' is not a number"):
        read(tmp_path, "e.csv", content, kind="numbers")


@pytest.mark.parametrize(("said", "why"), [
    (["1", "2.5"], True), (["1", "2"], False), (["1", "x"], False), ([], False), (["", "0.5"], True),
    (["inf", "0.5"], False),
])  # fmt: skip
def test_only_fractions_claim(said, why):
    import polars as pl

    assert bool(explain_detection(pl.Series(said, dtype=pl.String))) is why


def test_whole_and_broken_numbers_in_one_list():
    votes = cw.numbers.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [1, 2.5, None, 3])
    assert votes.answers.value[:, 0].tolist() == [1.0, 2.5, 3.0]
    with pytest.raises(cw.DataError, match="not numbers"):
        cw.numbers.number_votes([1, 1], ["a", "b"], [True, 2])
