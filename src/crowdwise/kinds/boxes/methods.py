"""Methods for boxes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...core.arrays import F8
from ...core.params import Count, NonNegative, Positive
from .fitting import BoxAggregator, BoxSolution
from .latent_class import fit_latent_classes, reader_estimates
from .maths import (
    DrawnBoxes,
    Objects,
    assignment,
    average_linkage,
    build_objects,
    mean_sides,
    model_sides,
    sightings,
)


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


@dataclass(frozen=True, kw_only=True)
class BoxLatentClass(BoxClusters):
    """The clusters of `box_clusters`, each of which is a true object or not; readers have sensitivities.

    A cluster c is false, a faint object or a clear one (latent class z). Reader r draws it with probability
    rate[z_c, r], independently given z, and it is seen only if some reader drew it:
    p(y_c | z) = prod_r rate^y (1 - rate)^(1 - y) / (1 - prod_r (1 - rate)). Fitted by EM (Dawid & Skene 1979,
    doi:10.2307/2346806; unseen objects as in Dempster, Laird & Rubin 1977, doi:10.1111/j.2517-6161.1977.tb01600.x,
    section 4.2). Objects that are more probably true than false become boxes with the median of their sides. The worker
    summary has each reader's sensitivity, with an interval, and false alarms per image.

    It fails with fewer than three readers per image, where misses and false alarms cannot be told apart, and where
    readers see the same mirages: boxes that several of them draw wrongly count as objects.

    Args:
        strength: Number of pseudo-objects by which the rates of each reader are shrunk to the crowd's.
        max_iter: Maximum number of iterations.
        tol: Largest change of the probability that a candidate is true at which the model stops.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("boxes_plain", tasks=60, workers=8, labels=5, seed=1)
    >>> result = cw.boxes.BoxLatentClass().fit(crowd.votes)
    >>> result.worker_table().columns[2:6]
    ['sensitivity', 'sensitivity_low', 'sensitivity_high', 'false_alarms']
    """

    name: ClassVar[str] = "box_latent_class"
    strength: Positive = 4.0
    max_iter: Count = 1_000
    tol: NonNegative = 1e-3

    def solve(self, drawn: DrawnBoxes, objects: Objects) -> BoxSolution:
        """Fit the classes of the clusters; gold decides those on its images."""
        return self.solve_known(drawn, objects, None)

    def solve_known(self, drawn: DrawnBoxes, objects: Objects, drawing: F8 | None) -> BoxSolution:
        """Fit the classes of the clusters with the readers' rates of an earlier fit, if there are any."""
        sighted = sightings(drawn, objects)
        fixed = None if drawing is None else drawing.T
        fit = fit_latent_classes(drawn, objects, sighted, self.strength, self.max_iter, self.tol, fixed)
        accepted = np.where(objects.is_gold, objects.is_true, fit.sure > 0.5)
        readers = reader_estimates(drawn, sighted, fit)
        return BoxSolution(
            objects, accepted, sure=fit.sure, readers=readers, n_iter=fit.n_iter, converged=fit.converged
        )
