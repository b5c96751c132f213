"""Wawa: worker agreement with aggregate. One majority vote, one re-vote weighted by agreement with it.

    weight[w] = share of w's labels that equal the majority label of their task

By default a tie counts for its winners by equal shares, so that neither luck nor the order of the classes enters the
weights; ties="first" gives it to the first class, as crowd-kit does.
Reference: Appen's worker agreement with aggregate; crowd-kit's Wawa.
Fails where the majority itself is wrong: it then rewards those who share its error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..spread import Spread
from .base import Weights
from .split import SplitVote, Ties, agreement


@dataclass(frozen=True, kw_only=True)
class Wawa(SplitVote):
    """Votes weighted by agreement with the majority.

    >>> from crowdwise import Annotations

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> Wawa().fit(votes).posterior
    array([[1., 0.]])
    """

    name: ClassVar[str] = "wawa"
    ties: Ties = "split"

    def weigh(self, data: Spread) -> Weights:
        """Agreement with the majority, or with gold where it is known."""
        return Weights(agreement(data, None, self.ties).share())
