"""Skills and their intervals: the prior counts once, gold is certain, votes are judged by more than their shares."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

import crowdwise as cw
from crowdwise.maths.skill import COMMON_ERRORS, PRIOR_STRENGTH, share_interval, worker_skill

from ..conftest import planted


def test_the_prior_counts_once():
    """Ten of ten right in a crowd of one half: the conjugate posterior, not one drawn to the crowd twice."""
    ten, none = np.array([10.0]), np.array([0.0])
    found = share_interval(ten, ten, none, np.array([0.5]))
    a, b = PRIOR_STRENGTH / 2 + 10, PRIOR_STRENGTH / 2
    np.testing.assert_allclose([found.low[0], found.high[0]], beta.ppf([0.025, 0.975], a, b))
    assert found.low[0] > 0.7


def test_only_the_lower_end_allows_for_common_errors_and_not_on_gold():
    worker, right = np.zeros(50, dtype=np.int32), np.r_[np.ones(40), np.zeros(10)]
    plain = share_interval(np.array([50.0]), np.array([40.0]), np.array([0.0]), np.array([0.8]))
    unseen = worker_skill(worker, right, 1)
    told = worker_skill(worker, right, 1, known=np.ones(50, dtype=bool))
    np.testing.assert_allclose([told.low, told.high], [plain.low, plain.high])
    np.testing.assert_allclose(unseen.high, plain.high)
    odds = [x[0] / (1 - x[0]) for x in (plain.low, unseen.low)]
    assert np.log(odds[0] / odds[1]) == pytest.approx(COMMON_ERRORS)


@pytest.mark.parametrize("k", [2, 4, 10, 20])
@pytest.mark.parametrize("method", ["majority_vote", "wawa", "hierarchical", "committee"])
def test_intervals_hold_the_truth_whatever_the_number_of_classes(method, k):
    inside = []
    for seed in range(4):
        votes, _, skill = planted(400, 20, k, 5, seed=seed)
        result = cw.method(method).fit(votes)
        inside += ((result.skill_low <= skill) & (skill <= result.skill_high)).tolist()
    assert np.mean(inside) >= 0.92
