"""Chances that workers do not look: against integrals and enumeration, and in crowds with nobody to find."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, lognorm

from crowdwise.kinds.outlines.maths import fill_even_odd, grid, overlap
from crowdwise.stats import abilities
from crowdwise.stats import abilities as population
from crowdwise.stats.abilities import GRID, BehaviourPosterior, chances


def test_a_habit_is_an_integral():
    yes = np.array([1.0, 1, 0, 1, 1, 1, 0, 1])
    found = abilities.by_habit(np.zeros(8, dtype=int), yes, 1)[0]
    any_habit = quad(lambda p: p**6 * (1 - p) ** 2, 0, 1)[0]
    assert found == pytest.approx(np.log(0.95 * 0.5**8 + 0.05 * any_habit))


def test_slopes_against_single_products():
    rng = np.random.default_rng(1)
    worker, yes = rng.integers(0, 3, 40), rng.integers(0, 2, 40).astype(float)
    odds = rng.normal(0, 2, 40)
    found = abilities.by_slopes(worker, yes, odds, 3)
    for w in range(3):
        for j in (0, 48, 60, 96):
            whole = 0.0
            for node, weight in ((-1, 1 / 6), (0, 2 / 3), (1, 1 / 6)):
                q = 1 / (1 + np.exp(-(GRID[j] * odds[worker == w] + node * np.sqrt(3) * abilities.SIDE)))
                q = abilities.SLIP / 2 + (1 - abilities.SLIP) * q
                whole += weight * np.prod(np.where(yes[worker == w] > 0, q, 1 - q))
            assert found[w, j] == pytest.approx(np.log(whole), abs=1e-9)
    turned = abilities.by_slopes(worker, 1 - yes, -odds, 3)
    assert np.allclose(found, turned), "left and right are names only"


def test_answers_against_single_products():
    rng = np.random.default_rng(0)
    worker, yes = rng.integers(0, 3, 40), rng.integers(0, 2, 40).astype(float)
    usual, habit = rng.uniform(0.1, 0.9, 40), np.full(40, 0.4)
    found = abilities.by_answers(worker, yes, usual, habit, 3, lean=0.7)
    for w in range(3):
        for j in (0, 48, 60, 96):
            p = np.clip((1 - GRID[j]) * habit + GRID[j] * usual, abilities.EDGE, 1 - abilities.EDGE)[worker == w]
            whole = 0.0
            for node, weight in ((-1, 1 / 6), (0, 2 / 3), (1, 1 / 6)):
                q = 1 / (1 + np.exp(-(np.log(p / (1 - p)) + node * np.sqrt(3) * 0.7)))
                whole += weight * np.prod(np.where(yes[worker == w] > 0, q, 1 - q))
            assert found[w, j] == pytest.approx(np.log(whole))


def test_the_posterior_is_bayes_rule(monkeypatch):
    """With one hypothesis of everything the chance is that of three known sorts."""
    known = {"MIDDLES": np.array([1.0]), "SPREADS": (0.3,), "STRAY": 0.0, "IDLE": (0.2,), "TURNED": (0.1,)}
    for name in ("SPREAD_PRIOR", "IDLE_PRIOR", "TURNED_PRIOR"):
        known[name] = (1.0,)
    for name, only in known.items():
        monkeypatch.setattr(population, name, only)
    n, right = 12, np.array([3, 6, 11])
    p = np.clip(0.5 + 0.4 * GRID, 0.01, 0.99)
    loglik = np.array([binom.logpmf(k, n, p) for k in right])
    idle = binom.logpmf(right, n, 0.5)
    found = chances(loglik, idle, np.ones(3, dtype=bool))
    density = np.where(GRID > 0, lognorm.pdf(GRID, 0.3), 0.0)
    density /= density.sum()
    for w in range(3):
        good, turned = np.exp(loglik[w]) @ density, np.exp(loglik[w]) @ density[::-1]
        whole = 0.2 * np.exp(idle[w]) + 0.1 * turned + 0.7 * good
        assert found.random[w] == pytest.approx(0.2 * np.exp(idle[w]) / whole, rel=1e-6)
        assert found.reversed[w] == pytest.approx(0.1 * turned / whole, rel=1e-6)


def test_names_go_to_the_likelier_sort():
    found = BehaviourPosterior(np.array([0.99, 0.4, 0.2, 0.5]), np.array([0.0, 0.59, 0.2, 0.4]))
    random, turned = found.sure()
    assert random.tolist() == [True, False, False, False]
    assert turned.tolist() == [False, True, False, False]


@pytest.mark.parametrize("spread", [0.1, 0.4])
def test_honest_crowds_have_nobody_and_coins_are_found(spread):
    rng = np.random.default_rng(3)
    accused = found = 0
    for _ in range(40):
        truth = np.exp(rng.normal(0, spread, 25))
        truth[:5] = 0.0
        mean = truth + rng.normal(0, 0.2, 25)
        flat = np.full(25, 0.2)
        random, turned = abilities.posterior_from_means(mean, flat, np.full(25, 40.0), np.ones(25, dtype=bool)).sure()
        accused += int((random | turned)[5:].sum())
        found += int((random | turned)[:5].sum())
        honest = abilities.posterior_from_means(
            truth[5:] + rng.normal(0, 0.2, 20), flat[5:], flat[5:] + 40, np.ones(20, dtype=bool)
        )
        accused += sum(int(each.sum()) for each in honest.sure())
    assert accused <= 3  # of 1,600
    assert found >= (110 if spread < 0.2 else 50)  # of 200


def test_too_few_to_speak_of_a_crowd():
    loglik = np.zeros((4, len(GRID)))
    found = chances(loglik, np.zeros(4), np.array([True, True, False, False]))
    assert not found.either.any()


def test_rows_are_taken_evenly():
    worker = np.repeat([0, 1, 2], [1000, 3, 0])
    some = abilities.some_rows(worker, 4, 100)
    taken = worker[some]
    assert 100 <= (taken == 0).sum() <= 101
    assert (taken == 1).sum() == 3
    assert np.diff(some[taken == 0]).max() <= 11


def test_common_pixels_are_those_of_masks():
    from crowdwise.kinds.outlines.kernels import common_pixels

    rng = np.random.default_rng(5)
    drawn = [[rng.uniform(0, 50 + 200 * (k % 3), (rng.integers(1, 9), 2)) for _ in range(rng.integers(1, 4))]
             for k in range(20)]  # fmt: skip
    size = np.array([len(each) for each in drawn])
    length = np.array([len(points) for each in drawn for points in each])
    point = np.concatenate([points for each in drawn for points in each])
    start, first = (np.concatenate([[0], np.cumsum(each)]) for each in (size, length))
    i, j = (each.ravel() for each in np.meshgrid(np.arange(20), np.arange(20)))
    both, either = np.empty(400, dtype=np.int64), np.empty(400, dtype=np.int64)
    common_pixels(start, first, point, i, j, 900, both, either)
    for p in range(400):
        x, y = grid([*drawn[i[p]], *drawn[j[p]]], 900)
        one, two = fill_even_odd(drawn[i[p]], x, y), fill_even_odd(drawn[j[p]], x, y)
        assert (both[p], either[p]) == ((one & two).sum(), (one | two).sum())
        assert overlap(one, two) == pytest.approx(both[p] / either[p] if either[p] else 1.0)
