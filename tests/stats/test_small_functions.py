"""Small pure functions against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln, logsumexp
from scipy.stats import dirichlet_multinomial

from crowdwise.kinds.classes.maths.skill import worker_skill
from crowdwise.stats.dirichlet import best_strength, log_evidence, update_mean
from crowdwise.stats.logspace import normalise_rows, segment_sum, shares
from crowdwise.stats.ties import break_ties, tie_shares


def test_normalise_rows_equals_scipy():
    score = np.random.default_rng(0).normal(0, 500, (20, 4))
    p, norm = normalise_rows(score)
    np.testing.assert_allclose(norm, logsumexp(score, axis=1))
    np.testing.assert_allclose(p, np.exp(score - norm[:, None]))


def test_segments_may_be_empty():
    rows = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(segment_sum(rows, np.array([0, 0, 3, 3, 4])), [[0, 0], [6, 9], [0, 0], [6, 7]])
    np.testing.assert_array_equal(shares(np.array([[0.0, 0.0], [1.0, 3.0]])), [[0.5, 0.5], [0.25, 0.75]])


def test_evidence_equals_scipy_up_to_the_multinomial_constant():
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 6, (5, 3)).astype(float)
    mean, strength = np.array([0.5, 0.3, 0.2]), 4.0
    n = counts.sum(axis=1)
    constant = (gammaln(n + 1) - gammaln(counts + 1).sum(axis=1)).sum()
    full = sum(
        dirichlet_multinomial.logpmf(c.astype(int), strength * mean, int(t)) for c, t in zip(counts, n, strict=True)
    )
    assert log_evidence(counts, mean, strength) == pytest.approx(full - constant)


@pytest.mark.slow
@given(seed=st.integers(0, 20), strength=st.floats(0.5, 60))
def test_the_best_strength_has_the_highest_evidence(seed, strength):
    rng = np.random.default_rng(seed)
    mean = np.array([0.6, 0.3, 0.1])
    counts = np.array([rng.multinomial(rng.integers(1, 60), rng.dirichlet(strength * mean)) for _ in range(30)], float)
    found = best_strength(counts, mean, 0.1, 100.0)
    grid = np.exp(np.linspace(np.log(0.1), np.log(100), 400))
    best = max(log_evidence(counts, mean, s) for s in grid)
    assert log_evidence(counts, mean, found) >= best - 1e-3


def test_planted_strength_and_mean_are_recovered():
    rng = np.random.default_rng(0)
    mean = np.array([0.6, 0.3, 0.1])
    counts = np.array([rng.multinomial(50, rng.dirichlet(12 * mean)) for _ in range(3000)], float)
    assert best_strength(counts, mean, 0.1, 100.0) == pytest.approx(12, rel=0.1)
    np.testing.assert_allclose(update_mean(counts, np.full(3, 1 / 3), 12.0, np.zeros(3), rounds=200), mean, atol=0.02)


def test_no_counts_at_all_give_no_nan():
    empty = np.zeros((0, 3))
    assert 0.1 <= best_strength(empty, np.full(3, 1 / 3), 0.1, 100.0) <= 100
    np.testing.assert_allclose(update_mean(empty, np.full(3, 1 / 3), 5.0, np.array([2.0, 1, 1])), [0.5, 0.25, 0.25])


def test_known_truth_gives_the_beta_posterior():
    from scipy.stats import beta

    right = np.array([1.0] * 8 + [0.0] * 2 + [1.0] * 90)
    worker = np.array([0] * 10 + [1] * 90, dtype=np.int32)
    skill = worker_skill(worker, right, 2, is_gold=np.ones(100, dtype=bool))
    crowd = 0.98
    # Mean with the crowd's prior, and the interval of the Beta with all ten observations.
    mean = (8 + 2 * crowd) / 12
    assert skill.mean[0] == pytest.approx(mean)
    a, b = 2 * crowd + 8, 2 * (1 - crowd) + 2
    assert skill.low[0] == pytest.approx(beta.ppf(0.025, a, b))
    assert skill.high[0] == pytest.approx(beta.ppf(0.975, a, b))


def test_doubt_widens_the_interval():
    worker = np.zeros(40, dtype=np.int32)
    known = np.ones(40, dtype=bool)
    sure = worker_skill(worker, np.repeat([1.0, 0.0], [30, 10]), 1, is_gold=known)
    unsure = worker_skill(worker, np.full(40, 0.75), 1, is_gold=known)
    assert unsure.high[0] - unsure.low[0] > 2 * (sure.high[0] - sure.low[0])


def test_ties_within_rounding_are_ties():
    scores = np.array([[0.1 + 0.2, 0.3, 0.0], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(tie_shares(scores), [[0.5, 0.5, 0], [1, 0, 0]])
    assert {int(break_ties(scores, seed)[0]) for seed in range(30)} == {0, 1}
    assert {int(break_ties(scores, seed)[1]) for seed in range(5)} == {0}


def test_ties_do_not_know_a_truth_that_was_drawn_with_the_same_seed() -> None:
    scores = np.full((4000, 2), 0.5)
    for seed in range(3):
        truth = np.random.default_rng(seed).choice(2, size=4000, p=[0.5, 0.5])
        assert abs((break_ties(scores, seed) == truth).mean() - 0.5) < 0.04
