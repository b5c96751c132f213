"""Majority vote: every vote counts the same.

    posterior[i, k] = share of the votes on task i that say k

Fails where most workers err in the same way, and cannot tell a careful worker from a careless one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..spread import Spread
from .base import Weights
from .split import SplitVote


@dataclass(frozen=True, kw_only=True)
class MajorityVote(SplitVote):
    """Vote shares; a tie is broken by `seed`, and a task without votes is a tie of all classes.

    >>> from crowdwise import Annotations

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> MajorityVote().fit(votes).posterior.round(3)
    array([[0.667, 0.333]])
    """

    name: ClassVar[str] = "majority_vote"

    def weigh(self, data: Spread) -> Weights:
        """One for everybody."""
        return Weights(np.ones(data.n_workers))
