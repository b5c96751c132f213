""""""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ...core.params import Positive
from .fitting import TripletAggregator
from .maths import Model


@dataclass(frozen=True, kw_only=True)
class CrowdEmbedding(TripletAggregator):
    """Places of items with a Student kernel, seen through workers with a slope each.

    t-distributed stochastic triplet embedding (van der Maaten & Weinberger 2012, doi:10.1109/MLSP.2012.6349720)
    whose log-odds each worker multiplies by a slope ~ N(1, `spread`²): 0 is a coin, below 0 the opposite.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("triplets_plain", tasks=400, workers=20, seed=1)
    >>> cw.evaluate(CrowdEmbedding().fit(crowd.votes), crowd.truth_table()).kendall > 0.8
    True
    """

    name: ClassVar[str] = "crowd_embedding"
    calibrates: ClassVar[bool] = True
    spread: Positive = 0.5

    def model(self) -> Model:
        """See the class."""
        return Model(self.dimensions or 1, "student", True, self.spread, self.ridge)


@dataclass(frozen=True, kw_only=True)
class TripletEmbedding(TripletAggregator):
    """Places of items by stochastic triplet embedding; workers are all alike.

    Log-odds that left is closer: the difference of the squared distances (`kernel="gauss"`, STE), or of their
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
