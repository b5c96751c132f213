"""Auto on the sets with independent truth where choosing is quick: which model, and at what gain."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw

pytestmark = pytest.mark.data
# What was chosen where the scores leave no doubt: full matrices where workers are biased, coins where labels are few.
CHOSEN = {
    "labelme": "hierarchical",
    "facteval": "hierarchical",
    "cifar10n": "hierarchical",
    "restaurant": "one_coin_even",
    "wsd": "mace",
}
QUICK = ("bluebird", "dog", "temp", "wsd", "sp_amt", "labelme", "restaurant", "zencrowd_in", "facteval", "cifar10n")


@pytest.mark.parametrize("name", CHOSEN)
def test_the_choice(name):
    assert cw.classes.Auto().fit(cw.datasets.load(name).annotations).extra["chosen"] == CHOSEN[name]


def test_it_is_never_far_from_the_best_of_its_candidates_and_better_than_each_on_average(scores):
    """The mean over the first 18 sets is in docs/methods/auto.md."""
    own = np.array([scores["auto", name].expected_accuracy for name in QUICK])
    for other in ("mace", "hierarchical", "dawid_skene", "majority_vote"):
        assert own.mean() > np.mean([scores[other, name].expected_accuracy for name in QUICK]) - 0.002, other
    assert own.mean() == pytest.approx(0.8930, abs=0.005)
