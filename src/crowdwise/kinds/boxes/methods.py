"""Methods for boxes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...core.params import Count, NonNegative
from .fitting import BoxAggregator, BoxSolution
from .maths import DrawnBoxes, Objects, assignment, average_linkage, build_objects, mean_sides, model_sides


@dataclass(frozen=True, kw_only=True)
class BoxClusters(BoxAggregator):
    """Average-linkage clusters of overlapping boxes; clusters that most workers drew become boxes.

    The boxes of an image are clustered by average linkage over 1 - IoU, one class at a time. Two boxes of one worker
    are never put into the same cluster. A cluster that contains boxes of more than `share` of the workers who annotated
    the image becomes a box with the median of its sides. Linkage: Sokal & Michener (1958).

    >>> import crowdwise as cw
    >>> boxes = [[[0, 0, 4, 4]], [[0, 0, 4, 5]], [[0, 1, 4, 4], [8, 8, 9, 9]]]
    >>> votes = cw.boxes.box_votes([1, 1, 1], ["a", "b", "c"], boxes)
    >>> cw.boxes.BoxClusters().fit(votes).to_table()["boxes"].to_list()
    ['[[0, 0, 4, 4]]']
    """

    name: ClassVar[str] = "box_clusters"
    calibrates: ClassVar[bool] = True

    def find_objects(self, drawn: DrawnBoxes) -> Objects:
        """Cluster the boxes by average linkage."""
        return build_objects(drawn, average_linkage(drawn, self.overlap))


@dataclass(frozen=True, kw_only=True)
class BoxHungarian(BoxAggregator):
    """Boxes matched one-to-one, one worker after the other; objects that most workers drew become boxes.

    Each worker's boxes are matched to the objects so far so that the total overlap is largest (Kuhn 1955,
    doi:10.1002/nav.3800020109), class by class. A box without a match starts a new object. Afterwards all boxes are
    matched again to the medians of the objects, at most `max_iter` times.

    Args:
        max_iter: Maximum number of times that all boxes are matched again to the medians of the objects.

    >>> import crowdwise as cw
    >>> votes = cw.boxes.box_votes([1, 1, 1], ["a", "b", "c"], [[[0, 0, 4, 4]], [[0, 0, 4, 5]], [[0, 1, 4, 4]]])
    >>> cw.boxes.BoxHungarian().fit(votes).to_table()["boxes"].to_list()
    ['[[0, 0, 4, 4]]']
    """

    name: ClassVar[str] = "box_hungarian"
    max_iter: Count = 10

    def find_objects(self, drawn: DrawnBoxes) -> Objects:
        """Match the boxes one-to-one."""
        return build_objects(drawn, assignment(drawn, self.overlap, self.max_iter)[0])


@dataclass(frozen=True, kw_only=True)
class BoxMean(BoxClusters):
    """The clusters of `box_clusters`, with sides corrected for the bias and the noise of each worker.

    Each side of a box is modelled as true side + worker's bias + worker's noise, in units of the width or height of the
    box, with the model of `gaussian`. With `plain=True` the sides are the plain mean of the drawn boxes.

    Args:
        plain: Whether the sides are the plain mean of the drawn boxes, without a model of the workers.
        max_iter: Maximum number of iterations of the model.
        tol: Increase of the objective per answer at which the model stops.

    >>> import crowdwise as cw
    >>> votes = cw.boxes.box_votes([1, 1], ["a", "b"], [[[0, 0, 4, 4]], [[0, 0, 4, 6]]])
    >>> cw.boxes.BoxMean(plain=True).fit(votes).to_table()["boxes"].to_list()
    ['[[0, 0, 4, 5]]']
    """

    name: ClassVar[str] = "box_mean"
    plain: bool = False
    max_iter: Count = 500
    tol: NonNegative = 1e-7

    def solve(self, drawn: DrawnBoxes, objects: Objects) -> BoxSolution:
        """Fit the sides of the accepted objects."""
        accepted = objects.accepted(self.share)
        if self.plain or not accepted.any() or not len(drawn.tag):
            return BoxSolution(replace(objects, corner=mean_sides(drawn, objects)), accepted)
        sides = model_sides(drawn, objects, accepted.astype(np.float64), self.max_iter, self.tol)
        moved = replace(objects, corner=sides.corner)
        return BoxSolution(moved, accepted, sides.bias, sides.spread, n_iter=sides.n_iter, converged=sides.converged)
