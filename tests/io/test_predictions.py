"""Results as predictions of Label Studio: shapes, pairs, sets; scores; what an unticked answer is in flat exports."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import norm

import crowdwise as cw
from crowdwise.io.export import write_result
from crowdwise.io.export.predictions import scores
from crowdwise.io.formats.base import Control

# label-studio-sdk 2.1.2 (LabelInterface.validate_prediction) accepts these predictions,
# apart from the `to_name` of pairs, which is kept as the export has it.


def export(path, *answers_of_tasks, data=None):
    """An export whose tasks have these annotations: lists of (worker, results)."""
    tasks = []
    for i, answers in enumerate(answers_of_tasks):
        annotations = [
            {"id": 100 * i + j, "completed_by": worker, "was_cancelled": False, "result": results}
            for j, (worker, results) in enumerate(answers)
        ]
        tasks.append({"id": 50 + i, "data": data or {"image": f"/data/{i}.png"}, "annotations": annotations})
    path.write_text(json.dumps(tasks))
    return path


def rectangle(x, y, width, height):
    return {
        "from_name": "car",
        "to_name": "photo",
        "type": "rectanglelabels",
        "original_width": 800,
        "original_height": 400,
        "value": {"x": x, "y": y, "width": width, "height": height, "rotation": 0, "rectanglelabels": ["Car"]},
    }


def test_boxes_go_back_in_percent_under_their_control(tmp_path):
    box = (10.0, 20.0, 30.0, 40.0)
    answers = [(f"w{i}", [rectangle(*box)]) for i in range(3)]
    path = export(tmp_path / "e.json", answers, answers, [])
    original = cw.read_all(path)
    notes = write_result(cw.fit(original.annotations), tmp_path / "p.json", "label_studio", original)
    tasks = json.loads((tmp_path / "p.json").read_text())
    assert [task["id"] for task in tasks] == [50, 51]
    assert notes == ("1 tasks without votes get no prediction",)
    (one,) = tasks[0]["predictions"][0]["result"]
    assert (one["from_name"], one["to_name"], one["type"]) == ("car", "photo", "rectanglelabels")
    assert (one["original_width"], one["original_height"]) == (800, 400)
    assert [one["value"][name] for name in ("x", "y", "width", "height")] == pytest.approx(box, abs=0.2)
    assert one["value"]["rectanglelabels"] == ["Car"]
    assert 0 < one["score"] <= 1


def test_outlines_go_back_under_their_control(tmp_path):
    points = [[10, 10], [60, 10], [60, 60], [10, 60]]
    drawn = rectangle(0, 0, 1, 1) | {"type": "polygonlabels", "value": {"points": points, "polygonlabels": ["Car"]}}
    path = export(tmp_path / "e.json", [(f"w{i}", [drawn]) for i in range(3)])
    original = cw.read_all(path)
    write_result(cw.fit(original.annotations), tmp_path / "p.json", "label_studio", original)
    (one,) = json.loads((tmp_path / "p.json").read_text())[0]["predictions"][0]["result"]
    assert (one["from_name"], one["type"]) == ("car", "polygonlabels")
    corners = np.array(one["value"]["points"])
    assert np.r_[corners.min(axis=0), corners.max(axis=0)] == pytest.approx([10, 10, 60, 60], abs=1)


def test_pairs_go_back_as_the_selected_side(tmp_path):
    def vote(side):
        return [{"from_name": "pw", "to_name": "pw", "type": "pairwise", "value": {"selected": side}}]

    sides = ["left", "right", "left"]
    path = export(tmp_path / "e.json", *([(f"w{i}", vote(side)) for i in range(4)] for side in sides))
    original = cw.read_all(path)
    result = cw.fit(original.annotations)
    write_result(result, tmp_path / "p.json", "label_studio", original)
    tasks = json.loads((tmp_path / "p.json").read_text())
    results = [task["predictions"][0]["result"][0] for task in tasks]
    assert [one["value"] for one in results] == [{"selected": side} for side in sides]
    assert {one["type"] for one in results} == {"pairwise"}
    table = result.to_table()
    chances = [row[f"p_{row['winner']}"] for row in table.iter_rows(named=True)]
    assert [one["score"] for one in results] == pytest.approx(chances)


def test_an_empty_set_is_a_prediction_without_choices(tmp_path):
    def tick(*choices):
        value = {"choices": list(choices)}
        return [{"from_name": "topic", "to_name": "t", "type": "choices", "value": value}] if choices else []

    both, none = [(f"w{i}", tick("a", "b")) for i in range(4)], [(f"w{i}", tick()) for i in range(4)]
    skipped = [("w0", tick()), ("w1", tick("a"))]
    path = export(tmp_path / "e.json", both, none, skipped, data={"text": "what"})
    tasks = json.loads(path.read_text())
    tasks[2]["annotations"][0]["was_cancelled"] = True
    path.write_text(json.dumps(tasks))
    original = cw.read_all(path)
    assert original.annotations.labels_per_task.tolist() == [4, 4, 1]
    assert original.annotations.answers.sizes.tolist() == [2, 2, 2, 2, 0, 0, 0, 0, 1]
    assert "4 answers in which no label is ticked are read as the empty set" in original.annotations.ledger.notes
    result = cw.sets.SetMajority().fit(original.annotations)
    write_result(result, tmp_path / "p.json", "label_studio", original)
    first, second, _ = (task["predictions"][0] for task in json.loads((tmp_path / "p.json").read_text()))
    assert first["result"][0]["value"] == {"choices": ["a", "b"]}
    assert second["result"] == []
    assert second["score"] > 0.5


def test_a_single_choice_left_out_is_no_answer(tmp_path):
    choice = [{"from_name": "mood", "to_name": "t", "type": "choices", "value": {"choices": ["a"]}}]
    path = export(tmp_path / "e.json", [("w0", choice), ("w1", [])])
    votes = cw.read(path)
    assert len(votes) == 1
    assert dict(votes.ledger.dropped) == {"no answer to the question": 1}


def test_the_score_of_stars_is_the_chance_that_their_number_is_right():
    rng = np.random.default_rng(2)
    truth = rng.integers(1, 6, size=60)
    rows = [(i, w, float(np.clip(round(truth[i] + rng.normal(0, 0.7)), 1, 5))) for i in range(60) for w in range(5)]
    task, worker, value = zip(*rows, strict=True)
    votes = cw.numbers.number_votes(task, worker, value)
    result = cw.fit(votes)
    table = result.to_table()
    found = scores(result, Control("stars", kind="rating"))
    sd = np.maximum((table["high"] - table["low"]).to_numpy() / 2 / norm.ppf(0.95), table["sd"].to_numpy())
    star = table["value"].round().to_numpy()
    away = (star - table["value"].to_numpy())[:, None] + np.array([-0.5, 0.5])
    chance = np.diff(norm.cdf(away / np.maximum(sd, 1e-9)[:, None]), axis=1)[:, 0]
    assert found == pytest.approx(chance, abs=1e-9)
