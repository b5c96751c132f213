"""Methods for boxes: laws, gold, infer, what is odd."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import registry, simulate

METHODS = registry.names("boxes")
every = pytest.mark.parametrize("name", METHODS)


@pytest.fixture(scope="module")
def crowd():
    return simulate.scenario("boxes_classes", tasks=60, workers=12, seed=2)


def texts(result):
    return result.to_table()["boxes"].to_list()


@every
def test_the_order_of_rows_and_of_boxes_does_not_matter(name, crowd):
    frame = crowd.votes.to_frame()
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1).with_columns(
        pl.col("boxes").map_elements(lambda t: json.dumps(json.loads(t)[::-1]), return_dtype=pl.String)
    )
    again = cw.boxes.box_votes(shuffled["task"], shuffled["worker"], shuffled["boxes"])
    assert texts(registry.method(name).fit(again)) == texts(registry.method(name).fit(crowd.votes))


@every
def test_names_of_workers_do_not_matter(name, crowd):
    frame = crowd.votes.to_frame()
    other = cw.boxes.box_votes(frame["task"], frame["worker"].str.reverse() + "x", frame["boxes"])
    for one, two in zip(
        texts(registry.method(name).fit(other)), texts(registry.method(name).fit(crowd.votes)), strict=True
    ):
        a, b = ([box[:4] for box in json.loads(text)] for text in (one, two))
        assert np.allclose(a, b, atol=1e-3)


@every
def test_moving_and_stretching_the_picture_moves_the_boxes(name, crowd):
    boxes = [[[2 * b[0] + 10, 2 * b[1], 2 * b[2] + 10, 2 * b[3], *b[4:]] for b in json.loads(text)]
             for text in crowd.votes.to_frame()["boxes"]]  # fmt: skip
    frame = crowd.votes.to_frame()
    moved = registry.method(name).fit(cw.boxes.box_votes(frame["task"], frame["worker"], boxes))
    plain = registry.method(name).fit(crowd.votes)
    assert moved.estimate.n_boxes.tolist() == plain.estimate.n_boxes.tolist()
    assert np.allclose(moved.estimate.corner, 2 * plain.estimate.corner + [10, 0, 10, 0], atol=1e-3)


@every
def test_saved_and_loaded_it_is_the_same(name, crowd, tmp_path):
    result = registry.method(name).fit(crowd.votes)
    cw.Run(result, crowd.votes).save(tmp_path / "r")
    back = cw.Run.load(tmp_path / "r")
    assert texts(back.result) == texts(result)
    assert back.result.worker_table().equals(result.worker_table())
    assert back.votes.to_frame().equals(crowd.votes.to_frame())


@every
def test_gold_stays_put_and_judges(name, crowd):
    truth = crowd.truth_table()
    gold = truth.head(30)
    result = registry.method(name).fit(crowd.votes, gold=gold)
    assert result.gold.sum() == 30
    for task in range(30):
        mine, theirs = json.loads(texts(result)[task]), json.loads(gold["boxes"][task])
        assert sorted(map(str, mine)) == sorted(map(str, theirs))
    scores = cw.evaluate(result, truth)
    assert scores.n == 30
    assert scores.n_gold_left_out == 30


@every
def test_infer_of_its_own_tasks(name, crowd):
    result = registry.method(name).fit(crowd.votes)
    again = result.infer(crowd.votes)
    assert again.estimate.n_boxes.tolist() == result.estimate.n_boxes.tolist()
    assert np.abs(again.estimate.corner - result.estimate.corner).max() < 15
    with pytest.raises(cw.DataError, match="were not there"):
        result.infer(cw.boxes.box_votes(["t"], ["stranger"], [[]]))
    assert result.infer(cw.boxes.box_votes(["t"], ["stranger"], [[[0, 0, 1, 1]]]), unknown_workers="average")


@every
@pytest.mark.parametrize(
    "boxes",
    [
        [[]],
        [[[0, 0, 1, 1]]],
        [[], [], []],
        [[[0, 0, 0, 0]], [[5, 5, 1, 1]], [[1, 1, 5, 5]]],
        [[[0, 0, 1, 1]] * 5, [[0, 0, 1, 1]] * 5, []],
        [[[0, 0, 1, 1, "a"]], [[0, 0, 1, 1]], [[0, 0, 1, 1, "a"]]],
        [[[-1e9, 0, 1e9, 1e-9]], [[-1e9, 0, 1e9, 1e-9]], []],
    ],
)
def test_odd_boxes_survive(name, boxes):
    votes = cw.boxes.box_votes(["t"] * len(boxes), [f"w{i}" for i in range(len(boxes))], boxes)
    result = registry.method(name).fit(votes)
    assert len(result.to_table()) == 1
    assert np.isfinite(result.estimate.corner).all()
    assert len(result.worker_table()) == len(boxes)


def test_a_task_that_nobody_looked_at_changes_nothing(crowd):
    more = cw.boxes.box_votes(*crowd.votes.to_frame().get_columns()[:3], tasks=[*crowd.votes.tasks.to_list(), "zz"],
                        workers=[*crowd.votes.workers.to_list(), "zz"])  # fmt: skip
    for name in METHODS:
        assert texts(registry.method(name).fit(more)) == [*texts(registry.method(name).fit(crowd.votes)), "[]"]


def test_boxes_are_turned_and_flat_ones_left_out_with_a_word():
    votes = cw.boxes.box_votes([1, 1], ["a", "b"], ["[[4, 4, 0, 0], [1, 1, 1, 5]]", "[]"])
    assert votes.to_frame()["boxes"].to_list() == ["[[0, 0, 4, 4]]", "[]"]
    assert any("corners were put in order" in note for note in votes.ledger.notes)
    assert any("without area were dropped" in note for note in votes.ledger.notes)


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("nonsense", "is not valid JSON"),
        ("[[1, 2, 3]]", "where a box is needed"),
        ('[[1, 2, 3, "x"]]', "not a usable number"),
        ("[[1, 2, 3, NaN]]", "not a usable number"),
        ("[[1, 2, 3, 1e300]]", "not a usable number"),
        ('{"a": 1}', "is not a list"),
        ("[" * 5000, "is not valid JSON|too deeply"),
    ],
)
def test_bad_cells_say_what_is_wrong(cell, says):
    with pytest.raises(cw.DataError, match=f"row 2.*({says})"):
        cw.boxes.box_votes([1, 2], ["a", "a"], ["[]", cell])


def test_repeats_and_weights():
    with pytest.raises(cw.DataError, match="contradictory"):
        cw.boxes.box_votes([1, 1], ["a", "a"], [[[0, 0, 1, 1]], []])
    same = cw.boxes.box_votes([1, 1], ["a", "a"], [[[0, 0, 1, 1], [2, 2, 3, 3]], [[2, 2, 3, 3], [0, 0, 1, 1]]])
    assert len(same) == 1
    heavy = cw.boxes.box_votes([1] * 3, ["a", "b", "c"], [[[0, 0, 1, 1]], [], []], weight=[5.0, 1.0, 1.0])
    assert cw.boxes.BoxClusters().fit(heavy).estimate.n_boxes.tolist() == [1]


@pytest.mark.slow
def test_planted_workers_are_found_again():
    errors = []
    for tasks in (60, 600):
        crowd = simulate.scenario("boxes_plain", tasks=tasks, workers=20, seed=4)
        result = cw.boxes.BoxMean().fit(crowd.votes)
        checked = cw.boxes.BoxMean().fit(crowd.votes, gold=crowd.truth_table()).worker_summary
        errors.append(float(np.abs(result.worker_summary.majority_recall - checked.recall).mean()))
        gap = result.worker_summary.bias - crowd.planted.bias
        errors.append(float(np.abs(gap - gap.mean(axis=0)).mean()))
    assert max(errors[0], errors[2]) < 0.02
    assert errors[3] < 0.006 < errors[1]
