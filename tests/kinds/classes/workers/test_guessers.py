"""Who guesses on yes/no questions is found from about a hundred labels on, and honest workers are left alone."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.kinds.classes.workers.copying import _informative, _row_distance
from crowdwise.stats.dirichlet import log_rows
from tests.crowds.guessers import HONEST, crowd, flagged

# Neither the seeds of the benchmark nor those that the constants were settled on.
SEEDS = range(20_000, 20_006)


@pytest.mark.parametrize("prior", [None, (0.7, 0.3)])
def test_guessers_with_125_labels_are_found(prior):
    hits = np.array([flagged(crowd(125, prior, seed)) for seed in SEEDS])
    assert hits[:, HONEST:].mean() >= 0.8
    assert hits[:, :HONEST].sum() <= 1


@pytest.mark.slow
def test_more_labels_find_more():
    share = [np.mean([flagged(crowd(n, None, seed))[HONEST:] for seed in SEEDS]) for n in (20, 60, 250)]
    assert share[0] < 0.4
    assert share[1] < share[2]
    assert share[2] >= 0.9


def test_weak_honest_workers_are_not_accused():
    """Accuracy .65 on yes/no questions is little, and no guess; nobody of this crowd guesses."""
    for seed in SEEDS:
        votes = simulate.crowd(
            400, 2, [simulate.OneCoin(15, low=0.75, high=0.9), simulate.OneCoin(5, low=0.65, high=0.65)],
            simulate.PerTask(8), seed=seed,
        ).annotations  # fmt: skip
        assert not flagged(votes)[:15].any()
        assert flagged(votes)[15:].sum() <= 1


def test_the_distance_between_rows_is_that_of_draws():
    rng = np.random.default_rng(0)
    rows = rng.uniform(0.3, 4, (1, 3, 3))
    draws = np.stack([rng.dirichlet(rows[0, k], 200_000) for k in range(3)], axis=1)
    pairs = [(0, 1), (0, 2), (1, 2)]
    expected = sum(((draws[:, i] - draws[:, j]) ** 2).sum(axis=1).mean() for i, j in pairs)
    assert _row_distance(rows)[0] == pytest.approx(expected, rel=0.02)


def test_the_evidence_is_exact_where_the_truth_is_known():
    """Against the integral over rows: the mean likelihood of draws, each weighed by the distance of its rows."""
    rng = np.random.default_rng(1)
    truth, said = rng.integers(2, size=12), rng.integers(2, size=12)
    votes = cw.Annotations.from_arrays(range(12), ["a"] * 12, said, classes=range(2))
    prior = np.full((1, 2, 2), 0.5)
    found, _ = _informative(votes, np.eye(2)[truth], prior)
    draws = rng.beta(0.5, 0.5, (400_000, 2))  # P(says 1 | truth)
    likelihood = np.prod(np.where(said == 1, draws[:, truth], 1 - draws[:, truth]), axis=1)
    apart = (draws[:, 0] - draws[:, 1]) ** 2
    assert found[0] == pytest.approx(np.log((likelihood * apart).mean() / apart.mean()), abs=0.05)
    counts = np.array([[np.sum((truth == t) & (said == s)) for s in range(2)] for t in range(2)], dtype=float)
    plain = log_rows(counts, np.full(2, 0.5), axis=1).sum()
    assert np.log(likelihood.mean()) == pytest.approx(plain, abs=0.05)  # the draws are many enough
