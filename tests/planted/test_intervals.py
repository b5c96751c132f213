"""The intervals of the scores hold what they promise where the truth of the scores is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw

CROWDS = 300
NAMES = ("accuracy", "macro_f1", "log_loss", "brier", "ece")


def draw(rng, n, sharper):
    """Probabilities that are right (sharper = 1) or too sure of themselves, and truths drawn from the right ones."""
    right = rng.dirichlet([1.5, 1.0, 0.5], n)
    p = right**sharper
    p /= p.sum(axis=1, keepdims=True)
    true = (rng.random(n)[:, None] > right.cumsum(axis=1)[:, :2]).sum(axis=1)
    return p, true


def score(p, true, **options):
    columns = {f"p_{k}": p[:, k] for k in range(3)}
    table = pl.DataFrame({"task": np.arange(len(p)), "label": p.argmax(axis=1).astype(str), **columns})
    return cw.evaluate(table, pl.DataFrame({"task": np.arange(len(p)), "label": true.astype(str)}), **options)


@pytest.mark.parametrize(("sharper", "least"), [(1.0, 0.95), (2.0, 0.85)])
def test_coverage(sharper, least):
    """95 % of the intervals, but for chance (3.5 standard errors); ECE's mirrored interval is a little short."""
    rng = np.random.default_rng(0)
    population = score(*draw(rng, 400_000, sharper))
    inside = dict.fromkeys(NAMES, 0)
    for seed in range(CROWDS):
        found = score(*draw(rng, 300, sharper), resamples=300, seed=seed)
        for name in NAMES:
            low, high = found.intervals[name]
            inside[name] += low - 1e-3 <= getattr(population, name) <= high
    for name in NAMES:
        assert inside[name] / CROWDS >= (least if name == "ece" else 0.905), (name, inside[name])
    assert all(inside[name] / CROWDS <= 0.99 for name in ("accuracy", "log_loss", "brier"))


def test_they_shrink_with_the_square_root_and_follow_the_seed():
    rng = np.random.default_rng(1)
    p, true = draw(rng, 4000, 1.5)
    few, many = score(p[:250], true[:250], resamples=400), score(p, true, resamples=400)
    for name in NAMES:
        ratio = np.diff(few.intervals[name]) / np.diff(many.intervals[name])
        assert 2 < ratio[0] < 8, name
    assert score(p, true, resamples=400).intervals == many.intervals
    assert score(p, true, resamples=400, seed=1).intervals != many.intervals
    assert score(p, true).intervals == {}


def test_resampled_means_have_the_standard_error_of_the_mean():
    rng = np.random.default_rng(2)
    p, true = draw(rng, 1000, 1.0)
    found = score(p, true, resamples=4000)
    error = np.sqrt(found.accuracy * (1 - found.accuracy) / 1000)
    low, high = found.intervals["accuracy"]
    assert (high - low) / (2 * 1.96) == pytest.approx(error, rel=0.05)
    with pytest.raises(cw.ParameterError, match="resamples"):
        score(p, true, resamples=-1)
