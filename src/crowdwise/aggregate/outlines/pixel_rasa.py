"""Pixels by a vote weighted by how far each worker's mask goes with the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Count, NonNegative
from ...maths.outlines.masks import Mask, rasa
from .base import F8, Looked, OutlineAggregator


@dataclass(frozen=True, kw_only=True)
class PixelRasa(OutlineAggregator):
    """Workers are weighted by the IoU of their mask with the vote, until the weights stay: after RASA (Li 2019), with
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
