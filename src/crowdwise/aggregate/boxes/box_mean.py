"""The clusters of `box_clusters`, with sides by a model: every worker draws with a bias and a spread of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...core.params import Count, NonNegative
from ...maths.boxes.drawn import Drawn
from ...maths.boxes.objects import Objects
from ...maths.boxes.sides import mean_sides, modelled_sides
from .base import Found
from .box_clusters import BoxClusters


@dataclass(frozen=True, kw_only=True)
class BoxMean(BoxClusters):
    """Sides of a box are numbers: side = true side + the worker's bias + noise, in units of the box's own sides, by the
    model of `gaussian`. With `plain` they are the plain mean of what was drawn.

    >>> import crowdwise as cw
    >>> votes = cw.box_votes([1, 1], ["a", "b"], [[[0, 0, 4, 4]], [[0, 0, 4, 6]]])
    >>> cw.BoxMean(plain=True).fit(votes).to_table()["boxes"].to_list()
    ['[[0, 0, 4, 5]]']
    """

    name: ClassVar[str] = "box_mean"
    plain: bool = False
    max_iter: Count = 500
    tol: NonNegative = 1e-7

    def solve(self, seen: Drawn, found: Objects) -> Found:
        """Sides of the kept objects."""
        kept = found.kept(self.share)
        if self.plain or not kept.any() or not len(seen.tag):
            return Found(replace(found, corner=mean_sides(seen, found)), kept)
        sides = modelled_sides(seen, found, kept.astype(np.float64), self.max_iter, self.tol)
        moved = replace(found, corner=sides.corner)
        return Found(moved, kept, sides.bias, sides.spread, sides.n_iter, sides.converged)
