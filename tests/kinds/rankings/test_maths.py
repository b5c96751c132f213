"""Kemeny against brute force, Plackett-Luce against an independent optimiser, Mallows' normaliser, distances."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

import crowdwise as cw
from crowdwise.kinds.rankings.answers import distance, rows_of
from crowdwise.kinds.rankings.maths import PlackettLuceObjective, cost, kemeny_places, log_norm


def brute(table):
    """Mean places over all best orders, and their cost."""
    orders = list(permutations(range(len(table))))
    costs = np.array([cost(table, np.array(order)) for order in orders])
    best = [order for order, c in zip(orders, costs, strict=True) if c <= costs.min() + 1e-9]
    return np.mean([np.argsort(order) for order in best], axis=0), costs.min()


@pytest.mark.parametrize("k", range(2, 8))
@pytest.mark.parametrize("whole", [True, False], ids=["whole numbers, so ties", "any numbers"])
def test_kemeny_is_brute_force_up_to_seven_items(k, whole):
    rng = np.random.default_rng(k)
    for _ in range(3 if k == 7 else 10):
        table = rng.integers(0, 4, (k, k)).astype(float) if whole else rng.normal(size=(k, k))
        np.fill_diagonal(table, 0)
        places, least = kemeny_places(table, rng)
        expected, total = brute(table)
        assert least == pytest.approx(total)
        np.testing.assert_allclose(places, expected, atol=1e-9)


def test_local_search_finds_the_exact_cost():
    rng = np.random.default_rng(0)
    for _ in range(5):
        votes = np.array([np.argsort(np.argsort(-(np.arange(9) + 2 * rng.normal(size=9)))) for _ in range(15)])
        table = (votes[:, :, None] < votes[:, None, :]).sum(axis=0).astype(float)
        exact = kemeny_places(table, rng)[1]
        assert kemeny_places(table, rng, exact=0)[1] == pytest.approx(exact)


def rows(kind="plain", seed=0, **size):
    crowd = cw.simulate.scenario(f"rankings_{kind}", **{"tasks": 3, "workers": 6, "labels": 5, **size}, seed=seed)
    return rows_of(crowd.votes)[0]


def by_hand(data, score, b):
    """The log-likelihood choice by choice."""
    total = 0.0
    for r in range(len(data)):
        entries, levels = data.entry[r, : data.size[r]], data.level[r, : data.size[r]]
        u = b[data.worker[r]] * score[entries]
        if levels.max() == 0:
            continue
        for p in range(len(u)):
            last = levels[p] == levels[-1]
            if last and (data.rest[r] or (levels == levels[-1]).sum() == 1):
                continue
            left = levels >= levels[p]
            total += data.weights[r] * (u[p] - np.log(np.exp(u[left]).sum()))
    return total


TIED = ["a>b>c>d", "b=c>a>d", "a>d=c", "d>...", "c>a=b=d", "a=b=c=d", "b>a>...", "c>d"]


def tied():
    return rows_of(cw.rankings.ranking_votes([1] * 8, [*"uvwxyzst"], TIED))[0]


@pytest.mark.parametrize("make", [rows, lambda: rows("top"), tied], ids=["whole", "top three", "ties and gaps"])
def test_the_likelihood_is_that_of_choices_one_by_one(make):
    data = make()
    rng = np.random.default_rng(0)
    score, b = rng.normal(size=data.n_entries), rng.normal(1, 1, data.n_workers)
    value = PlackettLuceObjective(data, 0.0, 1.0)(np.concatenate([score, b]))[0]
    assert value == pytest.approx(by_hand(data, score, b) - 0.5 * ((b - 1) ** 2).sum())


@pytest.mark.parametrize("make", [rows, lambda: rows("top"), tied], ids=["whole", "top three", "ties and gaps"])
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_gradients_are_those_of_the_objective(make, spread):
    objective = PlackettLuceObjective(make(), 0.3, spread)
    x = objective.start() + np.random.default_rng(1).normal(size=len(objective.start()))
    assert check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1], x, epsilon=1e-6) < 1e-3
    assert (objective(x)[2] > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("make", [rows, tied], ids=["whole", "ties and gaps"])
def test_plackett_luce_is_where_an_independent_optimiser_ends(make):
    data, strength = make(), 0.1
    ones = np.ones(data.n_workers)

    def loss(score):
        return -by_hand(data, score, ones) + strength / 2 * score @ score

    def slope(score, h=1e-6):
        return np.array([(loss(score + h * e) - loss(score - h * e)) / (2 * h) for e in np.eye(len(score))])

    other = minimize(loss, np.zeros(data.n_entries), jac=slope, method="BFGS", options={"gtol": 1e-8}).x
    found = cw.rankings.PlackettLuce(strength=strength, spread=0.0, tol=1e-15).solve(data, None)
    np.testing.assert_allclose(found.score, other, atol=1e-6)


@pytest.mark.parametrize("n", range(2, 6))
def test_mallows_normaliser_counts_all_orders(n):
    phi = np.array([-0.7, 1e-12, 0.4, 2.0])
    flips = [sum(a > b for i, a in enumerate(o) for b in o[i + 1 :]) for o in permutations(range(n))]
    direct = [np.log(np.exp(-p * np.array(flips)).sum()) for p in phi]
    np.testing.assert_allclose(log_norm(phi, n), direct, atol=1e-6)


def test_distances_between_rankings():
    votes = cw.rankings.ranking_votes([1] * 5, [*"abcde"], ["x>y>z", "z>y>x", "x>z>y", "x=y>z", "u>v"])
    at = {name: i for i, name in enumerate(votes.workers.to_list())}
    pairs = [("a", "a", 0.0), ("a", "b", 1.0), ("a", "c", 1 / 3), ("a", "d", 1 / 6), ("a", "e", 0.5)]
    for one, two, expected in pairs:
        found = distance(votes.answers, np.array([at[one]]), np.array([at[two]]))
        assert found[0] == pytest.approx(expected)
        assert distance(votes.answers, np.array([at[two]]), np.array([at[one]]))[0] == pytest.approx(expected)
