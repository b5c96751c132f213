"""IWMV: iterative weighted majority vote.

    weight[w] = K · accuracy[w] - 1,  accuracy against the current labels; repeat until the labels stay

Li & Yu (2014), arXiv:1411.4086. The weight is the log-odds weight to first order around chance, so that
softmax(K / (K - 1) · score) is the matching posterior. A worker worse than chance votes against themselves.
Fails where more than half of the weight is wrong together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import Count
from ..spread import Spread
from .base import Weights
from .split import SplitVote, refine


@dataclass(frozen=True, kw_only=True)
class IWMV(SplitVote):
    """At most `max_iter` rounds of voting and weighing.

    >>> from crowdwise import Annotations

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> IWMV().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "iwmv"
    max_iter: Count = 100

    def weigh(self, data: Spread) -> Weights:
        """K · accuracy - 1."""
        k = data.n_classes
        return refine(data, lambda accuracy, n: k * accuracy - 1.0, k / max(k - 1, 1), self.max_iter)  # noqa: ARG005
