"""The default over the first 18 sets with independent truth: the bars that it was chosen by."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.registry import DEFAULT

pytestmark = pytest.mark.data
SETS = cw.datasets.FIRST
# Others that are quick; docs/benchmarks has all of them.
FIXED = ("majority_vote", "wawa", "zero_based_skill", "bwa", "dawid_skene", "one_coin", "hierarchical", "pooled")


def column(scores, method, key):
    return np.array([getattr(scores[method, name], key) for name in SETS])


def test_labels_and_probabilities(scores):
    assert column(scores, DEFAULT, "expected_accuracy").mean() >= 0.845
    assert column(scores, DEFAULT, "log_loss").mean() <= 0.48


@pytest.mark.parametrize("other", FIXED)
def test_it_is_better_calibrated_than_any_fixed_method(scores, other):
    assert column(scores, DEFAULT, "ece").mean() < column(scores, other, "ece").mean()


def test_majority_vote_beats_it_by_a_point_on_one_set_at_most(scores):
    behind = column(scores, "majority_vote", "expected_accuracy") - column(scores, DEFAULT, "expected_accuracy")
    worse = [name for name, gap in zip(SETS, behind, strict=True) if gap > 0.01]
    assert len(worse) <= 1, worse


@pytest.mark.parametrize("other", ["majority_vote", "hierarchical"])
def test_its_gain_survives_resampling_the_sets(scores, other):
    gain = column(scores, DEFAULT, "expected_accuracy") - column(scores, other, "expected_accuracy")
    draws = np.random.default_rng(0).integers(len(SETS), size=(10_000, len(SETS)))
    assert (gain[draws].mean(axis=1) > 0).mean() >= 0.975
