"""Laws that every method for numbers keeps."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest

from crowdwise.kinds.numbers import maths as numbers
from crowdwise.kinds.numbers.maths.precision import Precision, best_prior
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


@pytest.fixture(autouse=True)
def _no_numeric_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def planted(seed=0, tasks=30, workers=8, per_task=4, **options) -> tuple[NumberRows, np.ndarray]:
    crowd = number_crowd(tasks, workers, per_task=per_task, seed=seed, slope=0.2, **options)
    return NumberRows(crowd.task, crowd.worker, crowd.value, None, tasks, workers), crowd.truth


def same(one, other, tasks=None, workers=None, rtol=1e-9):
    scale = np.nanstd(one.mean) + 1e-9
    for name in ("mean", "variance"):
        a, b = getattr(one, name), getattr(other, name)[:tasks]
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale, err_msg=name)
    for name in ("bias", "spread", "slope", "weight"):
        a, b = getattr(one, name), getattr(other, name)[:workers]
        np.testing.assert_allclose(a, b, rtol=100 * rtol, atol=100 * rtol * scale, err_msg=name)


@every
def test_shifted_and_scaled_answers_shift_and_scale_estimates(method):
    rows, _ = planted()
    one, other = method(rows), method(rows.with_value(37.0 + 250.0 * rows.value))
    size = 250 * np.std(one.mean)
    np.testing.assert_allclose(other.mean, 37.0 + 250.0 * one.mean, rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(other.variance, 250.0**2 * one.variance, rtol=1e-8)
    np.testing.assert_allclose(other.bias, 250.0 * one.bias, rtol=1e-7, atol=1e-8 * size)
    np.testing.assert_allclose(other.spread, 250.0 * one.spread, rtol=1e-7)
    np.testing.assert_allclose(other.slope, one.slope, rtol=1e-7)


@every
def test_a_weight_of_two_is_the_row_twice(method):
    rows, _ = planted(1)
    times = np.random.default_rng(5).integers(0, 4, len(rows))
    times[rows.task == 0] = 1
    again = np.repeat(np.arange(len(rows)), times)
    twice = rows.take(again)
    weighted = NumberRows(rows.task, rows.worker, rows.value, times.astype(float), rows.n_tasks, rows.n_workers)
    same(method(twice), method(weighted), rtol=1e-8)


@every
def test_silent_tasks_and_workers_change_nobody(method):
    rows, truth = planted(2)
    gold = np.where(np.arange(rows.n_tasks) < 4, truth, np.nan)
    more = NumberRows(rows.task, rows.worker, rows.value, None, rows.n_tasks + 3, rows.n_workers + 2)
    for known in (None, gold):
        one = method(rows, known)
        other = method(more, None if known is None else np.append(known, [np.nan] * 3))
        same(one, other, rows.n_tasks, rows.n_workers, rtol=1e-10)
        assert np.isfinite(other.mean).all()
        assert rows.value.min() < other.mean[-1] < rows.value.max()
        assert np.isfinite(other.spread).all()
        assert abs(other.weight[-1] - 1) < 0.5 or method is METHODS["gaussian_slope"]


@every
def test_a_silent_task_gets_what_is_known_of_tasks_in_general(method):
    rows, _ = planted(2, tasks=60)
    fit = method(NumberRows(rows.task, rows.worker, rows.value, None, 61, rows.n_workers))
    assert abs(fit.mean[-1] - fit.mean[:-1].mean()) < 0.2 * fit.mean[:-1].std()
    if np.isfinite(fit.variance[:-1]).all():
        assert 0.3 < fit.variance[-1] / fit.mean[:-1].var() < 6


@pytest.mark.slow
@every
def test_gold_is_held_and_weight_zero_is_absent(method):
    rows, truth = planted(3)
    gold = np.where(np.arange(rows.n_tasks) % 3 == 0, truth, np.nan)
    fit = method(rows, gold)
    known = ~np.isnan(gold)
    np.testing.assert_allclose(fit.mean[known], gold[known], rtol=1e-12)
    assert (fit.variance[known] == 0).all()
    keep = np.arange(len(rows)) % 5 > 0
    absent = NumberRows(rows.task, rows.worker, rows.value, keep.astype(float), rows.n_tasks, rows.n_workers)
    same(method(rows.take(keep), gold), method(absent, gold), rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(METHODS) - {"mean", "median", "trimmed_mean", "crh", "catd"}))
def test_gold_teaches_biases(name):
    # Everybody is 2 too high: only gold can tell.
    rows, truth = planted(4, tasks=120, bias=0.05, noise=(0.2, 0.4))
    rows = rows.with_value(rows.value + 2.0)
    gold = np.where(np.arange(120) % 2 == 0, truth, np.nan)
    rest = np.isnan(gold)
    blind = METHODS[name](rows).mean[rest] - truth[rest]
    taught = METHODS[name](rows, gold).mean[rest] - truth[rest]
    assert abs(blind.mean() - 2) < 0.2
    # The default's plain mean keeps a quarter of it.
    assert abs(taught.mean()) < (0.7 if name in ("combined", "spectral_regression") else 0.3)


@pytest.mark.parametrize("name", ["crh", "catd"])
def test_gold_teaches_weights(name):
    # Two of three workers agree on what is wrong; gold shows the third to be right.
    rng = np.random.default_rng(0)
    truth = rng.normal(size=60)
    lie = truth + rng.normal(0, 1.5, 60)
    value = np.stack([lie, lie + rng.normal(0, 0.05, 60), truth + rng.normal(0, 0.2, 60)], axis=1).ravel()
    rows = NumberRows(
        np.repeat(np.arange(60, dtype=np.int32), 3), np.tile(np.arange(3, dtype=np.int32), 60), value, None, 60, 3
    )
    gold = np.where(np.arange(60) < 30, truth, np.nan)
    fit = METHODS[name](rows, gold)
    assert fit.weight.argmax() == 2
    assert METHODS[name](rows).weight.argmax() != 2


CASES = {
    "one worker": ([0, 1, 2], [0, 0, 0], [1.0, 5.0, 3.0], 3, 1),
    "one task": ([0, 0, 0], [0, 1, 2], [1.0, 5.0, 3.0], 1, 3),
    "one row": ([0], [0], [7.0], 1, 1),
    "all equal": ([0, 0, 1, 1, 2], [0, 1, 0, 1, 2], [4.0] * 5, 3, 3),
    "all equal, huge": ([0, 0, 1, 1], [0, 1, 0, 1], [1e300] * 4, 2, 2),
    "one answer each": ([0, 1, 2, 3], [0, 1, 2, 3], [1.0, 2.0, 8.0, 4.0], 4, 4),
    "two answers of one worker": ([0, 0, 1], [0, 0, 1], [1.0, 2.0, 3.0], 2, 2),
    "no rows": ([], [], [], 2, 2),
}


@pytest.mark.slow
@every
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_small_and_flat_crowds(method, case):
    task, worker, value, n, m = case
    rows = NumberRows(np.array(task, np.int32), np.array(worker, np.int32), np.array(value, float), None, n, m)
    fit = method(rows)
    assert np.isfinite(fit.mean).all()
    assert (fit.variance[~np.isnan(fit.variance)] >= 0).all()
    for values in (fit.bias, fit.spread, fit.slope, fit.weight):
        assert np.isfinite(values).all()
    if len(value):
        low, high = min(value), max(value)
        reach = 0.5 * (high - low) + 1e-9 * abs(high)
        assert (low - reach <= fit.mean).all()
        assert (fit.mean <= high + reach).all()


@every
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_spreads_beyond_a_double_are_refused_in_one_line(method, size):
    rows, _ = planted(tasks=6)
    with pytest.raises(ValueError, match="rescale them") as error:
        method(rows.with_value(size * rows.value))
    assert "\n" not in str(error.value)


def test_one_wild_answer_moves_nobody_else():
    rows, _ = planted(5, tasks=40)
    wild = rows.value.copy()
    wild[0] = 1e6
    one, other = numbers.combined(rows), numbers.combined(rows.with_value(wild))
    assert np.abs(one.mean - other.mean)[1:].max() < 0.35 * one.mean.std()


def test_median_and_trimmed_mean_by_hand():
    value = np.array([1.0, 2.0, 3.0, 4.0, 100.0])
    rows = NumberRows(np.zeros(5, np.int32), np.arange(5, dtype=np.int32), value, None, 1, 5)
    assert numbers.median(rows).mean[0] == pytest.approx(3.0)
    assert numbers.trimmed_mean(rows).mean[0] == pytest.approx(3.0)
    assert numbers.trimmed_mean(rows, share=0.0).mean[0] == pytest.approx(22.0)
    assert numbers.median(rows.take(np.arange(4))).mean[0] == pytest.approx(2.5)


def test_biased_mean_is_least_squares():
    rows, _ = planted(6, tasks=12, workers=5)
    design = np.zeros((len(rows) + 1, 17))
    design[np.arange(len(rows)), rows.task] = 1
    design[np.arange(len(rows)), 12 + rows.worker] = 1
    design[-1, 12:] = rows.per_worker
    exact = np.linalg.lstsq(design, np.append(rows.value, 0.0), rcond=None)[0]
    np.testing.assert_allclose(numbers.biased_mean(rows).mean, exact[:12], atol=1e-8)


TINY = {
    "two workers": NumberRows(
        np.repeat(np.arange(3, dtype=np.int32), 2),
        np.tile(np.arange(2, dtype=np.int32), 3),
        np.array([1.0, 2, 3, 4, 5, 6.5]),
        None,
        3,
        2,
    ),
    "one worker": NumberRows(
        np.arange(3, dtype=np.int32), np.zeros(3, dtype=np.int32), np.array([1.0, 2, 5]), None, 3, 1
    ),
    "all agree": NumberRows(
        np.repeat(np.arange(3, dtype=np.int32), 2),
        np.tile(np.arange(2, dtype=np.int32), 3),
        np.array([1.0, 1, 3, 3, 5, 5]),
        None,
        3,
        2,
    ),
    "few answers": planted(1, tasks=6, workers=3, per_task=2)[0],
    "alike": planted(2, tasks=20, workers=4, per_task=3, noise=(0.5, 0.5))[0],
    "constants": planted(2, tasks=400, workers=40, per_task=5, constant=0.2)[0],
}


@pytest.mark.slow
@pytest.mark.parametrize("rows", TINY.values(), ids=TINY)
@pytest.mark.parametrize("name", ["gaussian", "gaussian_slope", "bayesian_iterative", "combined"])
def test_hierarchies_settle_where_workers_are_alike_or_few(name, rows):
    """Variances on their way to nothing, a prior worth more and more answers, a scale that nothing fixes."""
    fit = METHODS[name](rows)
    assert fit.converged
    assert fit.n_iter < 200
    steps = np.diff(fit.trace)[np.diff(fit.extra["stage"]) == 0] if "stage" in fit.extra else np.diff(fit.trace)
    assert steps.min(initial=0.0) >= -1e-7 * np.abs(fit.trace).max(initial=0.0)


@pytest.mark.parametrize("slope", [False, True])
def test_where_they_settle_nothing_more_is_to_be_had(slope):
    """A hundred times the tolerance finer, the estimates stay."""
    rows, _ = planted(5, tasks=60, workers=8, per_task=4)
    usual, fine = (numbers.gaussian(rows, slope=slope, tol=tol, max_iter=5000) for tol in (1e-7, 1e-11))
    assert fine.converged
    np.testing.assert_allclose(usual.mean, fine.mean, atol=2e-3 * np.std(fine.mean))


def test_a_prior_and_its_posteriors_are_found_together():
    """No nearby prior has a higher bound, each worker's posterior at its best under it; capped ones too."""
    rng = np.random.default_rng(0)
    n, heard = rng.integers(1, 40, 30).astype(float), np.ones(30, dtype=bool)
    square = n * rng.gamma(3.0, 1 / 3, 30)
    for cap in (1e12, 1.2):
        a, variance = best_prior(n, square, cap, 0.5)
        start = Precision(n, n, 1.0, 1.0, cap, square)

        def height(a, variance, start=start):
            own = start.with_prior(a, variance, n)
            return own.bound(n, heard) - 0.5 * float(own.mean @ square)

        top = height(a, variance)
        assert 0.5 < a < 1e4
        for da, dv in ((1.01, 1), (0.99, 1), (1, 1.01), (1, 0.99)):
            assert height(a * da, variance * dv) < top
