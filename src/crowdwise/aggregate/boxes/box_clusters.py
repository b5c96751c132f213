"""Average-linkage clusters of the boxes; what most of the lookers drew is kept, with the median of its sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...maths.boxes.clusters import average_linkage
from ...maths.boxes.drawn import Drawn
from ...maths.boxes.objects import Objects, objects
from .base import BoxAggregator


@dataclass(frozen=True, kw_only=True)
class BoxClusters(BoxAggregator):
    """Boxes of a picture are clustered by average linkage over 1 - IoU, one class at a time, never two of one worker.

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
