"""Weighted ROVER: a vote word by word in which workers count by how near they usually are to the others.

Weights are those of `weighted_medoid`, the alignment and the vote those of `rover`. The default for transcripts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import NonNegative
from .base import F8, Said, TextAggregator
from .choosing import by_words
from .work import Work


@dataclass(frozen=True, kw_only=True)
class WeightedRover(TextAggregator):
    """`power` says how much better workers count for more; 0 is `rover`.

    >>> import crowdwise as cw
    >>> votes = cw.text_votes([1, 1, 1], ["a", "b", "c"], ["the cat sat", "the bat sat down", "a cat sat down"])
    >>> WeightedRover().fit(votes).outputs
    ['the cat sat down']
    """

    name: ClassVar[str] = "weighted_rover"
    power: NonNegative = 1.0

    def learn(self, work: Work) -> tuple[F8, str]:
        """Everybody's weight."""
        return work.weights(self.power), ""

    def judge(self, work: Work, weight: F8) -> Said:
        """The vote."""
        return by_words(work, weight)
