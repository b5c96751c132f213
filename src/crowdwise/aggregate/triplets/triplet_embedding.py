"""Places of items by stochastic triplet embedding; workers are all alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ...maths.triplets.embedding import Model
from .base import TripletAggregator


@dataclass(frozen=True, kw_only=True)
class TripletEmbedding(TripletAggregator):
    """Log-odds that left is closer: the difference of the squared distances (`kernel="gauss"`, STE), or of their
    logarithms under a Student kernel (`"student"`, t-STE). Van der Maaten & Weinberger (2012),
    doi:10.1109/MLSP.2012.6349720.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("triplets_plain", tasks=400, workers=20, seed=1)
    >>> cw.evaluate(TripletEmbedding().fit(crowd.votes), crowd.truth_table()).kendall > 0.8
    True
    """

    name: ClassVar[str] = "triplet_embedding"
    kernel: Literal["gauss", "student"] = "gauss"

    def model(self) -> Model:
        """See the class."""
        return Model(self.dimensions or 1, self.kernel, False, 1.0, self.ridge)
