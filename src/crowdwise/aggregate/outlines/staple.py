"""Pixels by EM, with a sensitivity and a specificity of each worker on each picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import Count, NonNegative, Positive
from ...maths.outlines.masks import Mask, staple
from .base import F8, Looked, OutlineAggregator


@dataclass(frozen=True, kw_only=True)
class Staple(OutlineAggregator):
    """Simultaneous truth and performance level estimation: Warfield, Zou & Wells (2004), doi:10.1109/TMI.2004.828354.

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
