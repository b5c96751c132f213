"""Numbers written in other formats: what is written comes back the same, or is refused in one line."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.io.export import (
    RESULT_FORMATS_OF_KIND,
    RESULTS,
    TABLES,
    VOTE_FORMATS_OF_KIND,
    VOTES,
    write_result,
    write_votes,
)
from crowdwise.io.reading import Reading

from ..exports import annotation, label_studio, result
from .test_export import ENDINGS

TASK, WORKER = ["t1", "t1", "t2", "t3", "t3"], ["ann", "bob", "ann", "bob", "eve"]
VALUES = [4.0, 2.5, -1e-7, 0.1 + 0.2, 1e20]
WHOLE = [4.0, 2.0, 0.0, 3.0, 10.0]


def votes_of(values, **more):
    return cw.numbers.number_votes(TASK, WORKER, values, tasks=["t1", "t2", "t3", "t4"], **more)


def there_and_back(reading, name, tmp_path, **options):
    path = tmp_path / f"v.{ENDINGS.get(name, 'csv')}"
    notes = write_votes(reading, path, name)
    if name.startswith("label_studio_"):
        options["question"] = "value"
    return cw.read_all(path, **options), notes


@pytest.mark.parametrize("values", [VALUES, WHOLE], ids=["fractions", "whole"])
@pytest.mark.parametrize("name", [*TABLES, *VOTE_FORMATS_OF_KIND["numbers"]])
def test_numbers_come_back(tmp_path, name, values):
    if name == "argilla" and values is VALUES:
        with pytest.raises(cw.DataError, match="ratings are whole numbers"):
            there_and_back(Reading(votes_of(values), "", ""), name, tmp_path)
        return
    asked = {"kind": "numbers"} if name in ("wide", "snow") else {}
    if name in ("wide", "llm_judge"):  # the file alone is a plain table
        asked["format"] = name
    back, notes = there_and_back(Reading(votes_of(values), "", ""), name, tmp_path, **asked)
    assert any("--kind numbers" in note for note in notes) is ("kind" in asked)
    assert back.format == name
    found = back.annotations.to_frame().select("task", "worker", "value")
    assert found.rows() == list(zip(TASK, WORKER, values, strict=True))


@pytest.mark.parametrize("name", [name for name in VOTES if name not in (*TABLES, *VOTE_FORMATS_OF_KIND["numbers"])])
def test_formats_without_a_place_for_numbers_say_so(tmp_path, name):
    with pytest.raises(cw.ParameterError, match=rf"^{name} cannot hold numbers; choose one of csv, tsv, jsonl, "):
        write_votes(Reading(votes_of(VALUES), "", ""), tmp_path / "v", name)
    assert not (tmp_path / "v").exists()


def test_answers_of_several_numbers_have_a_place_in_tables_only(tmp_path):
    boxes = cw.numbers.number_votes(TASK, WORKER, np.arange(10.0).reshape(5, 2) / 4, parts=["x", "y"])
    for name in TABLES:
        back, _ = there_and_back(Reading(boxes, "", ""), name, tmp_path)
        assert back.annotations.to_frame().equals(boxes.to_frame())
    with pytest.raises(cw.ParameterError, match="wide cannot hold answers of several numbers; choose one of csv"):
        write_votes(Reading(boxes, "", ""), tmp_path / "v.csv", "wide")


@pytest.mark.parametrize("name", [*TABLES, "label_studio", "label_studio_min", "label_studio_csv"])
def test_times_durations_and_gold_come_back(tmp_path, name):
    votes = votes_of(VALUES, time=[1.5, 2, 3, 4, np.nan], duration=[1, np.nan, 3, 4, 5.5])
    gold = pl.DataFrame({"task": ["t1"], "label": ["3.5"]})
    columns = {"columns": {"gold": "gold"}} if name in TABLES else {}
    back, _ = there_and_back(Reading(votes, "", "", gold=gold), name, tmp_path, **columns)
    np.testing.assert_array_equal(back.annotations.time, votes.time)
    np.testing.assert_array_equal(back.annotations.duration, votes.duration)
    if name in (*TABLES, "label_studio"):  # the flat exports do not tell a ground truth from a vote
        assert back.gold.rows() == [("t1", "3.5")]


# ---------------------------------------------------------------------------------------------- Label Studio
DATA = [{"photo": f"https://x.org/{i}.jpg", "meta": {"by": [i]}} for i in range(3)]


@pytest.fixture(params=["number", "rating"])
def album(request, tmp_path):
    """An export with ids that are numbers and data of its own, whose question is `size`."""
    values = [4.25, 3, 0.1 + 0.2] if request.param == "number" else [4, 3, 5]
    said = [
        annotation(w, result("size", request.param, {request.param: v})) for w, v in zip((7, 8, 9), values, strict=True)
    ]
    tasks = json.loads(label_studio(*((40 - i, said) for i in range(3))))
    for task, data in zip(tasks, DATA, strict=True):
        task["data"] = data
    (tmp_path / "album.json").write_text(json.dumps(tasks))
    return tmp_path / "album.json"


@pytest.mark.parametrize("by_way_of", [None, "csv", "jsonl", "parquet", "label_studio_min", "label_studio_csv"])
def test_a_round_trip_keeps_ids_data_control_and_values(tmp_path, crowdwise_cli, album, by_way_of):
    back, between, options = tmp_path / "back.json", album, []
    if by_way_of is not None:
        between = tmp_path / f"v.{ENDINGS.get(by_way_of, by_way_of.removeprefix('label_studio_'))}"
        assert crowdwise_cli("convert", album, between, "--to", by_way_of)[0] == 0
        options = ["--original", album] if "_" not in by_way_of else ["--question", "size"]
    code, _, err = crowdwise_cli("convert", between, back, "--to", "label_studio", *options)
    assert code == 0, err
    for before, after in zip(json.loads(album.read_text()), json.loads(back.read_text()), strict=True):
        assert after["id"] == before["id"]
        assert after["data"]["photo"] == before["data"]["photo"]
        for was, now in zip(before["annotations"], after["annotations"], strict=True):
            assert now["completed_by"] == was["completed_by"]
            said = {key: value for key, value in now["result"][0].items() if key != "to_name"}
            assert said == {key: value for key, value in was["result"][0].items() if key != "to_name"}


# ---------------------------------------------------------------------------------------------- results
@pytest.fixture
def found():
    return cw.numbers.Mean().fit(votes_of([4, 2.5, 1, 3, 3.5]))


def test_estimates_as_tables(tmp_path, found):
    for name in ("csv", "jsonl", "parquet"):
        assert write_result(found, tmp_path / f"c.{name}") == ()
    table = found.to_table()
    assert table.columns[:4] == ["task", "value", "low", "high"]
    assert pl.read_parquet(tmp_path / "c.parquet").equals(table)
    assert pl.read_csv(tmp_path / "c.csv").equals(table)
    assert pl.read_ndjson(tmp_path / "c.jsonl").equals(table)


def test_estimates_as_predictions(tmp_path, found):
    write_result(found, tmp_path / "p.json", "label_studio")
    tasks = json.loads((tmp_path / "p.json").read_text())
    assert [task["data"]["text"] for task in tasks] == ["t1", "t2", "t3"]  # t4 has no answer
    first = tasks[0]
    assert first["data"]["low"] < found.mean[0] < first["data"]["high"]
    said = first["predictions"][0]
    assert 0 <= said["score"] <= 1
    assert said["result"][0] == {
        "score": said["score"],
        "from_name": "value",
        "to_name": "text",
        "type": "number",
        "value": {"number": found.mean[0]},
    }
    back = cw.read(tmp_path / "p.json", predictions=True, columns={"task": "task"})
    np.testing.assert_array_equal(back.answers.value[:, 0], found.mean[:3])


def test_predictions_go_back_into_a_project(tmp_path, album):
    original = cw.read_all(album)
    fit = cw.numbers.Mean().fit(original.annotations)
    notes = write_result(fit, tmp_path / "p.json", "label_studio", original)
    tasks = json.loads((tmp_path / "p.json").read_text())
    assert [(task["id"], task["data"]) for task in tasks] == [(40 - i, data) for i, data in enumerate(DATA)]
    kind = original.control.kind
    expected = {"number": (4.25 + 3 + 0.3) / 3, "rating": 4}[kind]
    assert tasks[0]["predictions"][0]["result"][0]["value"][kind] == pytest.approx(expected)
    assert any("rounded to whole stars" in note for note in notes) is (kind == "rating")


@pytest.mark.parametrize(
    "name", [name for name in RESULTS if name not in (*TABLES, *RESULT_FORMATS_OF_KIND["numbers"])]
)
def test_results_without_a_place_for_numbers_say_so(tmp_path, found, name):
    with pytest.raises(cw.ParameterError, match=f"^{name} cannot hold numbers; choose one of csv, jsonl, parquet"):
        write_result(found, tmp_path / "out", name)


def test_several_numbers_are_no_prediction(tmp_path):
    fit = cw.numbers.Mean().fit(cw.numbers.number_votes(TASK, WORKER, np.ones((5, 2)), parts=["x", "y"]))
    with pytest.raises(cw.ParameterError, match="label_studio cannot hold answers of several numbers"):
        write_result(fit, tmp_path / "p.json", "label_studio")


def test_a_run_with_an_upside_down_worker_can_be_loaded(tmp_path):
    votes = cw.simulate.scenario("numbers_mixed", tasks=300, workers=30, labels=6, seed=1).votes
    fit = cw.numbers.Combined().fit(votes)
    assert fit.weight.min() < 0
    cw.Run(fit, votes).save(tmp_path / "run")
    np.testing.assert_array_equal(cw.Run.load(tmp_path / "run").result.weight, fit.weight)
