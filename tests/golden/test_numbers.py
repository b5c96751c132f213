"""Numbers on the open sets: the default against the plain mean, and what constant workers do."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from crowdwise.kinds.numbers import maths as numbers
from crowdwise.kinds.numbers.maths.intervals import gold_margin, interval
from tests.open_sets.numbers import SETS, load, score

pytestmark = pytest.mark.data


@cache
def scored(method: str, name: str) -> tuple[float, float]:
    rows, truth = load(name)
    return score(getattr(numbers, method)(rows).mean, truth)


def test_the_plain_mean_is_the_published_one():
    figures = np.array([scored("mean", name) for name in SETS])
    np.testing.assert_allclose(figures.mean(axis=0), [0.780, 0.768], atol=0.0015)


def test_the_default_over_eight_sets():
    figures = np.array([scored("combined", name) for name in SETS])
    error, correlation = figures.mean(axis=0)
    assert error <= 0.74
    assert correlation >= 0.785


@pytest.mark.parametrize("name", SETS)
def test_the_default_never_falls_far_below_the_mean(name):
    assert scored("combined", name)[1] > scored("mean", name)[1] - 0.01


def test_moviereviews():
    assert scored("combined", "moviereviews")[1] >= 0.97
    assert scored("gaussian", "moviereviews")[1] >= 0.97


def test_constant_workers_do_not_rule():
    assert scored("combined", "relevance4")[1] >= 0.70
    rows, truth = load("relevance4")
    assert score(numbers.gaussian_plain(rows, max_iter=100).mean, truth)[1] < 0.3  # what the guards are for


@pytest.mark.parametrize("method", ["gaussian", "biased_mean", "student", "crh"])
def test_other_methods_over_eight_sets(method):
    low = {"gaussian": 0.785, "biased_mean": 0.755, "student": 0.775, "crh": 0.78}[method]
    assert np.mean([scored(method, name)[1] for name in SETS]) >= low


def test_twenty_gold_tasks_make_intervals_cover_experts():
    inside = []
    for name in SETS:
        rows, truth = load(name)
        for seed in range(4):
            picked = np.random.default_rng(seed).permutation(np.flatnonzero(~np.isnan(truth)))
            gold = np.full(len(truth), np.nan)
            gold[picked[:20]] = truth[picked[:20]]
            low, high = interval(numbers.gaussian(rows, gold), gold, gold_margin(numbers.gaussian, rows, gold))
            inside.append(np.mean(((low <= truth) & (truth <= high))[picked[20:]]))
    assert 0.87 <= np.mean(inside) <= 0.94
