"""Gaps, tests and programmes: exact values, laws, planted gaps."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.stats import fisher_exact

from crowdwise.evaluation.fairness import maths as gaps
from crowdwise.evaluation.fairness import maths as permutation
from crowdwise.evaluation.fairness import maths as shrink
from crowdwise.evaluation.fairness.maths import fair_assignment, fair_labels


def test_rates_of_a_table():
    table = np.array([[[30.0, 10], [5, 55]], [[20.0, 20], [20, 40]]])  # group, said, true
    rate = gaps.rates(table)
    np.testing.assert_allclose(rate[0, 1], [0.6, 0.6])  # says 1
    np.testing.assert_allclose(rate[1, 1], [55 / 65, 40 / 60])  # recall of 1
    np.testing.assert_allclose(rate[2, 1], [5 / 35, 20 / 40])  # said 1, was 0
    np.testing.assert_allclose(rate[3, 0], [0.85, 0.6])
    assert np.isnan(rate[3, 1]).all()
    np.testing.assert_allclose(gaps.points(table.sum(axis=2), table), rate)


def test_draws_lie_around_the_points():
    table = np.array([[[30.0, 10], [5, 55]], [[20.0, 20], [20, 40]]])
    drawn = gaps.draws(10 * table.sum(axis=2), table, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.mean(axis=0)[1:3], gaps.points(table.sum(axis=2), table)[1:3], atol=0.03)


def test_one_difference_gets_its_plain_interval_and_many_get_wider_ones():
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(20_000, 10))
    low, high = gaps.simultaneous(drawn[:, :1], 0.95)
    assert high[0] == pytest.approx(1.96, abs=0.05)
    low, high = gaps.simultaneous(drawn, 0.95)
    assert high.min() == pytest.approx(2.80, abs=0.07)
    np.testing.assert_allclose(low, -high, atol=0.1)


def test_the_permutation_test_of_one_class_is_fishers():
    hits, n = np.array([[[9], [2]]]), np.array([[[12], [11]]])
    p = permutation.worker_p(hits, n, np.random.default_rng(0), draws=40_000)
    assert p[0] == pytest.approx(fisher_exact([[9, 3], [2, 9]])[1], abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [2, 3])
def test_workers_without_a_gap_are_rarely_found(groups):
    rng = np.random.default_rng(1)
    n = rng.integers(5, 30, (400, groups, 3))
    p = permutation.worker_p(rng.binomial(n, 0.7), n, rng, draws=400)
    assert (p <= 0.05).mean() < 0.08
    biased = rng.binomial(n, np.where(np.arange(groups) == 0, 0.3, 0.8)[None, :, None])
    assert (permutation.worker_p(biased, n, rng, draws=400) <= 0.05).mean() > 0.9


def test_raters_are_permuted_not_rows():
    """Raters differ, groups do not: rows as the unit would find groups in most runs."""
    rng = np.random.default_rng(2)
    found = []
    for _ in range(200):
        n = np.full(24, 60.0)
        total = rng.binomial(60, rng.beta(3, 3, 24)).astype(float)
        found.append(permutation.rater_p(total, n, rng.permutation(24) % 2, rng, draws=199)[1])
    assert np.mean(np.array(found) <= 0.05) <= 0.1
    means, p = permutation.rater_p(np.append(np.full(12, 20.0), np.full(12, 40.0)), n, np.arange(24) // 12, rng)
    assert p < 0.01
    np.testing.assert_allclose(means, [1 / 3, 2 / 3])


def test_shrinking_follows_the_evidence():
    rng = np.random.default_rng(3)
    base = rng.dirichlet([8, 2], (40, 2))
    base[:, 1] = base[:, 1, ::-1]
    found = {}
    for name, spread in (("same", 0.0), ("other", 0.25)):
        shift = rng.normal(0, spread, (40, 2, 2))
        right = np.clip(np.stack([base[:, 0, 0], base[:, 1, 1]], axis=1)[:, None] + shift, 0.05, 0.95)
        n = np.full((40, 2, 2), 40)
        hits = rng.binomial(n, right)
        counts = np.zeros((40, 2, 2, 2))
        for k in range(2):
            counts[:, :, k, k], counts[:, :, k, 1 - k] = hits[:, :, k], n[:, :, k] - hits[:, :, k]
        rows, strength = shrink.by_group(counts)
        np.testing.assert_allclose(rows.sum(axis=-1), 1)
        raw = np.abs(hits / n - right).mean()
        ours = np.abs(np.diagonal(rows, axis1=2, axis2=3) - right).mean()
        assert ours < raw
        found[name] = strength
    assert found["same"] > found["other"]


def planted(cells=12, k=3, groups=3, seed=0):
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), cells)
    p = rng.dirichlet(np.full(k, 0.5), groups * cells)
    return rng.integers(20, 200, groups * cells).astype(float), p, group


@pytest.mark.parametrize("target", ["parity", "opportunity", "odds"])
def test_fair_labels_keep_the_limit_and_cost_little(target):
    size, p, group = planted()
    free = fair_labels(size, p, group, target, 1.0)
    assert free.accuracy == pytest.approx((size * p.max(axis=1)).sum() / size.sum())
    tight = fair_labels(size, p, group, target, 0.02)
    assert tight.accuracy <= free.accuracy + 1e-9
    np.testing.assert_allclose(tight.x.sum(axis=1), 1)
    weight = size[:, None] * (np.ones_like(p) if target == "parity" else p)
    rate = np.stack([(weight * tight.x)[group == z].sum(axis=0) / weight[group == z].sum(axis=0) for z in range(3)])
    assert np.ptp(rate, axis=0).max() <= 0.02 + 1e-6
    assert ((tight.x > 1e-9) & (tight.x < 1 - 1e-9)).any(axis=1).sum() <= 3 * 3 * 2 * 2


def test_the_programme_is_quick():
    size, p, group = planted(cells=60, k=10, groups=5)
    began = time.process_time()
    fair_labels(size, p, group, "odds", 0.02)
    assert time.process_time() - began < 2


def test_fair_assignment():
    accuracy = np.array([[0.95, 0.6], [0.7, 0.7], [0.6, 0.9], [0.8, 0.5]])
    tasks, load = np.array([100.0, 100.0]), np.full(4, 150.0)
    open_ = fair_assignment(accuracy, tasks, 2, load, 1.0)
    np.testing.assert_allclose(open_.labels.sum(axis=0), 200)
    assert (open_.labels.sum(axis=1) <= 150 + 1e-6).all()
    even = fair_assignment(accuracy, tasks, 2, load, 0.01)
    assert np.ptp(even.accuracy) <= max(0.01, even.smallest) + 1e-6
    assert (even.labels * accuracy).sum() <= (open_.labels * accuracy).sum() + 1e-6
    far = fair_assignment(np.array([[0.9, 0.5], [0.9, 0.5]]), tasks, 2, np.full(2, 250.0), 0.0)
    assert far.smallest == pytest.approx(0.4)
    with pytest.raises(ValueError, match="do not cover"):
        fair_assignment(accuracy, tasks, 2, np.full(4, 10.0), 0.1)
