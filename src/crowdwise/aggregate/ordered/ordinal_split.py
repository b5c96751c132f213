"""Ordinal split: is it above the first class, above the second, ...? One question with two answers for each step.

    P(z = k) = P(z > k - 1) - P(z > k),   each P(z > k) by a method for two classes, made to fall with k

Raykar et al. (2010), Learning from crowds, JMLR 11, section 5.2, after Frank & Hall (2001),
doi:10.1007/3-540-44795-4_13. Each step knows whether a worker says too much or too little there, and nothing of the
other steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import ParameterError
from ...core.params import MethodName
from ...kinds.classes.annotations import Annotations
from ...kinds.classes.answers import Classes
from ...maths.dirichlet import best_strength
from ...maths.kernels import Workspace, stats_of
from ..base import Aggregator, Run, Solution
from ..gold import Gold
from ..registry import card, method
from .base import OrderedAggregator

F8 = npt.NDArray[np.float64]
ABOVE = pl.Series("label", ["no", "yes"])


@dataclass(frozen=True, kw_only=True)
class OrdinalSplit(OrderedAggregator):
    """`by` is the method for two classes that answers at each step.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"llhh"], order=["l", "m", "h"])
    >>> OrdinalSplit().fit(votes).to_table()["label"].to_list()
    ['l', 'h']
    """

    name: ClassVar[str] = "ordinal_split"
    by: MethodName = "hierarchical"

    def __post_init__(self) -> None:
        super().__post_init__()
        own = card(self.by)
        if own.takes != "classes" or {"gold", "order"} & own.needs:
            raise ParameterError(f"by must be a method for classes that needs neither gold nor an order, got {self.by}")

    def on_levels(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """One fit for each step."""
        k = annotations.n_classes
        above = np.ones((annotations.n_tasks, k + 1))
        above[:, k] = 0.0
        passes, settled = 0, True
        for step in range(1, k):
            found = self._step(annotations, gold, run, step)
            above[:, step] = found.posterior[:, 1]
            passes, settled = max(passes, found.n_iter), settled and found.converged
        # Made to fall from below and from above, and averaged: neither end of the ladder is the first.
        low, high = -np.maximum.accumulate(-above, axis=1), np.maximum.accumulate(above[:, ::-1], axis=1)[:, ::-1]
        falling = (low + high) / 2
        posterior = np.maximum(falling[:, :-1] - falling[:, 1:], 0.0)
        posterior /= posterior.sum(axis=1, keepdims=True)
        mass = posterior.mean(axis=0) if len(posterior) else np.full(k, 1 / k)
        confusion, counts = confusions(annotations, posterior)
        return Solution(posterior, mass, confusion, counts, n_iter=passes, converged=settled)

    def _step(self, annotations: Annotations, gold: Gold | None, run: Run, step: int) -> Solution:
        yes = (annotations.label >= step).astype(np.int32)
        own = replace(annotations, answers=Classes(yes, ABOVE))
        known = None
        if gold is not None:
            told = np.where(gold.label < gold.n_classes, (gold.label >= step).astype(np.int32), 2)
            known = Gold(told.astype(np.int32), 2)
        asked: Aggregator = method(self.by, seed=self.seed)
        return asked.answer(own, known, replace(run, prior=None, callback=None))


def confusions(annotations: Annotations, posterior: F8) -> tuple[F8, F8]:
    """Each worker's matrix [worker, true, observed] under a posterior, shrunk to the crowd's, and the counts behind."""
    counts = stats_of(Workspace.of(annotations), posterior).counts  # worker, observed, true
    k = counts.shape[1]
    pooled = counts.sum(axis=0) + 0.25 + np.eye(k)
    mean = pooled / pooled.sum(axis=0)
    strength = np.full(k, 10.0)
    for true in range(k):
        rows = counts[:, :, true][counts[:, :, true].sum(axis=1) > 0]
        if len(rows):
            strength[true] = best_strength(rows, mean[:, true], 0.1, 100.0)
    theta = counts + strength * mean
    theta = theta / theta.sum(axis=1, keepdims=True)
    return np.ascontiguousarray(theta.transpose(0, 2, 1)), np.ascontiguousarray(counts.transpose(0, 2, 1))
