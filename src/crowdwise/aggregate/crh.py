"""CRH: votes weighted by minus the logarithm of each worker's error, relative to the worst.

    weight[w] = -log(error[w] / max error),   error[w] = (wrong + smoothing · crowd's error) / (labels + smoothing)

Li, Li, Gao, Zhao, Fan & Han (2014), Resolving conflicts in heterogeneous data by truth discovery and source
reliability estimation, SIGMOD, doi:10.1145/2588555.2610509 (the rule that others call PM). Vote and weigh in turn until
the winners stay. The worst worker has no say and good ones have much, without the certainty of log-odds.
Fails with class-biased workers, and where the majority is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..annotations import Annotations
from .base import check_number, check_whole
from .gold import Gold
from .voting import VoteAggregator, Weights, refine

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class CRH(VoteAggregator):
    """`smoothing` (> 0, usually 0.5 to 5) labels with the crowd's error are added to each worker's own.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> CRH().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "crh"
    smoothing: float = 1.0
    max_iter: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("smoothing", self.smoothing, above=0)
        check_whole("max_iter", self.max_iter)

    def weights(self, annotations: Annotations, gold: Gold | None) -> Weights:
        """Weights and winners in turn; the posterior is the share of the weight."""

        def weigh(accuracy: F8, n: F8) -> F8:
            wrong = (1 - accuracy) * n
            # Half a mistake of the whole crowd keeps the logarithm finite where nobody errs.
            crowd = (wrong.sum() + 0.5) / (n.sum() + 1)
            error = (wrong + self.smoothing * crowd) / (n + self.smoothing)
            return np.asarray(-np.log(error / error.max()))

        return refine(annotations, gold, weigh, None, self.max_iter)
