"""The committee: who sits, what it returns."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.aggregate.committee import MEMBERS

from ..conftest import planted


def test_it_is_the_average_of_its_members_and_a_little_doubt():
    votes = planted(n=120, m=10, k=3)[0]
    together = cw.Committee(members=("dawid_skene", "majority_vote"), doubt=0.1).fit(votes)
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
