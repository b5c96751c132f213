""""""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Count, NonNegative, Positive, Share
from ...core.votes import Votes
from .answers import Outlines
from .fitting import F8, Looked, OutlineAggregator, trust_by_overlap
from .maths import Mask, rasa, staple, vote


@dataclass(frozen=True, kw_only=True)
class PixelVote(OutlineAggregator):
    """Every pixel by majority.

    A pixel is in where more than `share` of those who looked at the picture have it in.

    >>> import crowdwise as cw
    >>> square = [[[0, 0], [4, 0], [4, 4], [0, 4]]]
    >>> votes = cw.outline_votes([1, 1, 1], ["a", "b", "c"], [square, square, []])
    >>> PixelVote().fit(votes).to_table()["outlines"].to_list()
    ['[[[0, 0], [4, 0], [4, 4], [0, 4]]]']
    """

    name: ClassVar[str] = "pixel_vote"
    share: Share = 0.5

    def combine(self, masks: Mask, weight: F8) -> Looked:
        """See the class."""
        none = np.full(len(masks), np.nan)
        return Looked(vote(masks, weight) > self.share + 1e-12, none, none)


@dataclass(frozen=True, kw_only=True)
class OutlineVote(PixelVote):
    """Pixels by a vote in which workers weigh what they are worth over all their pictures.

        IoU_w: mean over w's pictures of the IoU of w's mask with the vote of the others;   weight_w = IoU_w ^ power

    The others' vote is itself weighted, in a few rounds. A picture with nothing on it says nothing of anybody, and
    the IoU of workers who draw the same place on every picture counts for less. Fails where those who agree most are
    not those who look: many who copy each other.

    `power` is how much better workers count for more; a pixel is in with more than `share` of the weight.

    >>> import crowdwise as cw
    >>> square = [[[0, 0], [4, 0], [4, 4], [0, 4]]]
    >>> votes = cw.outline_votes([1, 1, 1], ["a", "b", "c"], [square, square, []])
    >>> OutlineVote().fit(votes).to_table()["outlines"].to_list()
    ['[[[0, 0], [4, 0], [4, 4], [0, 4]]]']
    """

    name: ClassVar[str] = "outline_vote"
    calibrates: ClassVar[bool] = True
    power: NonNegative = 3.0

    def trust(self, votes: Votes[Outlines], told: dict[int, list[F8]]) -> F8:
        """Everybody's weight."""
        return trust_by_overlap(votes, told, self.pixels, self.power)


@dataclass(frozen=True, kw_only=True)
class PixelRasa(OutlineAggregator):
    """Pixels by a vote weighted by how far each worker's mask goes with the result.

    Workers are weighted by the IoU of their mask with the vote, until the weights stay: after RASA (Li 2019), with
    IoU for the similarity.

    >>> import crowdwise as cw
    >>> square = [[[0, 0], [4, 0], [4, 4], [0, 4]]]
    >>> votes = cw.outline_votes([1, 1, 1], ["a", "b", "c"], [square, square, []])
    >>> PixelRasa().fit(votes).to_table()["outlines"].to_list()
    ['[[[0, 0], [4, 0], [4, 4], [0, 4]]]']
    """

    name: ClassVar[str] = "pixel_rasa"
    max_iter: Count = 25
    tol: NonNegative = 1e-3

    def combine(self, masks: Mask, weight: F8) -> Looked:
        """See the class."""
        none = np.full(len(masks), np.nan)
        return Looked(rasa(masks, weight, max_iter=self.max_iter, tol=self.tol)[0] > 0.5 + 1e-12, none, none)


@dataclass(frozen=True, kw_only=True)
class Staple(OutlineAggregator):
    """Pixels by EM, with a sensitivity and a specificity of each worker on each picture.

    Simultaneous truth and performance level estimation: Warfield, Zou & Wells (2004), doi:10.1109/TMI.2004.828354.

    >>> import crowdwise as cw
    >>> square = [[[0, 0], [4, 0], [4, 4], [0, 4]]]
    >>> votes = cw.outline_votes([1, 1, 1], ["a", "b", "c"], [square, square, [[[1, 1], [3, 1], [3, 3]]]])
    >>> Staple().fit(votes).to_table()["outlines"].to_list()
    ['[[[0, 0], [4, 0], [4, 4], [0, 4]]]']
    """

    name: ClassVar[str] = "staple"
    strength: Positive = 1.0
    max_iter: Count = 100
    tol: NonNegative = 1e-6

    def combine(self, masks: Mask, weight: F8) -> Looked:
        """See the class."""
        found = staple(masks, weight, max_iter=self.max_iter, tol=self.tol, strength=self.strength)
        return Looked(found.belief > 0.5, found.sensitivity, found.specificity)
