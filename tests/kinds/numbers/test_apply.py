"""Rows judged under a fit: the same rows, other rows, and each row without its own worker."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import norm

from crowdwise.kinds.numbers import maths as numbers
from crowdwise.kinds.numbers.maths import apply
from crowdwise.kinds.numbers.maths.apply import row_loglik, without_own
from crowdwise.kinds.numbers.maths.rows import NumberRows
from crowdwise.kinds.numbers.simulate import number_crowd

METHODS = {
    name: getattr(numbers, name)
    for name in (
        "mean", "median", "trimmed_mean", "biased_mean", "gaussian", "gaussian_plain", "student",
        "bayesian_iterative", "spectral_regression", "crh", "catd", "combined",
    )
}  # fmt: skip
METHODS["gaussian_slope"] = partial(numbers.gaussian, slope=True)
every = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def planted(seed=0, tasks=25, workers=7, per_task=4):
    crowd = number_crowd(tasks, workers, per_task=per_task, slope=0.2, centre=10.0, scale=3.0, seed=seed)
    return NumberRows(crowd.task, crowd.worker, crowd.value, None, tasks, workers), crowd


@every
def test_the_fit_s_own_rows_get_its_estimates(method):
    rows, _ = planted()
    fit = method(rows)
    mean, variance = apply(fit, rows)
    if fit.method in ("bayesian_iterative", "combined"):
        # In the fit, a worker's variance is told without the task at hand; here it is what was learnt in the end.
        assert np.sqrt(np.mean((mean - fit.mean) ** 2)) < 0.1 * fit.mean.std()
        return
    # Student scales stop a little before their fixed point.
    np.testing.assert_allclose(mean, fit.mean, atol=0.02 if fit.method == "student" else 1e-10)
    np.testing.assert_allclose(variance, fit.variance, rtol=0.02 if fit.method == "student" else 1e-9)


@every
def test_a_part_of_the_rows_gets_the_part_of_the_estimates(method):
    rows, _ = planted(1)
    fit = method(rows)
    whole, half = apply(fit, rows), apply(fit, rows.take(rows.task < 10))
    for one, other in zip(whole, half, strict=True):
        np.testing.assert_allclose(one[:10], other[:10], rtol=1e-9)
    # Tasks without rows: what the fit holds of tasks in general.
    assert np.ptp(half[0][10:]) == 0


@every
def test_without_own_is_apply_on_the_other_workers_rows(method):
    rows, _ = planted(2, tasks=12)
    rows = rows.take(np.sort(np.append(np.arange(len(rows)), [3, 9])))  # two workers answered twice
    fit = method(rows)
    mean, variance = without_own(fit, rows)
    if fit.method == "combined":
        # The clamp is the whole task's; without wild answers it changes nothing.
        assert (np.abs(rows.value - numbers.median(rows).mean[rows.task]) < fit.extra["limit"]).all()
    for e in (0, 3, 4, 9, 20, len(rows) - 1):
        others = (rows.task == rows.task[e]) & (rows.worker != rows.worker[e])
        expected = apply(fit, rows.take(others))
        assert mean[e] == pytest.approx(expected[0][rows.task[e]], abs=1e-6)
        assert variance[e] == pytest.approx(expected[1][rows.task[e]], rel=1e-5, nan_ok=True)


@every
def test_a_task_of_one_worker_is_unknown_without_them(method):
    rows, _ = planted(3)
    rows = rows.take(~((rows.task == 0) & (rows.worker != rows.worker[0])))
    fit = method(rows)
    mean, _ = without_own(fit, rows)
    empty, _ = apply(fit, NumberRows(rows.task, rows.worker, rows.value, None, rows.n_tasks + 1, rows.n_workers))
    assert mean[0] == pytest.approx(empty[-1], abs=1e-9)


def test_row_loglik_is_the_density_of_the_held_out_answer():
    rows, _ = planted(4)
    fit = numbers.gaussian(rows)
    mean, variance = without_own(fit, rows)
    doubt = fit.extra["bias_doubt"][rows.worker] * fit.extra["unit"] ** 2
    spread = np.sqrt(fit.spread[rows.worker] ** 2 + variance + doubt)
    np.testing.assert_allclose(row_loglik(fit, rows), norm.logpdf(rows.value, mean + fit.bias[rows.worker], spread))
    assert np.isnan(row_loglik(numbers.median(rows), rows)).all()


def test_held_out_answers_are_likelier_under_better_models():
    rows, _ = planted(5, tasks=400, workers=20)
    logs = {name: row_loglik(METHODS[name](rows), rows).mean() for name in ("mean", "gaussian", "gaussian_slope")}
    assert logs["mean"] < logs["gaussian"] < logs["gaussian_slope"]
    assert logs["gaussian"] - 0.1 < row_loglik(numbers.combined(rows), rows).mean()


def test_rows_of_weight_zero_are_not_judged():
    rows, _ = planted(6)
    weight = np.ones(len(rows))
    weight[5] = 0.0
    weighted = NumberRows(rows.task, rows.worker, rows.value, weight, rows.n_tasks, rows.n_workers)
    mean, _ = without_own(numbers.gaussian(weighted), weighted)
    assert np.isnan(mean[5])
    assert np.isfinite(np.delete(mean, 5)).all()
