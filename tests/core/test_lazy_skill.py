"""Skills are computed when they are first asked for, once, with the same numbers, and release what they rest on."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.kinds.classes.estimate import LazySkill
from crowdwise.kinds.classes.maths.skill import Skill
from crowdwise.kinds.classes.methods.gold import as_gold
from crowdwise.kinds.classes.methods.partitioned import PartitionedVotes, Solution, SolutionPredictor
from crowdwise.kinds.classes.methods.skills import skills

NAMES = ("skill", "skill_low", "skill_high")


@pytest.fixture(scope="module")
def crowd():
    return simulate.scenario("adversaries", seed=3)


def values(result):
    return [getattr(result, name) for name in NAMES]


@pytest.mark.parametrize("name", ["dawid_skene", "majority_vote", "mace", "adaptive"])
def test_a_fit_does_not_compute_skills(crowd, name, monkeypatch):
    calls = []
    monkeypatch.setattr("crowdwise.kinds.classes.methods.skills.skill_of", lambda *args: calls.append(args))
    result = cw.method(name).fit(crowd.annotations)
    assert not result.worker_summary._skill.computed
    assert not calls
    repr(result)
    result.to_table()
    assert not calls


@pytest.mark.parametrize("gold", [False, True])
def test_the_numbers_are_those_of_the_posterior(crowd, gold):
    votes = crowd.annotations
    given = dict(zip(votes.tasks.to_list()[:20], votes.classes.gather(crowd.truth[:20]).to_list(), strict=True))
    result = cw.DawidSkene().fit(votes, gold=given if gold else None)
    known = as_gold(given, votes) if gold else None
    judge = SolutionPredictor(Solution(result.posterior, result.class_prior))
    expected = skills(PartitionedVotes.of(votes, known), judge)
    for ours, theirs in zip(values(result), (expected.mean, expected.low, expected.high), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert result.skill is result.skill  # once
    assert not result.skill.flags.writeable


def test_stored_copied_and_inferred_results_have_the_same_skills(crowd, tmp_path):
    votes = crowd.annotations

    def fresh():
        return cw.DawidSkene().fit(votes)

    expected = values(fresh())
    fresh().save(tmp_path / "run")
    others = [pickle.loads(pickle.dumps(fresh())), copy.deepcopy(fresh()), cw.Result.load(tmp_path / "run")]
    for other in [*others, fresh().infer(votes)]:
        for ours, theirs in zip(values(other), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    table = fresh().worker_table()
    np.testing.assert_array_equal(table["skill_low"].to_numpy(), expected[1])


@pytest.mark.slow
def test_what_skills_rest_on_is_released():
    votes = simulate.scenario("one_coin", seed=1).annotations
    result, kept = cw.DawidSkene().fit(votes), weakref.ref(votes)
    del votes
    gc.collect()
    assert kept() is not None  # nobody has asked yet
    assert len(result.skill)
    gc.collect()
    assert kept() is None


@pytest.mark.slow
def test_an_ensemble_keeps_sums_and_no_votes():
    votes = simulate.scenario("one_coin", seed=1).annotations
    result, kept = cw.Adaptive().fit(votes), weakref.ref(votes)
    del votes
    gc.collect()
    assert kept() is None
    assert len(result.skill)


def test_many_threads_compute_once():
    started, calls = threading.Barrier(8), []

    def compute():
        calls.append(1)
        return Skill(*(np.zeros(3) for _ in NAMES))

    lazy, seen = LazySkill(compute), []

    def ask():
        started.wait()
        seen.append(lazy.value)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert all(value is seen[0] for value in seen)


def test_a_failed_computation_is_tried_again():
    outcomes = iter([ValueError("no"), Skill(*(np.zeros(1) for _ in NAMES))])

    def compute():
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    lazy = LazySkill(compute)
    with pytest.raises(ValueError, match="no"):
        _ = lazy.value
    assert lazy.value.mean.tolist() == [0.0]
