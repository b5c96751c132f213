"""Planted crowds of numbers: what is found of tasks, workers and those who do not do their work."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from crowdwise.kinds.numbers import maths as numbers
from crowdwise.kinds.numbers.maths.intervals import gaussian_interval
from crowdwise.kinds.numbers.maths.rows import NumberRows
from crowdwise.kinds.numbers.maths.workers import quality
from crowdwise.kinds.numbers.simulate import number_crowd
from tests.crowds.numbers import MIXED, counts


def planted(seed, tasks=1600, workers=40, per_task=5, **options):
    crowd = number_crowd(tasks, workers, per_task=per_task, seed=seed, **options)
    return NumberRows(crowd.task, crowd.worker, crowd.value, None, tasks, workers), crowd


@pytest.fixture(scope="module")
def fits():
    """Bias, slope and noise drawn, five answers a task, 200 a worker, a fifth of the workers constant."""
    out = []
    for seed in range(4):
        rows, crowd = planted(seed, slope=0.2, constant=0.2)
        out.append((rows, crowd, numbers.combined(rows)))
    return out


def test_worker_variances_within_a_tenth(fits):
    ratios = []
    for _, crowd, fit in fits:
        honest = np.array(crowd.kind) == "honest"
        ratios.append(fit.spread[honest] ** 2 / crowd.spread[honest] ** 2)
    ratios = np.concatenate(ratios)
    assert abs(ratios.mean() - 1) < 0.1
    # The sampling error alone of a variance of 200 answers is 7 % in the median.
    assert np.median(np.abs(ratios - 1)) < 0.1


def test_intervals_cover(fits):
    inside = []
    for _, crowd, fit in fits:
        low, high = gaussian_interval(fit.mean, fit.variance, 0.9)
        inside.append(np.mean((low <= crowd.truth) & (crowd.truth <= high)))
    assert 0.87 <= np.mean(inside) <= 0.93


def test_biases_and_slopes_are_found(fits):
    for _, crowd, fit in fits:
        assert np.corrcoef(fit.slope, crowd.slope)[0, 1] > 0.97
        honest = np.array(crowd.kind) == "honest"
        assert np.corrcoef(fit.bias[honest], crowd.bias[honest])[0, 1] > 0.9


def test_the_default_is_better_than_the_mean(fits):
    for rows, crowd, fit in fits:
        ours, mean = (np.sqrt(np.mean((m - crowd.truth) ** 2)) for m in (fit.mean, numbers.mean(rows).mean))
        assert ours < 0.85 * mean


def test_student_noise_is_for_heavy_tails():
    rows, crowd = planted(0, tasks=600, workers=30, heavy=1.5)
    errors = [
        np.sqrt(np.mean((f(rows).mean - crowd.truth) ** 2)) for f in (numbers.student, numbers.gaussian, numbers.mean)
    ]
    assert errors[0] < 0.9 * errors[1] < errors[2]


def test_quality_intervals_cover():
    inside = Counter()
    for seed in range(5):
        rows, crowd = planted(seed, tasks=600, workers=30, slope=0.0)
        found = quality(rows, numbers.gaussian(rows, slope=True))
        bias = crowd.bias - crowd.bias.mean()
        for name, true, ends in (("bias", bias, found.bias_interval), ("spread", crowd.spread, found.spread_interval)):
            inside[name] += np.mean((ends[:, 0] <= true) & (true <= ends[:, 1])) / 5
        assert (found.correlation_interval[:, 0] < found.correlation).all()
        assert (found.distinct == 1).all()
    assert 0.85 < inside["bias"] <= 1
    assert 0.88 < inside["spread"] <= 1


@pytest.mark.parametrize(("tasks", "workers", "slope"), [(600, 30, 0.3), (200, 25, 0.15), (1500, 40, 0.15)])
@pytest.mark.parametrize("method", ["combined", "gaussian"])
def test_intervals_of_slopes_cover(tasks, workers, slope, method):
    """Slopes are told apart only up to a common factor; at 200 tasks the crowd often looks as if all were alike."""
    how = {"slope": True} if method == "gaussian" else {}
    inside = []
    for seed in range(4):
        rows, crowd = planted(seed, tasks=tasks, workers=workers, per_task=4, slope=slope)
        fit = getattr(numbers, method)(rows, **how)
        found = quality(rows, fit)
        true = crowd.slope * np.median(found.slope / crowd.slope)
        low, high = found.slope_interval.T
        assert (low < found.slope).all()
        inside.append(((low <= true) & (true <= high)).mean())
    assert 0.87 < np.mean(inside) <= 1
    assert np.isnan(quality(rows, numbers.mean(rows)).slope_interval).all()  # nobody's slope was looked for


@pytest.mark.parametrize("steps", [(), (1.0,), (5.0, 10.0)], ids=["free", "ones", "fives and tens"])
def test_bad_workers_are_flagged(steps):
    total: Counter = Counter()
    for seed in range(8):
        total.update(counts(steps, seed, **MIXED))
    for flag in ("constant", "random", "reversed"):
        assert total[flag, "hits"] >= 0.8 * total[flag, "due"], flag
    assert total["copying", "hits"] >= 0.8 * total["copying", "due"]
    for flag in ("constant", "random", "reversed", "copying"):
        assert total[flag, "false"] <= 0.01 * total[flag, "free"], flag


@pytest.mark.parametrize("steps", [(5.0,), (5.0, 10.0), (10.0, 25.0)], ids=["fives", "fives and tens", "coarse"])
def test_honest_workers_are_left_alone(steps):
    accused, workers = 0, 0
    for seed in range(100, 106):
        found = counts(steps, seed)
        accused += sum(found[flag, "false"] for flag in ("constant", "random", "reversed", "copying"))
        workers += 30
    assert accused <= 0.002 * workers


def test_a_simulated_crowd_is_what_it_says():
    shares = {"constant": 0.1, "random": 0.1, "reversed": 0.1, "copier": 0.1}
    crowd = number_crowd(300, 20, per_task=6, steps=(5.0,), centre=50, scale=20, limits=(0, 100), seed=3, **shares)
    kind = np.array(crowd.kind)
    assert Counter(crowd.kind) == {"honest": 12, "constant": 2, "random": 2, "reversed": 2, "copier": 2}
    assert (np.bincount(crowd.task) == 6).all()
    assert (crowd.value % 5 == 0).all()
    assert crowd.value.min() >= 0
    assert crowd.value.max() <= 100
    assert (crowd.slope[kind == "reversed"] < 0).all()
    copier = int(np.flatnonzero(kind == "copier")[0])
    mine = dict(zip(crowd.task[crowd.worker == copier], crowd.value[crowd.worker == copier], strict=True))
    source = crowd.copies[copier]
    theirs = dict(zip(crowd.task[crowd.worker == source], crowd.value[crowd.worker == source], strict=True))
    both = mine.keys() & theirs.keys()
    assert len(both) > 5
    assert all(mine[t] == theirs[t] for t in both)
