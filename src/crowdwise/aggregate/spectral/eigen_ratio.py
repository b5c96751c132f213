"""EigenRatio: votes weighted by two leading eigenvectors, that of the mean agreement over that of the overlap.

    weight = eig( (O^T O) / (G^T G) ) / eig( 1[G^T G > 0] ),   O = ±1 labels, G = 1 where there is a label

The second corrects for who met whom: without it busy workers look skilled.
Dalvi, Dasgupta, Kumar & Rastogi (2013), Aggregating crowdsourced binary ratings, WWW, doi:10.1145/2488388.2488414.
Fails with class-biased workers (bluebird: .72) and where workers share few tasks: a mean over one task counts
as much as one over a hundred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import eye_array

from ...kinds.classes.annotations import Annotations
from ...maths import moments
from ..gold import Gold
from ..voting.base import VoteAggregator, Weights, scores
from .rank_one import natural_scale, upright


@dataclass(frozen=True, kw_only=True)
class EigenRatio(VoteAggregator):
    """Nothing to set. The posterior's scale is fitted (first-order log odds); the ratio itself has none.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> EigenRatio().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "eigen_ratio"

    def weights(self, annotations: Annotations, gold: Gold | None) -> Weights:
        """The ratio of the two vectors; 0 for whom the overlap does not reach."""
        seen = moments.agreement(annotations)
        if annotations.n_classes == 1 or seen.n.nnz == 0:
            return Weights(np.ones(annotations.n_workers), scale=1.0)
        own = eye_array(annotations.n_workers)
        met = seen.n.copy()
        met.data = np.ones_like(met.data)
        skill = moments.leading((seen.skill_products() + own).tocsr())[1]
        busy = np.abs(moments.leading((met + own).tocsr())[1])
        weight = np.where(busy > 1e-9, skill / np.maximum(busy, 1e-9), 0.0)
        weight = upright(annotations, weight)
        return Weights(weight, natural_scale(annotations, weight, scores(annotations, weight), gold))
