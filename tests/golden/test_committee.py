"""The committee over the first 18 sets with independent truth: better labels and far better probabilities."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw

pytestmark = pytest.mark.data


def means(scores, method):
    own = [scores[method, name] for name in cw.datasets.FIRST]
    return [float(np.mean([getattr(s, key) for s in own])) for key in ("expected_accuracy", "log_loss", "ece")]


def test_accuracy_and_log_loss(scores):
    accuracy, log_loss, ece = means(scores, "committee")
    assert accuracy >= 0.8425
    assert log_loss <= 0.51
    assert ece < means(scores, "hierarchical")[2]


def test_majority_vote_beats_it_by_a_point_on_one_set_at_most(scores):
    worse = [
        name
        for name in cw.datasets.FIRST
        if scores["committee", name].expected_accuracy < scores["majority_vote", name].expected_accuracy - 0.01
    ]
    assert len(worse) <= 1, worse


def test_its_gain_over_the_vote_and_over_hierarchical_survives_resampling_the_sets(scores):
    rng = np.random.default_rng(0)
    n = len(cw.datasets.FIRST)
    for other, share in (("majority_vote", 0.975), ("hierarchical", 0.85)):
        gain = np.array(
            [
                scores["committee", name].expected_accuracy - scores[other, name].expected_accuracy
                for name in cw.datasets.FIRST
            ]
        )
        means = gain[rng.integers(n, size=(4000, n))].mean(axis=1)
        assert (means > 0).mean() >= share, other
