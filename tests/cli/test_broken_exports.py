"""Broken exports: exit code 2 and one line that says where, what and what to do; odd ones: every row accounted for."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ..exports import (
    MTURK,
    SAMPLES,
    TOLOKA,
    annotation,
    choice,
    cvat,
    flat,
    jsonl,
    label_studio,
    packed,
    parquet,
    prodigy,
    result,
    said_by,
)
from .broken import early, kinds, nested_zips
from .made import npy

BROKEN = list(kinds())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content", "arguments"), [case[2:] for case in BROKEN], ids=[f"{case[0]}: {case[1]}" for case in BROKEN]
)
def test_broken_export(fails, tmp_path, name, content, arguments):
    (tmp_path / name).write_bytes(content)
    fails("aggregate", tmp_path / name, *arguments, words=name)


def test_there_are_many_and_all_differ():
    assert len({(case[0], case[1]) for case in BROKEN}) == len(BROKEN) >= 200
    assert {SAMPLES[case[0]].format for case in BROKEN} == {sample.format for sample in SAMPLES.values()}


LS = SAMPLES["label_studio"].content
PAIR = label_studio((1, [annotation(7, result("best", "pairwise", {"selected": "left"}))]))
WORDS = result("q", "taxonomy", {"taxonomy": ["a"]})
TWO = label_studio((1, [annotation(7, choice("a"), choice("b", name="mood"))]))
LIST = {"id": 1, "annotations": ["a"], "annotators": ["x", "y"]}
USERS = {"id": 1, "q.responses": ["a", "b"], "q.responses.users": ["x"], "q.responses.status": ["submitted"]}
TURK = b'"HITId","WorkerId","Answer.a","Answer.b"\n"1","w","x","y"\n'

# name, file, bytes, arguments, words
WRONG = [
    ("two questions", "e.json", TWO, "", "e.json has 2 questions, 'mood', 'sent' | --question NAME"),
    ("no such question", "e.json", LS, "--question x", "e.json has no question 'x'; it has 'sent'"),
    ("several choices", "e.json", label_studio((1, [annotation(7, choice("a", "b"))])), "--multiple error",
     "--multiple join"),
    ("all skipped", "e.json", label_studio((1, [annotation(7, was_cancelled=True)])), "", "annotation was skipped"),
    ("nothing chosen", "e.json", label_studio((1, [annotation(7)])), "", "no annotation has a choice"),
    ("tasks only", "e.json", label_studio((1, []), (2, [])), "", "e.json: no annotation has a choice"),
    ("nobody", "e.json", label_studio((1, [annotation(None, choice("a"))])), "", "1 no worker | right file"),
    ("annotation is text", "e.json", label_studio((1, ["x"])), "", "e.json, line 1: an annotation is 'x'"),
    ("result is a number", "e.json", label_studio((1, [annotation(7, 5)])), "", "line 1: a result is '5'"),
    ("value is a list", "e.json", label_studio((1, [annotation(7, result("q", "choices", []))])), "", "value is '[]'"),
    ("label is an object", "e.json", label_studio((1, [annotation(7, choice({"a": 1}))])), "", 'sent is {"a": 1}'),
    ("worker is a list", "e.json", label_studio((1, [annotation([7], choice("a"))])), "", "completed_by is [7]"),
    ("task is an object", "e.json", label_studio(({"a": 1}, [annotation(7, choice("a"))])), "", "the task's id is"),
    ("taxonomy of words", "e.json", label_studio((1, [annotation(7, WORDS)])), "", "q is not a list of paths"),
    ("two truths", "e.json", label_studio((1, [annotation(7, choice(x), ground_truth=True) for x in "ab"])), "",
     "task '1' has two different gold labels, 'a', 'b'"),
    ("himself", "e.json", label_studio((1, [annotation(7, choice(x)) for x in "ab"])), "", "pair carries contra"),
    ("one user, two emails", "e.json",
     label_studio(*((i, [annotation({"id": 7, "email": f"{i}@x.org"}, choice("a"))]) for i in (1, 2))), "",
     "the user '7' has two emails, '1@x.org', '2@x.org'"),
    ("predictions are a number", "e.json", LS.replace(b'"annotations": []', b'"predictions": 5'), "",
     "predictions is '5' where a list [...] is needed"),
    ("suggestion is a word", "e.json",
     json.dumps([{"id": 1, "fields": {}, "responses": {"q": []}, "suggestions": {"q": "a"}}]).encode(), "",
     "response to q or its suggestion is not an object"),
    ("a huge class", "L.npy", npy(np.array([[0, 1 << 40]])), "", "L holds class 1,099,511,627,776; number the classes"),
    ("member before the archive", "e.zip", early(SAMPLES["doccano"].content), "", "ann.jsonl cannot be unpacked"),
    ("no such column", "e.json", LS, "--columns task=image", "has no 'image'; it has 'text'"),
    ("columns of others", "e.json", LS, "--columns worker=x", "only task, text and url can be named with --columns"),
    ("not this format", "e.json", LS, "--format mturk", "e.json"),
    ("json as zip", "e.json", LS, "--format doccano", "e.json is not a zip archive"),
    ("json as xml", "e.json", LS, "--format cvat", "e.json: not readable as XML"),
    ("csv as json", "e.csv", MTURK, "--format label_studio", "e.csv, line 1: a JSON object"),
    ("no such format", "e.json", LS, "--format lab", "format must be one of csv, tsv"),
    ("flat, unclear", "e.json", json.dumps([flat("t1", "a", "x")]).encode(), "", "do not determine"),
    ("lists of two lengths", "e.jsonl", jsonl([LIST]), "", "e.jsonl, line 1 | not lists of the same length"),
    ("lists in Parquet", "e.parquet", parquet([LIST]), "", "e.parquet, row 1 | not lists of the same length"),
    ("users missing", "e.jsonl", jsonl([USERS]), "", "e.jsonl, line 1: q.responses | not lists of the same length"),
    ("response is text", "e.jsonl", jsonl([{"id": 1, "fields": {}, "responses": {"q": ["x"]}}]), "", "not an object"),
    ("two answers", "e.csv", TURK, "", "e.csv has 2 questions, 'a', 'b'"),
    ("items without pattern", "e.csv", TURK, "--question a --columns task=Input.x{i}", "needs a --question with {i}"),
    ("item without task", "e.csv", TURK.replace(b"Answer.a", b"Answer.a1"),
     "--question a{i} --columns task=Input.x{i}", "no column 'Input.x1'"),
    ("answers are no JSON", "e.csv", b"HITId,WorkerId,Answer.taskAnswers\n1,w,{oops\n", "", "taskAnswers is not JSON"),
    ("answers are a number", "e.csv", b"HITId,WorkerId,Answer.taskAnswers\n1,w,5\n", "", "holds no answers"),
    ("no worker column", "e.tsv", TOLOKA.replace(b"ASSIGNMENT:worker_id", b"ASSIGNMENT:who"), "",
     "no column 'ASSIGNMENT:worker_id'"),
    ("no output", "e.tsv", TOLOKA.replace(b"OUTPUT:", b"HINT:"), "", "no question with labels to choose from"),
    ("two golds", "e.tsv", TOLOKA.replace(b"t1\tneg\t\t", b"t2\tneg\tpos\t"), "", "task 't2' has two different gold"),
    ("accept is an object", "e.jsonl", jsonl([prodigy("t", "a", [{"id": 1}])]), "", "accept is"),
    ("everybody's", "e.zip", packed({"all.jsonl": jsonl([{"id": 1, "label": ["a"]}])}), "", "everybody's labels"),
    ("zip in zip in zip", "e.zip", nested_zips(), "", "e.zip holds no .xml file"),
    ("two tags", "e.xml", cvat(said_by("ann"), "ann", '<image name="z"><tag label="a"/><tag label="b"/></image>'),
     "--multiple error",
     "several labels at once"),
    ("state without labels", "e.json", b'{"user_id": "a"}', "--format potato", "label_to_value is missing"),
    ("label is no pair", "e.json", b'{"instance_id_to_label_to_value": {"t": ["x"]}}', "", "not a pair"),
    ("letters in cleanlab", "e.csv", b",a,b\nt1,x,1\nt2,,0\n", "--format cleanlab", "label 'x' | --format wide"),
    ("halves in cleanlab", "e.csv", b",a,b\nt1,0.5,1\nt2,,0\n", "--format cleanlab", "label '0.5'"),
    ("decimal commas", "e.csv", b";a;b\nt1;0,5;1\nt2;;0\n", "--format cleanlab", "label '0,5'"),
    ("a task twice in cleanlab", "e.csv", b",a,b\nt1,1,\nt1,,0\n", "", "e.csv, row 1: repeats a task"),
    ("no task in cleanlab", "e.csv", b",a,b\n,1,\nt1,,0\n", "", "has no task in column ''"),
    ("no verdict", "e.jsonl", jsonl([{"item": 1, "judge": "g", "text": "x"}]), "--format llm_judge", "for the label"),
    ("renamed columns", "e.tsv", SAMPLES["snow"].content.replace(b"response", b"answer"), "", "no column 'response'"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "arguments", "words"), [c[1:] for c in WRONG], ids=[c[0] for c in WRONG])
def test_wrong_export(fails, tmp_path, name, content, arguments, words):
    (tmp_path / name).write_bytes(content)
    fails("aggregate", tmp_path / name, *arguments.split(), words=words)


MIXED = label_studio(*((i, [annotation(7, choice(label))]) for i, label in enumerate([1, "1", 1.0, True, "true"])))
DATES = label_studio((1, [annotation(7, choice("2026-01-02"), created_at="yesterday", lead_time="long")]))
SEMICOLONS = MTURK.replace(b",", b";")
JUDGED = [("a", "g", "x"), ("a", None, "y"), (None, "g", "y"), ("b", "g", None), ("c", "h", " ")]
GAPS = jsonl({"item": item, "judge": judge, "verdict": verdict} for item, judge, verdict in JUDGED)
TWICE = jsonl([prodigy("t", "a", ["pos"]), prodigy("t", "a", ["pos"]), prodigy("t", None, ["pos"])])
EXACT = "exact repeat of task, worker and label"

# name, file, bytes, rows used, rows dropped, classes
ODD = [
    ("numbers and strings", "e.json", MIXED, 5, {}, ["1", "true"]),
    ("dates as labels", "e.json", DATES, 1, {}, ["2026-01-02"]),
    ("semicolons", "e.csv", SEMICOLONS, 4, {"no answer to the question": 1}, ["neg", "pos"]),
    ("byte order mark", "e.csv", b"\xef\xbb\xbf" + MTURK, 4, {"no answer to the question": 1}, ["neg", "pos"]),
    ("gaps", "e.jsonl", GAPS, 1, {"no answer to the question": 2, "no task": 1, "no worker": 1}, ["x", "y"]),
    ("saved twice", "e.jsonl", TWICE, 1, {EXACT: 1, "no worker": 1}, ["pos"]),
    ("pretty", "e.json", json.dumps(json.loads(LS), indent=2).encode(), 4,
     {"no answer to the question": 1, "skipped by the worker": 1, "ground truth, kept as gold": 1}, ["neg", "pos"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "used", "dropped", "classes"), [c[1:] for c in ODD], ids=[c[0] for c in ODD]
)
def test_odd_export(crowdwise_cli, tmp_path, name, content, used, dropped, classes):
    (tmp_path / name).write_bytes(content)
    code, out, err = crowdwise_cli("aggregate", tmp_path / name, "-m", "majority_vote", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert told["ledger"]["rows_used"] == used
    assert told["ledger"]["dropped"] == dropped
    assert told["ledger"]["rows_in"] == used + sum(dropped.values())
    assert told["classes"] == classes
