"""Label sets in files: tables, exports, truths."""

from __future__ import annotations

import json
import zipfile

import polars as pl
import pytest

import crowdwise as cw
from crowdwise.io.reading import read_all


def labels(votes):
    return votes.to_frame()["labels"].to_list()


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_columns_tell(tmp_path):
    path = write(tmp_path / "v.csv", 'task,worker,labels\n1,u,"[""a"",""b""]"\n1,v,[]\n2,u,a|c\n')
    reading = read_all(path)
    assert labels(reading.annotations) == ['["a", "b"]', "[]", '["a", "c"]']
    assert any("read as label sets" in note for note in reading.annotations.ledger.notes)


def test_lists_in_the_column_label_are_sets(tmp_path):
    path = write(tmp_path / "v.csv", 'task,worker,label\n1,u,"[""a"",""b""]"\n1,v,"[""a""]"\n')
    assert labels(cw.read(path)) == ['["a", "b"]', '["a"]']
    assert cw.read(path, kind="classes").n_classes == 2
    plain = write(tmp_path / "p.csv", "task,worker,label\n1,u,[x]\n1,v,[y]\n")
    assert cw.read(plain).kind.name == "classes"  # brackets alone make no list


@pytest.mark.parametrize("how", [{"multiple": "set"}, {"kind": "sets"}])
def test_bars_on_request(tmp_path, how):
    path = write(tmp_path / "v.csv", "task,worker,label\n1,u,a|b\n1,v,a\n")
    assert cw.read(path).kind.name == "classes"
    assert labels(cw.read(path, **how)) == ['["a", "b"]', '["a"]']


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_tables_come_back_as_they_went(tmp_path, ending):
    votes = cw.sets.set_votes([1, 1, 2], [*"uvu"], [["a,b", 'c"d'], [], ["é"]], offered={2: ["é", "x"]})
    from crowdwise.io.export import write_votes

    path = tmp_path / f"v.{ending}"
    write_votes(cw.Reading(votes, "csv", ""), path)
    again = cw.read(path)
    assert labels(again) == labels(votes)
    assert again.to_frame()["offered"].to_list() == votes.to_frame()["offered"].to_list()


def test_lists_in_jsonl_and_where_none_may_stand(tmp_path):
    good = write(tmp_path / "v.jsonl", '{"task": 1, "worker": "u", "labels": ["a", "b"]}\n')
    assert labels(cw.read(good)) == ['["a", "b"]']
    bad = write(tmp_path / "w.jsonl", '{"task": ["x"], "worker": "u", "labels": ["a"]}\n')
    with pytest.raises(cw.DataError, match=r"task holds \[\"x\"\]"):
        cw.read(bad)
    classes = write(tmp_path / "c.jsonl", '{"task": 1, "worker": "u", "label": [1, 2]}\n')
    with pytest.raises(cw.DataError, match="label holds"):
        cw.read(classes, kind="classes")


def test_what_was_offered_in_a_column_and_in_a_file(tmp_path):
    path = write(tmp_path / "v.csv", "task,worker,labels,offered\n1,u,a,a|b\n2,u,[],c\n")
    assert cw.read(path).to_frame()["offered"].to_list() == ['["a", "b"]', '["c"]']
    votes = write(tmp_path / "w.csv", "task,worker,labels\n1,u,a\n2,u,[]\n")
    menus = write(tmp_path / "menus.csv", "task,offered\n1,a|b\n2,c\n")
    assert cw.read(votes, offered=menus).to_frame()["offered"].to_list() == ['["a", "b"]', '["c"]']
    with pytest.raises(cw.ParameterError, match="offered does not go with class labels"):
        cw.read(write(tmp_path / "c.csv", "task,worker,label\n1,u,a\n"), offered=menus)
    with pytest.raises(cw.DataError, match="lists a task twice"):
        cw.read(votes, offered=write(tmp_path / "m2.csv", "task,offered\n1,a\n1,b\n"))


LABEL_STUDIO = [
    {"id": 1, "data": {"text": "x"}, "annotations": [
        {"completed_by": 7, "result": [{"from_name": "t", "to_name": "text", "type": "choices",
                                        "value": {"choices": ["a", "b"]}}]},
        {"completed_by": 8, "result": [{"from_name": "t", "to_name": "text", "type": "choices",
                                        "value": {"choices": ["a"]}}]},
        {"completed_by": 9, "ground_truth": True,
         "result": [{"from_name": "t", "to_name": "text", "type": "choices", "value": {"choices": ["a", "c"]}}]},
    ]},
    {"id": 2, "data": {"text": "y"}, "annotations": [
        {"completed_by": 7, "result": [{"from_name": "t", "to_name": "text", "type": "choices",
                                        "value": {"choices": ["c"]}}]},
    ]},
]  # fmt: skip


def test_label_studio_choices_and_its_ground_truth(tmp_path):
    path = write(tmp_path / "e.json", json.dumps(LABEL_STUDIO))
    reading = read_all(path)
    assert labels(reading.annotations) == ['["a", "b"]', '["a"]', '["c"]']
    assert reading.gold.rows() == [("1", '["a", "c"]')]
    result = cw.sets.JointSets().fit(reading.annotations, gold=reading.gold)
    assert result.sets[0] == ["a", "c"]
    with pytest.raises(cw.DataError, match="several labels at once"):
        read_all(path, kind="classes")


def test_argilla_and_doccano(tmp_path):
    records = [{"id": "1", "t.responses": [["a", "b"], ["a"]], "t.responses.users": ["u", "v"],
                "t.responses.status": ["submitted"] * 2}]  # fmt: skip
    argilla = write(tmp_path / "r.jsonl", "\n".join(map(json.dumps, records)))
    assert labels(cw.read(argilla)) == ['["a", "b"]', '["a"]']
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.writestr("u.jsonl", json.dumps({"id": 1, "text": "x", "label": ["a", "b"]}) + "\n")
        archive.writestr("v.jsonl", json.dumps({"id": 1, "text": "x", "label": ["b"]}) + "\n")
    assert labels(cw.read(tmp_path / "d.zip")) == ['["a", "b"]', '["b"]']


@pytest.mark.parametrize("format", ["label_studio", "label_studio_min", "argilla", "doccano"])
def test_exports_come_back(tmp_path, format):
    from crowdwise.io.export import write_votes

    votes = cw.sets.set_votes(["1", "1", "2"], [*"uvu"], [["a", "b|c"], ["a"], ["d", "a"]])
    name = {"label_studio": "o.json", "label_studio_min": "o.json", "argilla": "o.jsonl", "doccano": "o.zip"}[format]
    write_votes(cw.Reading(votes, "csv", ""), tmp_path / name, format)
    more = {"question": "labels"} if format == "label_studio_min" else {}
    assert labels(cw.read(tmp_path / name, **more)) == labels(votes)


def test_exports_without_a_place_for_sets_say_so(tmp_path):
    from crowdwise.io.export import write_votes

    votes = cw.sets.set_votes([1], ["u"], [["a"]])
    with pytest.raises(cw.ParameterError, match="wide cannot hold label sets"):
        write_votes(cw.Reading(votes, "csv", ""), tmp_path / "o.csv", "wide")


def test_a_label_called_like_two_others(tmp_path):
    said = (["a|b"], ["a", "b"])
    parts = [{"from_name": "t", "to_name": "text", "type": "choices", "value": {"choices": c}} for c in said]
    tasks = [{"id": 1, "data": {}, "annotations": [{"completed_by": i, "result": [r]} for i, r in enumerate(parts)]}]
    assert labels(cw.read(write(tmp_path / "e.json", json.dumps(tasks)))) == ['["a|b"]', '["a", "b"]']


def test_truth_files(tmp_path):
    from crowdwise.kinds.sets.reading import read_set_truth

    whole = read_set_truth(write(tmp_path / "t.csv", "task,labels\n1,a|b\n2,[]\n"))
    assert whole.rows() == [("1", "a|b"), ("2", "[]")]
    part = read_set_truth(write(tmp_path / "p.csv", "task,label,value\n1,a,1\n"))
    assert part.columns == ["task", "label", "value"]
    with pytest.raises(cw.DataError, match="no column for the labels"):
        read_set_truth(write(tmp_path / "x.csv", "task,foo\n1,a\n"))
    assert isinstance(whole, pl.DataFrame)
