"""Boxes matched one-to-one, one worker after the other; what most of the lookers drew is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import Count
from ...maths.boxes.assignment import assignment
from ...maths.boxes.drawn import Drawn
from ...maths.boxes.objects import Objects, objects
from .base import BoxAggregator


@dataclass(frozen=True, kw_only=True)
class BoxHungarian(BoxAggregator):
    """Each worker's boxes are matched to the objects found so far so that the overlaps sum to the most (Kuhn 1955,
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
