"""Every pixel by majority."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Share
from ...maths.outlines.masks import Mask, vote
from .base import F8, Looked, OutlineAggregator


@dataclass(frozen=True, kw_only=True)
class PixelVote(OutlineAggregator):
    """A pixel is in where more than `share` of those who looked at the picture have it in.

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
