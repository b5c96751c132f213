"""Majority vote: every vote counts the same.

    posterior[i, k] = share of the votes on task i that say k

Fails where most workers err in the same way, and cannot tell a careful worker from a careless one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...kinds.classes.annotations import Annotations
from ..gold import Gold
from .base import VoteAggregator, Weights


@dataclass(frozen=True, kw_only=True)
class MajorityVote(VoteAggregator):
    """Vote shares; a tie is broken by `seed`, and a task without votes is a tie of all classes.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> MajorityVote().fit(votes).posterior.round(3)
    array([[0.667, 0.333]])
    """

    name: ClassVar[str] = "majority_vote"

    def weights(self, annotations: Annotations, gold: Gold | None) -> Weights:  # noqa: ARG002
        """One for everybody."""
        return Weights(np.ones(annotations.n_workers))
