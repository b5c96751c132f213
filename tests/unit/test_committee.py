"""The committee: who sits, what it returns."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.aggregate.committee import MEMBERS, variant
from crowdwise.engine.selection import held_out

from ..conftest import planted


def test_it_is_the_average_of_its_members_and_a_little_doubt():
    votes = planted(n=120, m=10, k=3)[0]
    together = cw.Committee(members=("dawid_skene", "majority_vote"), evidence=0, doubt=0.1).fit(votes)
    mean = (cw.DawidSkene().fit(votes).posterior + cw.MajorityVote().fit(votes).posterior) / 2
    np.testing.assert_allclose(together.posterior, 0.9 * mean + 0.1 / 3)
    assert set(together.extra["agreement"]) == {"dawid_skene", "majority_vote"}


def test_every_default_member_sits_and_the_workers_are_described():
    votes, truth, skill = planted(n=800, m=12, k=3, labels=6)
    result = cw.Committee().fit(votes)
    assert tuple(result.extra["agreement"]) == MEMBERS
    assert (result.labels == truth).mean() > 0.9
    np.testing.assert_allclose(np.einsum("wkk->w", result.confusion) / 3, skill, atol=0.1)
    np.testing.assert_allclose(result.skill, skill, atol=0.1)
    assert result.extra["speaker"] in MEMBERS


def test_with_one_label_per_task_only_those_sit_who_keep_it():
    votes = cw.Annotations.from_arrays(range(30), [0, 1, 2] * 10, [0, 1, 1, 0, 2] * 6)
    seated = cw.Committee().fit(votes).extra["agreement"]
    assert "dawid_skene" not in seated
    assert "hierarchical" in seated


@pytest.mark.parametrize("members", [(), ("committee",), ("gold_majority_vote",), ("nobody",)])
def test_members_are_checked(members):
    with pytest.raises(cw.ParameterError):
        cw.Committee(members=members)


def test_weights_follow_what_the_members_foretell():
    votes = planted(n=400, m=12, k=3, labels=5, seed=3)[0]
    members = ("majority_vote", "dawid_skene", "one_coin_even")
    score = np.array(
        [held_out(variant(m, seed=0).fit, votes, enough=1).score for m in members]  # one fold, as the committee does
    )
    expected = np.exp(10 * (score - score.max()))
    weight = cw.Committee(members=members).fit(votes).extra["weight"]
    np.testing.assert_allclose([weight[m] for m in members], expected / expected.sum())
    assert set(cw.Committee(members=members, evidence=0).fit(votes).extra["weight"].values()) == {1 / 3}


def test_few_held_out_labels_hardly_move_the_weights():
    votes = cw.Annotations.from_arrays([0, 0, 0, 1, 1], list("abcab"), [0, 0, 1, 1, 1])
    weight = np.array(list(cw.Committee().fit(votes).extra["weight"].values()))
    np.testing.assert_allclose(weight, 1 / len(weight), atol=0.05)


def test_a_prior_is_for_those_who_can_use_it():
    votes = planted(n=40, m=6, k=3, labels=3)[0]
    history = cw.DawidSkene().fit(planted(n=60, m=6, k=3, seed=3)[0])
    seated = cw.Committee().fit(votes, prior=history).extra["weight"]
    assert set(seated) == {"dawid_skene", "hierarchical", "hierarchical_even"}
