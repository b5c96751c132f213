"""Skills and their intervals: the prior counts once, gold is certain, votes are judged by more than their shares."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.stats import beta

import crowdwise as cw
from crowdwise.kinds.classes.maths.skill import (
    COMMON_ERRORS,
    PRIOR_STRENGTH,
    share_interval,
    skill_of,
    skill_sums,
    worker_skill,
)
from crowdwise.kinds.classes.methods.partitioned import PartitionedVotes, Solution, SolutionPredictor
from crowdwise.kinds.classes.methods.skills import MEASURED, expected_wrong, skill_views
from tests.conftest import planted


def test_the_prior_counts_once():
    """Ten of ten right in a crowd of one half: the conjugate posterior, not one drawn to the crowd twice."""
    ten, none = np.array([10.0]), np.array([0.0])
    found = share_interval(ten, ten, none, np.array([0.5]))
    a, b = PRIOR_STRENGTH / 2 + 10, PRIOR_STRENGTH / 2
    np.testing.assert_allclose([found.low[0], found.high[0]], beta.ppf([0.025, 0.975], a, b))
    assert found.low[0] > 0.7


def test_the_ends_allow_for_common_errors_and_not_on_gold():
    """Unseen common errors lower the lower end, which then misses nobody: the upper end has both tails."""
    worker, right = np.zeros(50, dtype=np.int32), np.r_[np.ones(40), np.zeros(10)]
    plain = share_interval(np.array([50.0]), np.array([40.0]), np.array([0.0]), np.array([0.8]))
    unseen = worker_skill(worker, right, 1)
    told = worker_skill(worker, right, 1, is_gold=np.ones(50, dtype=bool))
    np.testing.assert_allclose([told.low, told.high], [plain.low, plain.high])
    centre = PRIOR_STRENGTH * 0.8 + 40, PRIOR_STRENGTH * 0.2 + 10
    np.testing.assert_allclose(unseen.high, beta.ppf(0.95, *centre))
    odds = [x[0] / (1 - x[0]) for x in (plain.low, unseen.low)]
    assert np.log(odds[0] / odds[1]) == pytest.approx(COMMON_ERRORS)


def test_the_lower_end_gives_way_by_no_more_than_the_expected_share_of_wrong_labels():
    sums = skill_sums(np.zeros(50, dtype=np.int32), np.r_[np.ones(40), np.zeros(10)], 1)
    plain = share_interval(np.array([50.0]), np.array([40.0]), np.array([0.0]), np.array([0.8])).low[0]
    fixed = skill_of(sums)
    for wrong in (0.0, 0.05, 0.1):
        found = skill_of(sums, wrong=wrong)
        assert found.low[0] == pytest.approx(plain - wrong)
        assert found.high[0] == fixed.high[0]
    assert skill_of(sums, wrong=0.9).low[0] == fixed.low[0]


def test_gold_narrows_the_intervals_of_a_good_crowd():
    """The share of right labels that gold measures bounds what everybody may have got wrong."""
    votes, truth, skill = planted(600, 20, 3, 7, seed=5)
    drawn = np.random.default_rng(0).choice(600, 100, replace=False)
    gold = {votes.tasks[int(i)]: votes.classes[int(truth[i])] for i in drawn}
    plain, told = cw.Adaptive().fit(votes), cw.Adaptive().fit(votes, gold=gold)
    fixed = cw.classes.Hierarchical().fit(votes)  # has no expectation that was learnt from truth
    width = {name: float((r.skill_high - r.skill_low).mean()) for name, r in
             (("fixed", fixed), ("plain", plain), ("told", told))}  # fmt: skip
    assert width["plain"] < 0.8 * width["fixed"]
    assert width["told"] < width["plain"]
    for result in (plain, told):
        assert ((result.skill_low <= skill) & (skill <= result.skill_high)).mean() >= 0.9
    wrong = MEASURED * (1 - told.extra["expected_accuracy"]["mean"])
    assert expected_wrong(told.extra) == pytest.approx(wrong)
    assert expected_wrong(fixed.extra) is None


def coverage(method: str, k: int, labels: int, seeds: int) -> float:
    inside: list[bool] = []
    for seed in range(seeds):
        votes, _, skill = planted(400, 20, k, labels, seed=seed)
        result = cw.method(method).fit(votes)
        inside += ((result.skill_low <= skill) & (skill <= result.skill_high)).tolist()
    return float(np.mean(inside))


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 4, 10, 20])
@pytest.mark.parametrize("method", ["majority_vote", "wawa", "hierarchical", "committee", "adaptive"])
def test_intervals_hold_the_truth_whatever_the_number_of_classes(method, k):
    assert coverage(method, k, 5, seeds=4) >= 0.92


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::crowdwise.core.errors.CrowdwiseWarning")
@pytest.mark.parametrize(
    ("method", "k"), [("confusion_vector", 20), ("bayes_gc", 20), ("gibbs", 20), ("sml", 2), ("cnmf", 2), ("tensor", 2)]
)
def test_a_method_that_is_out_of_its_depth_does_not_misjudge_workers(method, k):
    """Three labels a task: matrices of 20 classes hardly fill, and pairs of workers share six tasks."""
    assert coverage(method, k, 3, seeds=3) >= 0.92


def test_workers_are_judged_from_the_side_that_explains_the_labels():
    """Posteriors that know nothing give no skills; one that knows two experts among seven guessers does."""
    votes, truth, _ = planted(300, 12, 3, 6, seed=1)
    blank = np.full((300, 3), 1 / 3)
    vote, _ = skill_views(PartitionedVotes.of(votes, None), SolutionPredictor(Solution(blank, blank[0])))
    own = vote.skill[1] / vote.skill[0]  # of each worker's labels, the share that this side holds for right
    right = [(votes.label == truth[votes.task])[votes.worker == w].mean() for w in range(12)]
    np.testing.assert_allclose(own, right, atol=0.1)
    rng = np.random.default_rng(0)
    task, worker, true = np.repeat(np.arange(300), 9), np.tile(np.arange(9), 300), np.arange(300) % 2
    guessers = cw.Annotations.from_arrays(
        task, worker, np.where(worker < 2, true[task], rng.integers(2, size=len(task)))
    )
    known = np.eye(2)[true]
    found = skill_views(PartitionedVotes.of(guessers, None), SolutionPredictor(Solution(known, known[0])))[0]
    assert (found.skill[1] / found.skill[0])[:2].min() > 0.95 > 0.7 > (found.skill[1] / found.skill[0])[2:].max()


def test_very_many_classes_cost_a_vote_no_matrices():
    """900 workers with matrices of 2,000 classes would take 29 GB."""
    rng = np.random.default_rng(0)
    votes = cw.Annotations.from_arrays(
        np.repeat(np.arange(3000), 3), np.tile(np.arange(900), 10), rng.integers(2000, size=9000), classes=range(2000)
    )
    tracemalloc.start()
    cw.MajorityVote().fit(votes)
    assert tracemalloc.get_traced_memory()[1] < 1e9
    tracemalloc.stop()
