"""The default over the 58 sets with independent truth: the bars that it was chosen by."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.core.method_registry import DEFAULT

pytestmark = pytest.mark.data
SETS = cw.datasets.INDEPENDENT
FIRST = [SETS.index(name) for name in cw.datasets.FIRST]


def column(scores, method, key):
    return np.array([getattr(scores[method, name], key) for name in SETS])


def test_labels_and_probabilities(scores):
    accuracy, loss = (column(scores, DEFAULT, key) for key in ("expected_accuracy", "log_loss"))
    assert accuracy.mean() >= 0.783
    assert loss.mean() <= 0.66
    assert accuracy[FIRST].mean() >= 0.84
    assert loss[FIRST].mean() <= 0.53


def claimed_minus_true(scores):
    return column(scores, DEFAULT, "mean_confidence") - column(scores, DEFAULT, "expected_accuracy")


def test_it_claims_what_it_has_in_the_mean(scores):
    assert abs(claimed_minus_true(scores).mean()) <= 0.03


def test_it_is_seldom_far_off_in_what_it_claims(scores):
    assert (np.abs(claimed_minus_true(scores)) <= 0.12).sum() >= 43


def test_it_is_never_far_below_the_vote(scores):
    behind = column(scores, "majority_vote", "expected_accuracy") - column(scores, DEFAULT, "expected_accuracy")
    assert behind.max() <= 0.05
    assert (behind > 0.01).sum() <= 7


def test_its_gain_over_the_vote_survives_resampling_the_sets(scores):
    gain = column(scores, DEFAULT, "expected_accuracy") - column(scores, "majority_vote", "expected_accuracy")
    draws = np.random.default_rng(0).integers(len(SETS), size=(10_000, len(SETS)))
    assert (gain[draws].mean(axis=1) > 0).mean() >= 0.975


@pytest.mark.parametrize(("name", "least"), [("trec", 0.57), ("relevance4", 0.36)])
def test_a_fifth_of_the_labels_does_not_let_the_model_drift_and_take_over(name, least):
    """With about one label a task matrices take another class for the commonest than the voters do."""
    data = cw.datasets.load(name)
    kept = np.random.default_rng([200, 5]).random(len(data.annotations)) < 0.2
    result = cw.classes.Committee().fit(data.annotations.take(np.flatnonzero(kept)))
    assert result.extra["lean"] == 0
    assert cw.evaluate(result, data.truth).accuracy > least
