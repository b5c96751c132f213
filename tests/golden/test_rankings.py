"""Rankings on the open sets: the bars of the kind."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from tests.open_sets.rankings import few_voters, load, truth

pytestmark = pytest.mark.data


@pytest.mark.parametrize(
    ("method", "low", "high"),
    [("podium", 0.68, 0.72), ("plackett_luce", 0.68, 0.72), ("borda", 0.630, 0.634), ("copeland", 0.660, 0.668),
     ("kemeny", 0.64, 0.67), ("mallows", 0.645, 0.655)],
)  # fmt: skip
def test_general_knowledge(method, low, high):
    assert low <= cw.evaluate(cw.method(method).fit(load("rank_facts")), truth("rank_facts")).kendall <= high


@pytest.mark.parametrize("name", ["rank_dots", "rank_puzzle"])
def test_all_voters_find_the_exact_order(name):
    for method in (cw.rankings.Podium(), cw.rankings.Kemeny(), cw.rankings.PlackettLuce(spread=0.0)):
        assert cw.evaluate(method.fit(load(name)), truth(name)).exact == 1.0


def test_few_voters_of_dots_gain_nothing_from_the_order_of_names():
    """The truth stands in the order of the names there; a Kemeny that took the first of tied orders would have .770."""
    found = np.mean([few_voters("rank_dots", 10, "kemeny", seed) for seed in range(25)])
    assert 0.58 <= found <= 0.72
