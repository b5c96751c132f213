"""Methods for triplets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ...core.params import Positive
from .fitting import TripletAggregator
from .maths import EmbeddingModel


@dataclass(frozen=True, kw_only=True)
class CrowdEmbedding(TripletAggregator):
    """Embedding of items with a Student kernel and a slope for each worker.

    t-distributed stochastic triplet embedding (van der Maaten & Weinberger 2012, doi:10.1109/MLSP.2012.6349720) whose
    log odds are multiplied by the worker's slope ~ N(1, `spread`²): 0 means random answers, a negative slope opposite
    answers.

    Args:
        spread: Prior standard deviation of the slopes.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("triplets_plain", tasks=400, workers=20, seed=1)
    >>> cw.evaluate(CrowdEmbedding().fit(crowd.votes), crowd.truth_table()).kendall > 0.8
    True
    """

    name: ClassVar[str] = "crowd_embedding"
    calibrates: ClassVar[bool] = True
    spread: Positive = 0.5

    def model(self) -> EmbeddingModel:
        """Return the model to fit."""
        return EmbeddingModel(self.dimensions or 1, "student", True, self.spread, self.ridge)


@dataclass(frozen=True, kw_only=True)
class TripletEmbedding(TripletAggregator):
    """Stochastic triplet embedding of items, without worker parameters.

    Van der Maaten & Weinberger (2012), doi:10.1109/MLSP.2012.6349720.

    Args:
        kernel: The log odds that left is closer are the difference of the squared distances ("gauss", STE), or of
            their logarithms under a Student kernel ("student", t-STE).

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("triplets_plain", tasks=400, workers=20, seed=1)
    >>> cw.evaluate(TripletEmbedding().fit(crowd.votes), crowd.truth_table()).kendall > 0.8
    True
    """

    name: ClassVar[str] = "triplet_embedding"
    kernel: Literal["gauss", "student"] = "gauss"

    def model(self) -> EmbeddingModel:
        """Return the model to fit."""
        return EmbeddingModel(self.dimensions or 1, self.kernel, False, 1.0, self.ridge)
