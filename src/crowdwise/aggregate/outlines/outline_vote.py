"""Pixels by a vote in which workers weigh what they are worth over all their pictures.

    IoU_w: mean over w's pictures of the IoU of w's mask with the vote of the others;   weight_w = IoU_w ^ power

The others' vote is itself weighted, in a few rounds. A picture with nothing on it says nothing of anybody, and the IoU
of workers who draw the same place on every picture counts for less. Fails where those who agree most are not those who
look: many who copy each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import NonNegative
from ...core.votes import Votes
from ...kinds.outlines.answers import Outlines
from .base import F8
from .pixel_vote import PixelVote
from .trust import trust_by_overlap


@dataclass(frozen=True, kw_only=True)
class OutlineVote(PixelVote):
    """`power` is how much better workers count for more; a pixel is in with more than `share` of the weight.

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
