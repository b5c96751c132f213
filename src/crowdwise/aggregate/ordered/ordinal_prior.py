"""Ordinal prior: confusion matrices that shrink to what the worker's place on the ladder would give.

    confusion[w, k] ~ Dir(1 + strength[k] · mean[w, k]),   mean[w] = the mean matrix of the worker's ordinal types

`hierarchical` with the ladder of `ordinal_types` in the place of the crowd's matrix: a worker with few labels is judged
by their bias and scale, one with many by their own record, which may leave the ladder. The strength of each class has
the highest Dirichlet-multinomial evidence of the workers' expected counts (Minka 2000).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import NonNegative
from ...core.rules import Above
from ...maths.dirichlet import best_strength
from ...maths.kernels import Stats
from ...maths.ordered.types import Types
from ..confusion.base import ConfusionModel
from .base import InRounds

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class OrdinalPrior(InRounds):
    """`strength_max` bounds the shrinkage; `prior_class` is in tasks per class.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"llhh"], order=["l", "m", "h"])
    >>> OrdinalPrior().fit(votes).to_table()["label"].to_list()
    ['l', 'h']
    """

    name: ClassVar[str] = "ordinal_prior"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("bias", "scale", "spammer")
    prior_class: NonNegative = 10.0
    strength_max: Annotated[float, Above(0.1)] = 100.0

    def under(self, types: Types, stats: Stats) -> ConfusionModel:
        """Dawid-Skene whose prior matrix is each worker's own."""
        mean = types.mean(types.judge(stats.counts))
        heard = stats.counts.sum(axis=(1, 2)) > 0
        k = mean.shape[1]
        strength = np.full(k, 10.0)
        for true in range(k):
            rows, own = stats.counts[:, :, true], mean[:, :, true]
            some = heard & (rows.sum(axis=1) > 0)
            if some.any():
                strength[true] = best_strength(rows[some], own[some], 0.1, self.strength_max)
        return ConfusionModel(strength * mean, self.prior_class)
