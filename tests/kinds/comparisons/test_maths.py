"""Bradley-Terry against an independent optimiser, gradients, compiled against plain, Kendall, robust losses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from scipy.stats import kendalltau

from crowdwise.kinds.comparisons.maths import models as crowd
from crowdwise.kinds.comparisons.maths import models as davidson
from crowdwise.kinds.comparisons.maths.leaderboard import concordance
from crowdwise.kinds.comparisons.maths.models import (
    CrowdObjective,
    DavidsonObjective,
    NoisyObjective,
    PairRows,
    bradley_terry,
)
from crowdwise.kinds.comparisons.simulate import comparison_crowd


def rows(seed=0, ties=0.0, tasks=80, workers=7, **more):
    own = comparison_crowd(tasks, workers, per_task=4, ties=ties, seed=seed, **more)
    weight = np.random.default_rng(seed).uniform(0.2, 2.0, len(own.task))
    return PairRows(own.left, own.right, own.outcome, own.worker, weight, len(own.score), workers)


@pytest.mark.parametrize("strength", [0.1, 1.0])
def test_bradley_terry_is_where_an_independent_optimiser_ends(strength):
    data = rows()

    def loss(s):
        d = s[data.left] - s[data.right]
        y = data.share
        return -(data.weights @ (y * -np.logaddexp(0, -d) + (1 - y) * -np.logaddexp(0, d))) + strength / 2 * s @ s

    def slope(s):
        p = 1 / (1 + np.exp(-(s[data.left] - s[data.right])))
        out = strength * s
        np.add.at(out, data.left, -data.weights * (data.share - p))
        np.add.at(out, data.right, data.weights * (data.share - p))
        return out

    other = minimize(loss, np.zeros(data.n_items), jac=slope, method="BFGS", options={"gtol": 1e-10}).x
    found = bradley_terry(data, strength, 100, 1e-12)
    assert found.converged
    np.testing.assert_allclose(found.score, other, atol=1e-6)


def test_large_and_small_systems_of_bradley_terry_agree(monkeypatch):
    data = rows()
    one = bradley_terry(data, 0.1, 100, 1e-12).score
    monkeypatch.setattr("crowdwise.kinds.comparisons.maths.models.DENSE", 0)
    np.testing.assert_allclose(bradley_terry(data, 0.1, 100, 1e-12).score, one, atol=1e-7)


@pytest.mark.parametrize(
    "make",
    [
        lambda r: CrowdObjective(r, 0.3, 2.0, 1.0),
        lambda r: CrowdObjective(r, 0.3, 2.0, 1.0, np.arange(7) == 6),
        lambda r: NoisyObjective(r, 0.3, 2.0, 1.0, 1.0),
        lambda r: DavidsonObjective(r, 0.3, 0.4, 0.3, 1.0),
        lambda r: DavidsonObjective(r, 0.3, 0.0, 0.0, 0.0),
        lambda r: DavidsonObjective(r, 0.3, 0.4, 0.0, 1.0),
    ],
    ids=["crowd_bt", "crowd_bt with gold", "noisy_bt", "davidson", "davidson without workers", "no position"],
)
@pytest.mark.parametrize("ties", [None, 0.0])
def test_gradients_are_those_of_the_objective(make, ties):
    objective = make(rows(ties=ties))
    rng = np.random.default_rng(1)
    size = len(objective(np.zeros(10_000)[: _size(objective)])[1])
    x = rng.normal(size=size) * 0.5
    gap = check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1], x, epsilon=1e-6)
    assert gap < 1e-3
    assert (objective(x)[2] > 0).all()


def _size(objective):
    k, m = objective.rows.n_items, objective.rows.n_workers
    return {"CrowdObjective": k + m, "NoisyObjective": k + 2 * m}.get(type(objective).__name__, k + 3 * m + 2)


@pytest.mark.parametrize("ties", [None, 0.0])
def test_compiled_passes_equal_the_plain_ones(ties, monkeypatch):
    data = rows(ties=ties)
    for make, module in (
        (lambda: CrowdObjective(data, 0.3, 2.0, 1.0), crowd),
        (lambda: DavidsonObjective(data, 0.3, 0.4, 0.3, 1.0), davidson),
    ):
        x = np.random.default_rng(2).normal(size=_size(make()))
        plain = make()(x)
        monkeypatch.setattr(module, "COMPILED", 0)
        for a, b in zip(make()(x), plain, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_standard_errors_are_those_of_the_draws():
    """Scores drawn again and again from one truth scatter as the fit says."""
    from crowdwise.kinds.comparisons.methods import Davidson

    gaps, told = [], []
    for seed in range(40):
        own = comparison_crowd(400, 12, items=20, per_task=5, slope=0.0, position=0.0, scale=1.0, seed=seed)
        data = PairRows(own.left, own.right, own.outcome, own.worker, None, 20, 12)
        found = Davidson(slope=0.0, position=0.0, strength=0.01).solve(data, None)
        variance = np.empty(20)
        for block in found.blocks:
            variance[block.members] = block.variance
        gaps.append((found.score - found.score.mean()) - (own.score - own.score.mean()))
        told.append(np.sqrt(variance))
    assert np.std(np.array(gaps) / np.array(told)) == pytest.approx(1.0, abs=0.08)


def test_kendall_is_scipys_and_stays_within_groups():
    rng = np.random.default_rng(0)
    score, truth = rng.normal(size=60), rng.integers(0, 6, 60).astype(float)
    one = concordance(score, truth, np.zeros(60, dtype=np.int64), resamples=200)
    assert one.kendall[0] == pytest.approx(kendalltau(score, truth).statistic)
    assert one.kendall[1] < one.kendall[0] < one.kendall[2]
    group = np.repeat([0, 1], 30)
    shifted = score + 100 * group  # levels of groups say nothing
    assert concordance(shifted, truth, group).kendall == pytest.approx(
        concordance(score, truth, group).kendall, nan_ok=True
    )


def test_a_perfect_order_has_all_pairs_right():
    truth = np.arange(9.0)
    found = concordance(truth**3, truth, np.zeros(9, dtype=np.int64))
    assert found.kendall[0] == found.pairs_right[0] == pytest.approx(1.0)
