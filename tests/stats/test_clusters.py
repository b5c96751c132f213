"""Variances of clustered tasks, against other ways to compute them."""

from __future__ import annotations

import numpy as np
import pytest

from crowdwise.stats.clusters import clustered_variance, clusters_expected, design_effect, intraclass


def made(sizes, correlation, seed=0):
    """(y, cluster) with a normal effect of each cluster."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    effect = rng.normal(size=len(sizes))[cluster] * np.sqrt(correlation)
    return effect + rng.normal(size=len(cluster)) * np.sqrt(1 - correlation), cluster


def variance_of_mean(y, cluster):
    n = len(y)
    return clustered_variance((y - y.mean()) / n, cluster, y, np.arange(n))


def test_clusters_of_one_task_are_the_usual_variance():
    y, cluster = made([1] * 30, 0.0)
    variance = variance_of_mean(y, cluster)
    assert variance.variance == pytest.approx(y.var(ddof=1) / 30)
    assert variance.freedom == pytest.approx(29)
    assert design_effect((y - y.mean()) / 30, cluster, y, np.arange(30), 0.95) == pytest.approx(1.0, rel=0.15)


def test_equal_clusters_are_the_variance_of_their_means():
    y, cluster = made([7] * 12, 0.3, seed=1)
    means = y.reshape(12, 7).mean(axis=1)
    variance = variance_of_mean(y, cluster)
    assert variance.variance == pytest.approx(means.var(ddof=1) / 12)
    assert variance.freedom == pytest.approx(11)


@pytest.mark.slow
def test_statsmodels_agrees_up_to_the_correction():
    sm = pytest.importorskip("statsmodels.api")
    y, cluster = made([1, 2, 5, 9, 14, 3, 3, 8, 1, 20], 0.4, seed=2)
    fit = sm.OLS(y, np.ones(len(y))).fit(cov_type="cluster", cov_kwds={"groups": cluster, "use_correction": False})
    residual = (y - y.mean()) / len(y)
    totals = np.bincount(cluster, weights=residual)
    assert totals @ totals == pytest.approx(fit.cov_params()[0, 0])
    assert variance_of_mean(y, cluster).variance > fit.cov_params()[0, 0]


def test_degrees_of_freedom_equal_those_of_the_whole_matrix():
    sizes = np.array([1, 2, 30, 4, 12, 5])
    y, cluster = made(sizes, 0.5, seed=3)
    rho = intraclass(y, cluster)
    spread = np.diag(sizes * (1 - rho) + sizes**2 * rho)
    centre = np.eye(6) - np.outer(sizes / sizes.sum(), np.ones(6))
    matrix = centre @ spread @ centre.T
    expected = np.trace(matrix) ** 2 / np.trace(matrix @ matrix)
    assert variance_of_mean(y, cluster).freedom == pytest.approx(min(expected, 5))


def test_the_variance_is_unbiased_for_uneven_clusters():
    rng, sizes = np.random.default_rng(4), np.array([1, 1, 2, 3, 5, 8, 13, 21, 34, 2, 4, 6])
    means, variances = [], []
    for _ in range(600):
        y, cluster = made(sizes, 0.3, seed=int(rng.integers(2**31)))
        means.append(y.mean())
        variances.append(variance_of_mean(y, cluster).variance)
    assert np.mean(variances) == pytest.approx(np.var(means), rel=0.12)


def test_intraclass_correlation_of_a_one_way_layout():
    y, cluster = made([10] * 400, 0.35, seed=5)
    assert intraclass(y, cluster) == pytest.approx(0.35, abs=0.05)
    assert intraclass(y, np.arange(len(y))) == 0.0


def test_without_any_difference_a_cluster_counts_as_one_value():
    cluster = np.repeat(np.arange(20), 5)
    y = np.ones(100)
    assert design_effect(np.zeros(100), cluster, y, np.arange(100), 0.95) == pytest.approx(5, rel=0.2)


def test_clusters_that_random_tasks_belong_to():
    cluster = np.repeat(np.arange(40), np.arange(1, 41))
    rng = np.random.default_rng(6)
    counts = [len(np.unique(cluster[rng.permutation(len(cluster))[:60]])) for _ in range(400)]
    assert clusters_expected(cluster, 60) == pytest.approx(np.mean(counts), abs=0.4)
