"""Weighted medoid: the answer nearest to the others, who count by how near they usually are to each other.

    error_w: mean distance of w from the others' answers to the same tasks, each by their weight
    weight_w = error_w ^ -power

In rounds. In the spirit of RASA (Li & Fukumoto 2019, A dataset of crowdsourced word sequences, AnnoNLP,
doi:10.18653/v1/D19-5904), with any distance in place of embeddings. Fails where most workers copy one machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import NonNegative
from ...core.votes import Votes
from ...kinds.texts.answers import Texts
from .base import F8, DistanceName, Said, TextAggregator
from .choosing import picked
from .work import Work


@dataclass(frozen=True, kw_only=True)
class WeightedMedoid(TextAggregator):
    """`power` says how much better workers count for more; 0 is `medoid`.

    >>> import crowdwise as cw
    >>> votes = cw.text_votes([1, 1, 1], ["a", "b", "c"], ["the cat sat", "the cat sat down", "a dog"])
    >>> WeightedMedoid().fit(votes).outputs
    ['the cat sat']
    """

    name: ClassVar[str] = "weighted_medoid"
    distance: DistanceName = "words"
    power: NonNegative = 1.0

    def distance_name(self, votes: Votes[Texts]) -> str:  # noqa: ARG002
        """As `distance` says."""
        return self.distance

    def learn(self, work: Work) -> tuple[F8, str]:
        """Everybody's weight."""
        return work.weights(self.power), ""

    def judge(self, work: Work, weight: F8) -> Said:
        """The answer in the middle."""
        return picked(work, weight)
