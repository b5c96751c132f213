"""The method that we stand behind, over the first 18 sets with independent truth."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw

pytestmark = pytest.mark.data


def mean(scores, method):
    return np.mean([scores[method, name].expected_accuracy for name in cw.datasets.FIRST])


def test_it_beats_the_classics_on_average(scores):
    ours = mean(scores, "hierarchical")
    assert ours >= 0.835
    for other in ("majority_vote", "dawid_skene", "one_coin"):
        assert ours > mean(scores, other), other


def test_majority_vote_beats_it_by_a_point_on_at_most_three_sets(scores):
    worse = [
        name
        for name in cw.datasets.FIRST
        if scores["hierarchical", name].expected_accuracy < scores["majority_vote", name].expected_accuracy - 0.01
    ]
    assert len(worse) <= 3, worse


def test_it_is_better_calibrated_than_dawid_skene(scores):
    ece = {m: np.mean([scores[m, n].ece for n in cw.datasets.FIRST]) for m in ("hierarchical", "dawid_skene")}
    assert ece["hierarchical"] < ece["dawid_skene"]
