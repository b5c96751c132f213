"""Short forms of the benchmarks of clusters, of the gate and of variance components."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import clusters, gate, variance


def test_clusters_are_planted_with_their_correlation():
    world = clusters.planted(20, 0.5, np.random.default_rng(1))
    means = np.bincount(world.cluster, weights=world.truth) / np.bincount(world.cluster)
    assert means.var() == pytest.approx(0.24 * (0.5 + 0.5 / 20), rel=0.3)
    assert clusters.sizes_of("1 to 50", np.random.default_rng(2)).max() <= 50


@pytest.mark.parametrize("design", clusters.DESIGNS)
def test_coverage_is_counted(design, monkeypatch):
    monkeypatch.setattr(clusters, "TASKS", 1000)
    monkeypatch.setattr(clusters, "GOLD_OF_CLUSTERS", 400)
    shares = clusters.coverage(design, 10, 0.3, 4)
    assert set(shares) == {(level, given) for level in (0.9, 0.95) for given in (True, False)}
    assert all(share in (0, 0.25, 0.5, 0.75, 1) for share in shares.values())


def test_a_drop_is_found_and_no_change_is_not():
    rng = np.random.default_rng(3)
    drop = gate.alarms(*gate.world(0.0, 0.1, 1500, rng), 1500)
    assert drop["gate"] <= 400
    same = gate.alarms(*gate.world(0.0, 0.0, 1500, rng), 200)
    assert all(np.isinf(look) for look in same.values())


def test_rows_of_variance_components(monkeypatch):
    monkeypatch.setattr(variance, "SIZES", (20, 2, 3, 2))
    rows = variance.rows(3, 0.2)
    assert [row[0] for row in rows][-1] == "repeat and rest"
    assert len(rows) == len(variance.PLANTED)
