"""Channel information, adjusted p-values, low-rank completion, bootstrap: against closed forms and other code."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import crowdwise as cw
from crowdwise.kinds.classes.maths.factors import complete_matrix
from crowdwise.kinds.classes.maths.skill import share_interval, worker_skill
from crowdwise.kinds.classes.methods.dependence import Overlap, flagged
from crowdwise.kinds.classes.workers import outliers
from crowdwise.kinds.classes.workers.dependence import excess_confirmation
from crowdwise.stats import agreement as chance
from crowdwise.stats import information as channel
from crowdwise.stats.bootstrap import bootstrap_interval, random_blocks
from crowdwise.stats.discovery import adjusted


def test_capacity_of_textbook_channels():
    bsc = np.array([[0.9, 0.1], [0.1, 0.9]])
    z = np.array([[1.0, 0.0], [0.5, 0.5]])
    spammer = np.array([[0.3, 0.7], [0.3, 0.7]])
    found, prior = channel.capacity(np.stack([bsc, z, spammer, np.eye(2)]))
    assert found == pytest.approx([0.368064, 0.223144, 0.0, np.log(2)], abs=1e-6)
    assert prior[1] == pytest.approx([0.6, 0.4], abs=1e-4)


def test_capacity_is_the_most_that_any_prior_gives_and_needs_no_names():
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(4), size=(5, 4))
    best = channel.capacity(table)[0]
    for prior in rng.dirichlet(np.ones(4), size=50):
        assert (channel.mutual_information(prior, table) <= best + 1e-9).all()
    turn = rng.permutation(4)
    assert channel.capacity(table[:, turn][:, :, turn])[0] == pytest.approx(best, abs=1e-9)


def test_bias_correction_takes_away_what_estimating_adds():
    rng = np.random.default_rng(1)
    true = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    prior, n = np.full(3, 1 / 3), 60
    found = []
    for _ in range(4000):
        counts = rng.multinomial(n, (prior[:, None] * true).ravel()).reshape(3, 3)
        table = counts / counts.sum(axis=1, keepdims=True)
        found.append(channel.mutual_information(counts.sum(axis=1) / n, table[None])[0])
    plain = float(np.mean(found))
    right = float(channel.mutual_information(prior, true[None])[0])
    corrected = float(channel.unbias(np.array([plain]), np.array([float(n)]), 3)[0])
    assert abs(corrected - right) < abs(plain - right) / 3


def test_spammer_scores_of_extremes():
    k = 4
    swapped = np.roll(np.eye(k), 1, axis=1)
    same = np.tile([0.1, 0.2, 0.3, 0.4], (k, 1))
    assert channel.spammer_score(np.stack([np.eye(k), swapped, same])) == pytest.approx([1, 1, 0], abs=1e-12)
    assert channel.spammer_score(np.array([[0.7, 0.3], [0.4, 0.6]])) == pytest.approx((0.7 + 0.6 - 1) ** 2)


def test_adjusted_p_values_are_scipys():
    from scipy.stats import false_discovery_control

    p = np.random.default_rng(2).random(40) ** 3
    assert adjusted(p) == pytest.approx(false_discovery_control(p), abs=1e-12)
    assert len(adjusted(np.empty(0))) == 0


@pytest.mark.slow
@pytest.mark.parametrize("size", [40, 400])  # dense and Lanczos
def test_completion_finds_a_planted_matrix_without_its_diagonal(size):
    rng = np.random.default_rng(3)
    v = rng.normal(size=(size, 2)) + np.array([2.0, 0.0])
    row, col = np.nonzero(np.triu(rng.random((size, size)) < (0.7 if size < 100 else 0.15), 1))
    value = np.einsum("er,er->e", v[row], v[col])
    both = np.r_[row, col], np.r_[col, row], np.tile(value, 2)
    found = complete_matrix(*both, size, 2, 3000 if size < 100 else 400, 1e-9)
    error = np.abs(found @ found.T - v @ v.T).max() / np.abs(v @ v.T).max()
    assert error < 0.01


def test_bootstrap_interval_of_a_mean_is_students():
    from scipy.stats import t

    rng = np.random.default_rng(4)
    x = rng.normal(size=40)
    low, high = bootstrap_interval(np.c_[x, np.ones(40)], lambda s: s[:, 0] / s[:, 1], 0.95, rng)
    half = t.ppf(0.975, 39) * x.std(ddof=1) / np.sqrt(40)
    assert low == pytest.approx(x.mean() - half, abs=0.05)
    assert high == pytest.approx(x.mean() + half, abs=0.05)
    assert bootstrap_interval(np.ones((2, 1)), lambda s: s[:, 0], 0.95, rng) is None


def test_random_blocks_are_even():
    block = random_blocks(1003, 100, np.random.default_rng(5))
    assert set(np.bincount(block)) == {10, 11}
    assert random_blocks(7, 100, np.random.default_rng(5)).tolist() == list(range(7))


def test_a_share_with_certain_rows_has_a_beta_interval():
    from scipy.stats import beta

    worker = np.zeros(50, dtype=np.int32)
    right = np.r_[np.ones(40), np.zeros(10)]
    skill = worker_skill(worker, right, 1, is_gold=np.ones(50, dtype=bool))
    crowd = 0.8
    assert skill.low[0] == pytest.approx(beta.ppf(0.025, 2 * crowd + 40, 2 * 0.2 + 10))
    doubtful = share_interval(np.array([50.0]), np.array([40.0]), np.array([5.0]), np.array([crowd]))
    assert doubtful.low[0] < skill.low[0]
    assert doubtful.high[0] > skill.high[0]


def test_closeness_is_one_on_the_diagonal_and_zero_at_the_ends():
    for level in chance.LEVELS:
        w = chance.closeness(level, np.array([1.0, 2.0, 3.0, 5.0]))
        assert np.diag(w) == pytest.approx(np.ones(4))
        assert w.min() == pytest.approx(0.0)
        assert w == pytest.approx(w.T)


def test_tails_of_agreement_are_exact_where_common_tasks_are_few():
    """Ten common tasks, one agreement expected, five seen: the normal tail says 1e-5, the exact one 1.6e-3."""
    n, k = np.full((2, 2), 10.0), 10
    both = Overlap(n, np.full((2, 2), 5.0), [n / k] * k)
    even = np.full((2, k, k), 1 / k)
    assert not flagged(both, even, 0.001, 0.1).any()
    assert flagged(both, even, 0.002, 0.1).any()
    u = np.full((2, 1), np.sqrt(0.1))
    first, second = np.array([0]), np.array([1])
    p = outliers._excess(first, second, np.array([10.0]), np.array([0.5]), u, 0.001)
    assert p[0] == pytest.approx(binom.sf(4, 10, 0.1))


def test_nothing_is_foretold_of_who_met_too_few_of_the_core():
    p = outliers._excess(
        np.array([0, 0]), np.array([1, 2]), np.full(2, 50.0), np.full(2, 0.9), np.array([[0.7], [0.7], [np.nan]]), 0.001
    )
    assert p[0] < 0.001
    assert p[1] == 1


def test_following_has_the_moments_of_labels_dealt_out_at_random():
    rng = np.random.default_rng(0)
    n, k = 30, 3
    label, belief = rng.integers(k, size=n), rng.dirichlet(np.ones(k), size=n)
    votes = cw.Annotations.from_arrays(np.arange(n), np.zeros(n, dtype=int), label, classes=range(k))
    found = excess_confirmation(votes, belief)
    dealt = np.array([belief[np.arange(n), rng.permutation(label)].mean() for _ in range(20_000)])
    assert found.error[0] == pytest.approx(dealt.std(), rel=0.03)
    assert found.excess[0] == pytest.approx(belief[np.arange(n), label].mean() - dealt.mean(), abs=1e-3)
