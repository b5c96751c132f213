"""Ghosh: votes weighted by the leading singular vector of the label matrix.

    O[task, worker] = ±1 or 0,   weight = leading eigenvector of O^T O

For K classes O^T O counts K/(K-1) for agreement and -1/(K-1) for every shared task, which for two classes is ±1.
Ghosh, Kale & McAfee (2011), Who moderates the moderators?, EC, doi:10.1145/1993574.1993599.
Fails when one worker has labelled far more than the others: the vector then points at that worker alone (rte: .51).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import diags_array

from ...kinds.classes.annotations import Annotations
from ...maths import moments
from ..gold import Gold
from ..voting.base import VoteAggregator, Weights, scores
from .rank_one import natural_scale, upright


@dataclass(frozen=True, kw_only=True)
class Ghosh(VoteAggregator):
    """Nothing to set. The posterior's scale is fitted (first-order log odds); the vector itself has none.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> Ghosh().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "ghosh"

    def weights(self, annotations: Annotations, gold: Gold | None) -> Weights:
        """The leading eigenvector of the workers' agreement, each with themselves included."""
        k = annotations.n_classes
        seen = moments.agreement(annotations)
        if k == 1 or seen.n.nnz == 0:
            return Weights(np.ones(annotations.n_workers), scale=1.0)
        gram = (k * seen.agree - seen.n) / (k - 1) + diags_array(_own(annotations))
        weight = upright(annotations, moments.leading(gram)[1])
        return Weights(weight, natural_scale(annotations, weight, scores(annotations, weight), gold))


def _own(annotations: Annotations) -> moments.F8:
    n = np.bincount(annotations.worker, weights=annotations.weight, minlength=annotations.n_workers)
    return n.astype(np.float64)
