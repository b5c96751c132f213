"""Bets against a mean: valid at every look, and strong enough to be of use."""

from __future__ import annotations

import numpy as np
import pytest

from crowdwise.stats.betting import BETS, capital, confidence_sequence, log_capital, losses_needed


def test_capital_is_the_mean_of_the_products():
    x, floor = np.array([1.0, 0.0, 0.5, 1.0]), 0.8
    products = [np.prod(1 + bet / (1 - floor) * (floor - x)) for bet in BETS]
    assert capital(x, floor) == pytest.approx(np.log(np.mean(products)))
    assert capital(x[::-1], floor) == pytest.approx(capital(x, floor))
    assert capital(np.empty(0), floor) == 0.0


def test_the_expected_capital_is_one_at_the_boundary():
    floor, total = 0.7, 0.0
    for code in range(2**8):
        x = np.array([(code >> i) & 1 for i in range(8)], dtype=float)
        total += np.prod(np.where(x == 1, floor, 1 - floor)) * np.exp(capital(x, floor))
    assert total == pytest.approx(1.0)


def test_false_alarms_over_all_looks():
    rng = np.random.default_rng(1)
    alarms = [(log_capital((rng.random(400) < 0.85).astype(float), 0.85) >= np.log(20)).any() for _ in range(400)]
    assert np.mean(alarms) <= 0.05


def test_a_drop_is_found():
    rng = np.random.default_rng(2)
    caught = [capital((rng.random(800) < 0.75).astype(float), 0.85) >= np.log(20) for _ in range(40)]
    assert np.mean(caught) >= 0.9


def test_the_interval_holds_at_all_looks():
    rng, misses = np.random.default_rng(3), 0
    for _ in range(40):
        x = (rng.random(300) < 0.8).astype(float)
        ends = [confidence_sequence(x[:n], 0.1) for n in (1, 10, 30, 100, 200, 300)]
        misses += not all(low <= 0.8 <= high for low, high in ends)
    assert misses <= 8
    low, high = confidence_sequence(x, 0.1)
    assert high - low < 0.25
    assert confidence_sequence(np.empty(0), 0.1) == (0.0, 1.0)


def test_losses_needed_are_the_fewest():
    n = losses_needed(0.025)
    assert capital(np.zeros(n), 0.5) >= np.log(40) > capital(np.zeros(n - 1), 0.5)
