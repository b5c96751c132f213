"""Medoid: of the answers to a task, the one that is nearest to all the others.

    argmin over answers a of  sum over answers b of  weight_b · distance(a, b)

The distance is that of words to change (`words`), of letters (`characters`), one minus GLEU (`gleu`, for translations),
or any function of two texts that `fit(votes, distance=...)` is given. It is always something that somebody wrote. Fails
where no single answer is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.votes import Votes
from ...kinds.texts.answers import Texts
from .base import F8, DistanceName, Said, TextAggregator
from .choosing import picked
from .work import Work


@dataclass(frozen=True, kw_only=True)
class Medoid(TextAggregator):
    """The answer nearest to the others.

    >>> import crowdwise as cw
    >>> votes = cw.text_votes([1, 1, 1], ["a", "b", "c"], ["the cat sat", "the cat sat down", "a dog"])
    >>> Medoid().fit(votes).outputs
    ['the cat sat']
    """

    name: ClassVar[str] = "medoid"
    distance: DistanceName = "words"

    def distance_name(self, votes: Votes[Texts]) -> str:  # noqa: ARG002
        """As `distance` says."""
        return self.distance

    def judge(self, work: Work, weight: F8) -> Said:
        """The answer in the middle."""
        return picked(work, weight)
