"""Scores against scikit-learn and by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import brier_score_loss, f1_score, log_loss

import crowdwise as cw
from crowdwise.evaluation.calibration import expected_calibration_error
from tests.conftest import planted


def test_scores_equal_scikit_learn():
    votes, truth, _ = planted(n=300, m=12, k=3, labels=3)
    result = cw.OneCoin().fit(votes)
    scores = cw.evaluate(result, dict(enumerate(truth.tolist())))
    p = np.clip(result.posterior, 1e-6, 1)
    assert scores.accuracy == pytest.approx((result.labels == truth).mean())
    assert scores.macro_f1 == pytest.approx(f1_score(truth, result.labels, average="macro"))
    rows = np.arange(len(truth))
    assert scores.log_loss == pytest.approx(-np.log(p[rows, truth]).mean())
    assert scores.log_loss == pytest.approx(log_loss(truth, p / p.sum(1, keepdims=True)), abs=1e-4)
    assert scores.brier == pytest.approx(np.mean(np.sum((result.posterior - np.eye(3)[truth]) ** 2, axis=1)))
    binary = np.array([0.2, 0.9])
    half = cw.evaluate(
        pl.DataFrame({"task": ["a", "b"], "label": ["0", "1"], "p_0": 1 - binary, "p_1": binary}), {"a": "1", "b": "1"}
    )
    assert half.brier == pytest.approx(2 * brier_score_loss([1, 1], binary))


def test_calibration_error_by_hand():
    confidence = np.array([0.95, 0.95, 0.55, 0.55])
    hit = np.array([1.0, 1.0, 1.0, 0.0])
    assert expected_calibration_error(confidence, hit) == pytest.approx((0.1 + 0.1) / 4)


def test_a_true_class_that_nobody_said_counts_as_wrong():
    labels = pl.DataFrame({"task": ["a", "b"], "label": ["x", "y"]})
    scores = cw.evaluate(labels, {"a": "x", "b": "z", "c": "x"})
    assert (scores.accuracy, scores.n, scores.truths_without_labels) == (0.5, 2, 1)
    assert scores.classes == ["x", "y", "z"]
    assert scores.log_loss is None


def test_types_are_matched_by_how_they_are_written():
    result = cw.MajorityVote().fit(cw.Annotations.from_arrays([1, 2], ["x", "x"], [0, 1]))
    assert cw.evaluate(result, {"1": "0", "2": "1"}).accuracy == 1
    assert cw.evaluate(result, {"1": "0", "02": "1"}).n == 1


def test_no_common_task_is_an_error():
    result = cw.MajorityVote().fit(cw.Annotations.from_arrays([1], ["x"], [0]))
    with pytest.raises(cw.DataError, match="do the task ids match"):
        cw.evaluate(result, {"9": "0"})


def test_tasks_that_were_gold_in_the_fit_are_not_scored():
    votes, truth, _ = planted(n=200, m=10, k=3, labels=3, low=0.4, high=0.8)
    answers = dict(enumerate(truth.tolist()))
    gold = {task: answers[task] for task in range(0, 200, 4)}
    result = cw.DawidSkene().fit(votes, gold=gold)
    others = {task: label for task, label in answers.items() if task not in gold}
    scores = cw.evaluate(result, answers, resamples=50)
    assert (scores.n, scores.n_gold_left_out) == (150, 50)
    rest = cw.evaluate(result, others, resamples=50)
    assert rest.n_gold_left_out == 0
    assert scores.to_dict() == {**rest.to_dict(), "n_gold_left_out": 50}
    assert scores.accuracy < 1
    with pytest.raises(cw.DataError, match="all 50 tasks in the truth were gold in the fit"):
        cw.evaluate(result, gold)
    table = result.to_table()
    assert cw.evaluate(table, answers).n == 200  # a table does not say what was gold
    scores = cw.evaluate(table, answers, gold=gold)
    assert (scores.n, scores.n_gold_left_out, scores.brier) == (150, 50, rest.brier)


def test_new_tasks_were_never_gold():
    votes, truth, _ = planted(n=50, m=8, k=3)
    result = cw.DawidSkene().fit(votes, gold={0: int(truth[0])})
    assert cw.evaluate(result.infer(votes), dict(enumerate(truth.tolist()))).n == 50


@pytest.mark.parametrize("wrong", [-0.5, 1.5, float("nan"), float("inf"), None])
def test_columns_of_probabilities_hold_probabilities(wrong):
    table = pl.DataFrame({"task": ["1", "2"], "label": ["a", "b"], "p_a": [0.5, wrong], "p_b": [0.5, 0.5]})
    with pytest.raises(cw.DataError, match=r"p_a\.\.\. must hold probabilities, numbers from 0 to 1"):
        cw.evaluate(table, {"1": "a", "2": "b"})
