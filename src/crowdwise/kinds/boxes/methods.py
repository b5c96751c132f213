""""""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...core.params import Count, NonNegative
from .fitting import BoxAggregator, Found
from .maths import Drawn, Objects, assignment, average_linkage, mean_sides, modelled_sides, objects


@dataclass(frozen=True, kw_only=True)
class BoxClusters(BoxAggregator):
    """Average-linkage clusters of the boxes; what most of the lookers drew is kept, with the median of its sides.

    Boxes of a picture are clustered by average linkage over 1 - IoU, one class at a time, never two of one worker.

    A cluster that more than `share` of those who looked at the picture are in becomes a box: the median of its sides.
    Linkage: Sokal & Michener (1958).

    >>> import crowdwise as cw
    >>> votes = cw.box_votes([1, 1, 1], ["a", "b", "c"], [[[0, 0, 4, 4]], [[0, 0, 4, 5]], [[0, 1, 4, 4], [8, 8, 9, 9]]])
    >>> cw.BoxClusters().fit(votes).to_table()["boxes"].to_list()
    ['[[0, 0, 4, 4]]']
    """

    name: ClassVar[str] = "box_clusters"
    calibrates: ClassVar[bool] = True

    def objects(self, seen: Drawn) -> Objects:
        """See the class."""
        return objects(seen, average_linkage(seen, self.overlap))


@dataclass(frozen=True, kw_only=True)
class BoxHungarian(BoxAggregator):
    """Boxes matched one-to-one, one worker after the other; what most of the lookers drew is kept.

    Each worker's boxes are matched to the objects found so far so that the overlaps sum to the most (Kuhn 1955,
    doi:10.1002/nav.3800020109), class by class; what matches nothing begins an object. Then all are matched again
    against the medians, at most `max_iter` times.

    >>> import crowdwise as cw
    >>> votes = cw.box_votes([1, 1, 1], ["a", "b", "c"], [[[0, 0, 4, 4]], [[0, 0, 4, 5]], [[0, 1, 4, 4]]])
    >>> cw.BoxHungarian().fit(votes).to_table()["boxes"].to_list()
    ['[[0, 0, 4, 4]]']
    """

    name: ClassVar[str] = "box_hungarian"
    max_iter: Count = 10

    def objects(self, seen: Drawn) -> Objects:
        """See the class."""
        return objects(seen, assignment(seen, self.overlap, self.max_iter)[0])


@dataclass(frozen=True, kw_only=True)
class BoxMean(BoxClusters):
    """The clusters of `box_clusters`, with sides by a model: every worker draws with a bias and a spread of their own.

    Sides of a box are numbers: side = true side + the worker's bias + noise, in units of the box's own sides, by the
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
