"""The latent-class model of objects, and recall and precision against gold: planted values come back."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.kinds.boxes.latent_class import fit_latent_classes
from crowdwise.kinds.boxes.maths import average_linkage, build_objects, drawn_boxes, sightings
from crowdwise.kinds.boxes.simulate import PlantedBoxes, box_crowd
from crowdwise.workers import study


@pytest.fixture(scope="module")
def crowd():
    return PlantedBoxes(box_crowd(200, 10, per_task=6, objects=3.0, recall=0.75, extra=0.5, seed=3))


def test_sensitivity_and_false_alarms_come_back(crowd):
    summary = cw.boxes.BoxLatentClass().fit(crowd.votes).worker_summary
    assert np.abs(summary.sensitivity - crowd.planted.recall).max() < 0.06
    assert np.abs(summary.false_alarms - crowd.planted.extra).max() < 0.2
    inside = (summary.sensitivity_low <= crowd.planted.recall) & (crowd.planted.recall <= summary.sensitivity_high)
    assert inside.mean() >= 0.8


def test_the_majority_is_not_called_quality_without_gold(crowd):
    result = cw.boxes.BoxClusters().fit(crowd.votes)
    columns = result.worker_table().columns
    assert "majority_recall" in columns
    assert not {"recall", "precision"} & set(columns)
    studied = study(crowd.votes, result)
    assert "recall vs majority" in studied.header()
    assert "agreement with the majority is not quality" in studied.closing()


def test_gold_measures_recall_on_its_images_alone(crowd):
    gold = crowd.truth_table().head(60)
    table = cw.boxes.BoxClusters().fit(crowd.votes, gold=gold).worker_table()
    by_hand = cw.boxes.BoxClusters().fit(
        cw.boxes.box_votes(*crowd.votes.to_frame().filter(is_in(gold)).select("task", "worker", "boxes")), gold=gold
    ).worker_table()  # fmt: skip
    ours = table.sort("worker").select("recall", "precision", "gold_missed", "gold_spurious")
    assert ours.equals(by_hand.sort("worker").select("recall", "precision", "gold_missed", "gold_spurious"))
    assert table["gold_images"].sum() == 60 * 6
    studied = study(crowd.votes, cw.boxes.BoxClusters().fit(crowd.votes), gold=gold)
    assert studied.titles()[0] == "Workers, by gold"
    assert studied.quality.sort("worker")["recall"].to_list() == ours["recall"].to_list()


def is_in(gold):
    return pl.col("task").is_in(gold["task"].to_list())


def test_the_best_reader_leads_although_most_miss_what_they_see():
    # Half of the objects are faint: only the first of five readers draws them.
    rows, truth = [], []
    for task in range(40):
        clear, faint = [10, 10, 50, 50], [100, 100, 130, 130]
        truth.append((f"t{task:02}", [clear, faint]))
        for reader in range(5):
            misses = reader > 0 and task % 5 == reader
            boxes = [*([] if misses else [clear]), *([faint] if reader == 0 else [])]
            rows.append((f"t{task:02}", f"r{reader}", boxes))
    votes = cw.boxes.box_votes(*zip(*rows, strict=True))
    gold = dict(truth[:20])
    without = study(votes, cw.boxes.BoxClusters().fit(votes)).quality.sort("f1")["worker"].to_list()
    assert without[0] == "r0"  # last by agreement with the majority
    fitted = cw.boxes.BoxClusters().fit(votes, gold=gold)
    assert study(votes, fitted).quality.sort("f1")["worker"].to_list()[-1] == "r0"


def test_likelihood_is_conditional_on_being_seen():
    # One reader per image: nothing can be told, and the posterior is the share of the first guess.
    boxes = [[[0, 0, 4, 4]]] * 30
    size = np.ones(30, dtype=int)
    drawn = drawn_boxes(
        np.array(boxes, float).reshape(-1, 4), np.zeros(30, int), size, np.arange(30), np.zeros(30, int), None, 30, 1
    )
    objects = build_objects(drawn, average_linkage(drawn, 0.3))
    fit = fit_latent_classes(drawn, objects, sightings(drawn, objects), 4.0, 50, 1e-9)
    assert np.ptp(fit.sure) < 1e-12


def test_infer_uses_the_rates_of_the_fit(crowd):
    result = cw.boxes.BoxLatentClass().fit(crowd.votes)
    few = crowd.votes.to_frame().filter(crowd.votes.to_frame()["task"].is_in(["t000", "t001"]))
    inferred = result.infer(cw.boxes.box_votes(few["task"], few["worker"], few["boxes"]))
    assert inferred.worker_summary.sensitivity.max() == result.worker_summary.sensitivity.max()
    assert inferred.to_table()["boxes"].to_list() == result.to_table()["boxes"].to_list()[:2]


def test_false_alarms_do_not_become_objects_that_nobody_sees():
    # Without a limit the model took each box of a single reader for one of hundreds of objects that all others missed.
    crowd = PlantedBoxes(box_crowd(200, 12, per_task=5, objects=3.0, recall=0.8, extra=0.3, seed=8))
    summary = cw.boxes.BoxLatentClass().fit(crowd.votes).worker_summary
    assert np.abs(summary.sensitivity - crowd.planted.recall).mean() < 0.05
