"""Estimators, walks and plans: exact values and laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from crowdwise.evaluation.guarantee import estimators, sequential
from crowdwise.evaluation.guarantee import sets as conformal
from crowdwise.evaluation.guarantee.estimators import (
    balanced_draws,
    half_width,
    informedness,
    on_simplex,
    ppi_plus_plus,
    regression,
    solve,
    weighted,
)
from crowdwise.stats import sampled

YES = np.array([0.0, 1.0])


def test_clopper_pearson():
    found = sequential.upper(np.array([0, 3, 10]), np.array([59, 200, 400]), 0.05)
    np.testing.assert_allclose(found, [0.04951, 0.03831, 0.04204], atol=5e-6)


def test_the_hypergeometric_of_the_walk():
    """500 tasks, 100 checked, 5 %: 21 + e wrong are one too many for the unchecked; 26 at e = 5."""
    table = hypergeom.cdf(range(5), 500, 26, 100)
    np.testing.assert_allclose(table, [0.00255, 0.02025, 0.07849, 0.19961, 0.37833], atol=5e-6)
    p = sequential.step_p_values(*(np.array([x]) for x in (500, 100, 5)), 0.05)
    np.testing.assert_allclose(p, hypergeom.cdf(5, 500, 26, 100))


def test_double_sampling():
    assert estimators.point(np.array([300.0, 700.0]), np.array([[17.0, 3.0], [4.0, 36.0]]), YES) == pytest.approx(0.675)


def test_a_verdict_that_is_the_truth_gives_its_own_share():
    counts = np.diag([12.0, 8.0])
    assert estimators.point(np.array([70.0, 30.0]), counts, YES) == pytest.approx(0.3)
    assert estimators.explained(np.array([70.0, 30.0]), counts, YES) == pytest.approx(1.0)


def test_a_constant_verdict_is_gold_alone():
    counts = np.array([[12.0, 8.0]])
    assert estimators.point(np.array([100.0]), counts, YES) == pytest.approx(0.4)
    assert estimators.explained(np.array([100.0]), counts, YES) == 0


def test_permuting_classes_permutes_answers():
    rng = np.random.default_rng(0)
    counts, tasks = rng.integers(0, 9, (3, 3)).astype(float), rng.integers(100, 200, 3).astype(float)
    order = np.array([2, 0, 1])
    for c in range(3):
        here = estimators.point(tasks, counts, np.eye(3)[c])
        there = estimators.point(tasks[order], counts[np.ix_(order, order)], np.eye(3)[np.argsort(order)[c]])
        assert here == pytest.approx(there)


def test_draws_lie_around_the_point_and_are_seeded():
    tasks, counts = np.array([300.0, 700.0]), np.array([[17.0, 3.0], [4.0, 36.0]])
    for new in (False, True):
        one, same = (estimators.draws(tasks, counts, YES, np.random.default_rng(3), new=new) for _ in range(2))
        np.testing.assert_array_equal(one, same)
        assert one.mean() == pytest.approx(0.675, abs=0.02)
        assert ((one >= 0) & (one <= 1)).all()
    three = estimators.draws(tasks, np.ones((2, 3)), np.array([1.0, 0.5, 0.0]), np.random.default_rng(3))
    assert three.mean() == pytest.approx(0.5, abs=0.03)
    assert (estimators.draws(tasks, np.ones((2, 2)), np.ones(2), np.random.default_rng(3)) == 1).all()


def test_all_gold_leaves_nothing_open():
    counts = np.array([[3.0, 1.0], [2.0, 4.0]])
    assert np.ptp(estimators.draws(counts.sum(axis=1), counts, YES, np.random.default_rng(0))) == 0


# n, tasks without gold, k; then value, low, high, and the lower end at lambda .5, as ppi-python 0.2.3 prints them
PPI = (
    (20, 80, 3, 5.797394097719889, 5.150135159106997, 6.444653036332781, 5.210728004955489),
    (35, 400, 5, 5.034111945642619, 4.589803218409721, 5.478420672875516, 4.5195498141595385),
    (50, 77, 2, 0.745404, 0.6446503689539562, 0.8461576310460437, 0.6410941553549271),
)


@pytest.mark.parametrize(("n", "more", "k", "value", "low", "high", "one_sided"), PPI)
def test_the_same_as_ppi_python(n, more, k, value, low, high, one_sided):
    i = np.arange(n + more)
    y = ((i * 7919) % (10 * k)) / k
    f = y + ((i * 104729) % 13) / 3 - 2
    if k == 2:
        y, f = (y > 2).astype(float), (f > 2.4).astype(float)
    found, error, _ = ppi_plus_plus(y[:n], f[:n], f[n:])
    half = half_width(error, np.inf, 0.95)
    np.testing.assert_allclose([found, found - half, found + half], [value, low, high], atol=1e-9)
    found, error, lam = ppi_plus_plus(y[:n], f[:n], f[n:], lam=0.5)
    assert lam == 0.5
    assert found - 1.6448536269514722 * error == pytest.approx(one_sided, abs=1e-9)


def test_regression_of_a_useless_prediction_is_the_gold_mean():
    y = np.arange(20.0)
    found = regression(y, np.ones(20), np.ones(200))
    assert (found.value, found.lam) == (y.mean(), 0)
    perfect = regression(y, y, np.arange(200.0))
    assert perfect.value == pytest.approx(y.mean() + perfect.lam * (np.arange(200.0).mean() - y.mean()))


def test_equal_chances_give_the_mean_of_the_gold():
    rng = np.random.default_rng(1)
    y, f = rng.normal(size=50), np.zeros(50)
    found = weighted(y, f, np.full(50, 0.1), np.zeros(500))
    assert found.value == pytest.approx(y.mean())
    assert found.error == pytest.approx(np.sqrt(0.9 * y.var(ddof=1) / 50 * 49 / 50 * 50 / 48), rel=0.05)


def test_rogan_gladen():
    assert solve(np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([0.8, 0.2]))[0] == pytest.approx(0.83333, abs=1e-5)
    rows = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.05, 0.25, 0.7]])
    shares = rows.T @ np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(shares, [0.44, 0.365, 0.195])
    np.testing.assert_allclose(solve(rows, shares), [0.5, 0.3, 0.2])
    assert informedness(np.array([[0.9, 0.1], [0.3, 0.7]])) == pytest.approx(0.6)
    np.testing.assert_allclose(on_simplex(np.array([1.2, -0.2])), [1, 0])
    theta, able = balanced_draws(np.array([[40.0, 10], [10, 40]]), np.array([50.0, 50]), np.random.default_rng(0), 500)
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    assert 0.4 < able.mean() < 0.8


def test_gold_that_is_needed():
    assert [sequential.no_error_seen(a, 0.1) for a in (0.01, 0.02, 0.05, 0.1, 0.2)] == [230, 114, 45, 22, 11]
    table = [
        [sequential.for_power(a, 0.1, share * a) for a in (0.01, 0.02, 0.05, 0.1, 0.2)] for share in (0.25, 0.5, 0.75)
    ]
    assert table == [[531, 265, 105, 52, 25], [1418, 708, 282, 128, 63], [6356, 3121, 1224, 588, 264]]
    assert [sequential.for_half_width(0.05, 0.3, r) for r in (0, 0.5, 0.75, 0.9)] == [323, 162, 81, 33]
    assert sequential.best_split(0.504, 0.5, 20) == pytest.approx(0.1569, abs=5e-5)
    assert sequential.worth_paying(0.5) == pytest.approx(0.17, abs=0.005)
    assert sequential.worth_paying(0.17) == pytest.approx(0.047, abs=0.001)


def test_conformal_ranks():
    assert conformal.rank(99, 0.1) == 90
    assert conformal.limit(np.arange(99.0), 0.1) == 89
    assert conformal.limit(np.arange(8.0), 0.1) == np.inf


def test_rungs_hold_ties_together():
    threshold, size = sequential.ladder(np.array([0.9, 0.9, 0.8, 0.7, 0.7, 0.7]), n_steps=6)
    np.testing.assert_allclose(threshold, [0.9, 0.8, 0.7])
    assert size.tolist() == [2, 3, 6]
    m, e = sequential.counts_per_step(threshold, np.array([0.9, 0.7, 0.7]), np.array([True, False, True]))
    assert (m.tolist(), e.tolist()) == ([1, 1, 3], [1, 1, 2])
    assert sequential.ladder(np.ones(5))[1].tolist() == [5]
    assert sequential.ladder(np.empty(0))[1].tolist() == []


@given(st.integers(0, 2**31), st.integers(20, 200))
def test_more_errors_never_accept_more(seed, n):
    rng = np.random.default_rng(seed)
    confidence = rng.random(600).round(2)
    threshold, size = sequential.ladder(confidence)
    gold = rng.permutation(600)[:n]
    wrong = rng.random(n) < 0.08
    worse = wrong.copy()
    worse[rng.integers(n)] = True
    ends = []
    for each in (wrong, worse):
        m, e = sequential.counts_per_step(threshold, confidence[gold], each)
        ends.append(sequential.fixed_sequence(size, m, e, 0.1, 0.1).last)
    assert ends[1] <= ends[0]


def test_everything_checked_and_few_wrong_is_accepted():
    size = np.array([50])
    assert sequential.fixed_sequence(size, np.array([50]), np.array([3]), 0.05, 0.1).last == 0


def test_walks_that_speak_of_all_tasks():
    e = np.array([0, 1, 6, 30])
    assert sequential.fixed_sequence_all(10_000, 200, e, 0.05, 0.1).last == 1
    assert sequential.risk_control(200, e, 0.05).last == 2
    assert sequential.risk_control(10, e, 0.05).last == -1


def test_samples_are_compared():
    assert sampled.shares_differ(np.array([50, 50]), np.array([500, 500])) == pytest.approx(1.0)
    assert sampled.shares_differ(np.array([80, 20]), np.array([500, 500])) < 1e-6
    assert sampled.shares_differ(np.array([10, 0, 0]), np.array([900, 0, 0])) == 1
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=100), rng.normal(size=3000)
    from scipy.stats import mannwhitneyu

    assert sampled.rank_sum(a, b) == pytest.approx(mannwhitneyu(a, b, use_continuity=False).pvalue, abs=2e-3)
    assert sampled.rank_sum(a + 1, b) < 1e-6
    assert sampled.rank_sum(np.ones(5), np.ones(50)) == 1
    edges = np.linspace(-3, 3, 50)
    bins = [np.bincount(np.searchsorted(edges, x), minlength=51) for x in (a, b)]
    assert sampled.rank_sum_of_counts(*bins) == pytest.approx(sampled.rank_sum(a, b), abs=0.05)
    assert sampled.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
