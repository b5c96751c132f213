"""Spans in every tool's format: read as they are, written and read back, offsets in code points, blanks kept."""

from __future__ import annotations

import json

import polars as pl
import pytest

import crowdwise as cw
from crowdwise.io.export import VOTE_FORMATS_OF_KIND, write_result, write_votes
from crowdwise.io.formats.marks import code_points, code_units, spans_of_tags, tags_of_spans

from ..exports import annotation, jsonl, label_studio, packed, result

ENDINGS = {"label_studio": "json", "argilla": "jsonl", "prodigy": "jsonl", "doccano": "zip", "conll": "txt",
           "tokens": "csv", "csv": "csv", "jsonl": "jsonl", "parquet": "parquet", "tsv": "tsv"}  # fmt: skip
TEXTS = {"t1": "Ann Lee sings in Rome", "t2": "🙂 nobody 🙂 sings", "t3": "Bob sings"}
VOTES = [
    ("t1", "ann", [[0, 7, "PER"], [17, 21, "LOC"]]),
    ("t1", "bob", [[0, 3, "PER"]]),
    ("t2", "ann", []),
    ("t2", "bob", [[2, 8, "PER"], [9, 10, "X"]]),
    ("t3", "bob", [[0, 3, "PER"]]),
]


def votes():
    return cw.spans.span_votes(*map(list, zip(*VOTES, strict=True)), texts=TEXTS)


def read(tmp_path, content, name, **options):
    path = tmp_path / name
    path.write_bytes(content)
    return cw.read_all(path, **options)


def rows(reading):
    return reading.annotations.to_frame().select("task", "worker", "spans").rows()


@pytest.mark.parametrize("name", [*VOTE_FORMATS_OF_KIND["spans"], "csv", "tsv", "jsonl", "parquet"])
def test_what_is_written_is_read_back(tmp_path, name):
    path = tmp_path / f"v.{ENDINGS[name]}"
    write_votes(cw.Reading(votes(), "", ""), path, name)
    back = cw.read_all(path)
    assert back.format == name
    assert rows(back) == votes().to_frame().select("task", "worker", "spans").rows()
    if name not in ("csv", "tsv", "jsonl", "parquet"):
        told = dict(back.annotations.about_tasks.select("task", "text").rows())
        assert all(told[task] == TEXTS[task] for task in told)


def test_results_go_to_label_studio(tmp_path):
    found = cw.spans.SpanMajority().fit(votes())
    write_result(found, tmp_path / "p.json", "label_studio")
    tasks = json.loads((tmp_path / "p.json").read_text())
    assert tasks[2]["predictions"][0]["result"][0]["value"] == {"start": 0, "end": 3, "labels": ["PER"]}


def test_label_studio_counts_code_units(tmp_path):
    """A smiley is two units in a browser; some versions count it once: the marked text tells."""
    text = "🙂 Ann sings"
    for start, end in ((3, 6), (2, 5)):
        mark = result("ner", "labels", {"start": start, "end": end, "text": "Ann", "labels": ["PER"]})
        task = {"id": 1, "data": {"text": text}, "annotations": [annotation("a", mark), annotation("b")]}
        found = read(tmp_path, json.dumps([task]).encode(), "e.json")
        assert rows(found) == [("1", "a", '[[2, 5, "PER"]]'), ("1", "b", "[]")]
    assert code_units(text, 2, 5) == (3, 6)
    assert code_points(text, *code_units(text, 2, 5), None) == (2, 5)


def test_submitted_and_empty_is_no_skip(tmp_path):
    mark = result("ner", "labels", {"start": 0, "end": 4, "labels": ["X"]})
    content = label_studio(
        (1, [annotation("a", mark), annotation("b"), annotation("c", was_cancelled=True)]),
        (2, [annotation("a", mark, ground_truth=True), annotation("b", mark)]),
    )
    found = read(tmp_path, content, "e.json")
    assert rows(found) == [("1", "a", '[[0, 4, "X"]]'), ("1", "b", "[]"), ("2", "b", '[[0, 4, "X"]]')]
    assert found.gold.rows() == [("2", '[[0, 4, "X"]]')]


def test_argilla_doccano_and_prodigy(tmp_path):
    spans = [{"start": 0, "end": 3, "label": "PER"}]
    said = [{"value": value, "user_id": who, "status": "submitted"} for value, who in ((spans, "u"), ([], "v"))]
    record = {"id": 1, "fields": {"text": "Ann"}, "responses": {"ner": said}}
    assert rows(read(tmp_path, json.dumps([record]).encode(), "e.json")) == [
        ("1", "u", '[[0, 3, "PER"]]'),
        ("1", "v", "[]"),
    ]
    files = {
        "ann.jsonl": jsonl([{"id": 1, "text": "Ann", "label": [[0, 3, "PER"]]}]),
        "bob.jsonl": jsonl([{"id": 1, "entities": [{"start_offset": 0, "end_offset": 2, "label": "PER"}]}]),
        "eve.jsonl": jsonl([{"id": 1, "label": []}]),
    }
    assert [row[2] for row in rows(read(tmp_path, packed(files), "e.zip"))] == [
        '[[0, 3, "PER"]]',
        '[[0, 2, "PER"]]',
        "[]",
    ]
    example = {"text": "Ann", "_input_hash": 1, "_annotator_id": "a", "_view_id": "ner_manual", "answer": "accept"}
    lines = [example | {"spans": spans}, example | {"_annotator_id": "b", "answer": "ignore"}]
    found = read(tmp_path, jsonl(lines), "e.jsonl")
    assert rows(found) == [("1", "a", '[[0, 3, "PER"]]')]
    assert found.annotations.ledger.dropped["skipped by the worker"] == 1


def test_conll_columns(tmp_path):
    text = b"EU B-ORG O\nrejects O O\n\nPeter B-PER ?\nBlackburn E-PER ?\n"
    found = read(tmp_path, text, "e.conll")
    assert rows(found) == [("1", "1", '[[0, 2, "ORG"]]'), ("1", "2", "[]"), ("2", "1", '[[0, 15, "PER"]]')]
    for bad, why in (
        (b"EU B-ORG\nrejects\n", "has 0 tags, not 1"),
        (b"EU B-ORG\nx YES\n", "is not a tag"),
        (b"-DOCSTART- O\n", "no tokens"),
    ):
        with pytest.raises(cw.DataError, match=why):
            read(tmp_path, bad, "e.conll", format="conll")


def test_tables_of_tokens(tmp_path):
    text = b"task,worker,token,tag\na,x,1,B-PER\na,x,2,I-PER\na,x,3,O\na,y,2,B-PER\n"
    found = read(tmp_path, text, "e.csv")
    assert found.format == "tokens"
    assert rows(found) == [("a", "x", '[[0, 2, "PER"]]'), ("a", "y", '[[1, 2, "PER"]]')]
    assert cw.spans.SpanCombined().fit(found.annotations).extra["units"] == "words"
    with pytest.raises(cw.DataError, match="is not the number of a token"):
        read(tmp_path, text.replace(b",3,", b",c,"), "e.csv")


def test_tags_and_spans_are_each_others_way_back():
    ends = [(i, i + 1) for i in range(5)]
    tags = ["B-A", "I-A", "B-A", "O", "B-B"]
    assert tags_of_spans(spans_of_tags(tags, ends), ends) == tags
    assert spans_of_tags(["I-A", "I-A", "I-B"], ends[:3]) == [(0, 2, "A"), (2, 3, "B")]
    assert spans_of_tags(["S-A", "S-A"], ends[:2]) == [(0, 1, "A"), (1, 2, "A")]


WRONG = {
    "[[3, 3]]": "has no length",
    "[[5, 2]]": "has no length",
    "[[-1, 2]]": "whole numbers",
    "[[1, 2.5]]": "whole numbers",
    "{": "not a list of spans",
    "7": "not a list of spans",
    '["a"]': "is not a span",
    "[[1, 2, 3, 4]]": "is not a span",
}


@pytest.mark.parametrize(("cell", "why"), WRONG.items())
def test_what_is_no_span_is_refused_in_one_line(tmp_path, cell, why):
    pl.DataFrame({"task": ["a", "b"], "worker": ["x", "x"], "spans": ["[[0, 1]]", cell]}).write_csv(tmp_path / "v.csv")
    with pytest.raises(cw.DataError, match=why) as refused:
        cw.read(tmp_path / "v.csv")
    assert "row 2" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_column_of_labels_with_spans_is_read_as_spans(tmp_path):
    pl.DataFrame({"task": ["a", "b"], "worker": ["x", "x"], "label": ["[[0, 1]]", "[]"]}).write_csv(tmp_path / "v.csv")
    found = cw.read(tmp_path / "v.csv")
    assert found.kind.name == "spans"
    assert any("read as spans" in note for note in found.ledger.notes)


def test_texts_go_to_label_studio_and_back(tmp_path):
    votes = cw.texts.text_votes([1, 1], ["a", "b"], ["hello you", "hello\nthere"])
    write_votes(cw.Reading(votes, "", ""), tmp_path / "t.json", "label_studio")
    back = cw.read(tmp_path / "t.json")
    assert back.to_frame()["output"].to_list() == ["hello you", "hello\nthere"]
    write_result(cw.texts.Medoid().fit(votes), tmp_path / "p.json", "label_studio")
    assert json.loads((tmp_path / "p.json").read_text())[0]["predictions"][0]["result"][0]["type"] == "textarea"
