"""Scores, intervals and reliability of numbers against independent computations."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from scipy import stats

from crowdwise.kinds.numbers import maths as numbers
from crowdwise.kinds.numbers.maths.intervals import conformal_margin, gaussian_interval, gold_margin, interval
from crowdwise.kinds.numbers.maths.rows import NumberRows
from crowdwise.kinds.numbers.maths.workers import reliability, scores
from crowdwise.kinds.numbers.simulate import number_crowd


def planted(seed=0, tasks=60, workers=10, per_task=4, **options):
    crowd = number_crowd(tasks, workers, per_task=per_task, seed=seed, **options)
    return NumberRows(crowd.task, crowd.worker, crowd.value, None, tasks, workers), crowd


def test_scores_by_hand():
    rng = np.random.default_rng(0)
    truth = rng.normal(100, 5, 80)
    estimate = truth + rng.normal(1, 2, 80)
    found = scores(estimate, np.append(truth, np.nan)[:80], estimate - 3, estimate + 3)
    gap = estimate - truth
    by_hand = {
        "rmse": np.sqrt(np.mean(gap**2)), "mae": np.abs(gap).mean(), "bias": gap.mean(),
        "pearson": np.corrcoef(estimate, truth)[0, 1], "spearman": stats.spearmanr(estimate, truth)[0],
        "r2": 1 - np.sum(gap**2) / np.sum((truth - truth.mean()) ** 2), "coverage": np.mean(np.abs(gap) <= 3),
        "width": 6.0,
    }  # fmt: skip
    for name, value in by_hand.items():
        assert found[name].value == pytest.approx(value, rel=1e-9), name
        assert found[name].low <= value <= found[name].high or name == "width"
    assert found["rmse"].high - found["rmse"].low < 2


def test_scores_leave_out_tasks_without_truth_and_refuse_none():
    truth = np.array([1.0, np.nan, 3.0])
    assert scores(np.array([1.0, 9.0, 3.0]), truth)["rmse"].value == 0
    with pytest.raises(ValueError, match="nothing to score"):
        scores(np.ones(3), np.full(3, np.nan))


@pytest.mark.slow
def test_score_intervals_cover():
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(60):
        truth = rng.normal(size=60)
        found = scores(truth + rng.normal(0, 0.5, 60), truth)["rmse"]
        inside += found.low <= 0.5 <= found.high
    assert 0.88 <= inside / 60 <= 0.99


def test_conformal_margin_is_the_right_order_statistic():
    errors = np.arange(1.0, 21.0)
    assert conformal_margin(errors, 0.9) == 19.0
    assert conformal_margin(errors[:10], 0.9) == 10.0
    assert conformal_margin(errors[:5], 0.9) == np.inf


@pytest.mark.slow
def test_gold_widens_intervals_that_miss_the_truth():
    # The truth asked for is not what the crowd aims at.
    rows, crowd = planted(tasks=400, workers=20)
    rng = np.random.default_rng(2)
    truth = crowd.truth + rng.normal(0, 1.0, 400)
    gold = np.full(400, np.nan)
    gold[:40] = truth[:40]
    fit = numbers.gaussian(rows, gold)
    raw = gaussian_interval(fit.mean, fit.variance)
    margin = gold_margin(numbers.gaussian, rows, gold)
    low, high = interval(fit, gold, margin)
    rest = slice(40, None)
    assert np.mean((raw[0] <= truth)[rest] & (truth <= raw[1])[rest]) < 0.7
    assert 0.82 < np.mean((low <= truth)[rest] & (truth <= high)[rest]) < 0.97
    np.testing.assert_allclose(low[:40], gold[:40], atol=1e-12)
    # Where gold corrects everybody, a fit that knows none has errors that the others have not.
    shifted = np.where(np.isnan(gold), np.nan, gold + 3)
    margins = [gold_margin(numbers.gaussian, rows, shifted, folds=folds) for folds in (0, 5)]
    assert margins[1] < 0.8 * margins[0]
    assert gold_margin(numbers.gaussian, rows, np.where(np.arange(400) < 9, truth, np.nan)) is None


def test_alpha_is_krippendorff_s():
    rows, _ = planted(3, tasks=30, workers=6, per_task=3)
    rows = rows.take(np.arange(len(rows)) != 0)
    table = np.full((6, 30), np.nan)
    table[rows.worker, rows.task] = rows.value
    exact = krippendorff.alpha(reliability_data=table, level_of_measurement="interval")
    found = reliability(rows).alpha
    assert found[0] == pytest.approx(exact, abs=1e-12)
    assert found[1] < found[0] < found[2]


def test_icc_of_a_complete_table_is_that_of_the_analysis_of_variance():
    # Shrout & Fleiss (1979), table 2: ICC(1,1) = 0.17, ICC(2,1) = 0.29.
    table = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)
    task, worker = (a.ravel().astype(np.int32) for a in np.indices(table.shape))
    found = reliability(NumberRows(task, worker, table.ravel(), None, 6, 4))
    assert found.icc1[0] == pytest.approx(0.166, abs=0.001)
    assert found.icc2[0] == pytest.approx(0.290, abs=0.001)


def test_components_of_an_incomplete_table():
    rows, crowd = planted(4, tasks=2000, workers=60, per_task=4, bias=0.6, noise=(0.7, 0.7))
    task, worker, rest = reliability(rows, draws=3).components
    assert task == pytest.approx(crowd.truth.var(), rel=0.06)
    assert worker == pytest.approx(crowd.bias.var(), rel=0.1)
    assert rest == pytest.approx(0.49, rel=0.06)


def test_reliability_of_nothing_is_unknown():
    rows = NumberRows(np.array([0], np.int32), np.array([0], np.int32), np.array([1.0]), None, 1, 1)
    assert np.isnan(reliability(rows).alpha[0])
