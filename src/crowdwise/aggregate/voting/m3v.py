"""M3V: max-margin majority vote; weights under which the winning class leads by as much as it can.

    score(i, k) = sum_w η_w 1[y_iw = k],   minimise ½ ||η||² + c sum_i max(0, 1 - margin_i)²

margin_i is the lead of the current label over the runner-up. Labels and weights are found in turn, from the plain vote.
Tian & Zhu (2015), Max-margin majority voting for learning from crowds, NeurIPS 28. The hinge is squared here: the
problem is then smooth and L-BFGS solves it. Fails, like every vote with one weight per worker, with class-biased
workers, and it trusts the first vote: what the majority gets wrong together stays wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, Positive
from ...kinds.classes.annotations import Annotations
from ...maths.ties import winners
from ..class_order import ClassOrder
from ..gold import Gold
from ..spectral.rank_one import natural_scale
from .base import VoteAggregator, Weights, scores

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class M3V(VoteAggregator):
    """`strength` (c > 0, per task) is how much a lost margin costs; at most `max_iter` rounds of labels and weights.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> M3V().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "m3v"
    strength: Positive = 0.1
    max_iter: Count = 50

    def weights(self, annotations: Annotations, gold: Gold | None) -> Weights:
        """Labels and weights in turn until the labels stay."""
        if annotations.n_classes == 1 or len(annotations) == 0:
            return Weights(np.ones(annotations.n_workers), scale=1.0)
        votes, known = ClassOrder.of(annotations, gold).renamed(annotations, gold)
        weight, converged = np.ones(votes.n_workers), False
        label = _winners(votes, weight, known)
        for iteration in range(1, self.max_iter + 1):  # noqa: B007
            weight = self._fit(votes, label, weight)
            new = _winners(votes, weight, known)
            converged = bool((new == label).all())
            label = new
            if converged:
                break
        scale = natural_scale(votes, weight, scores(votes, weight), known)
        return Weights(weight, scale, iteration, converged)

    def _fit(self, votes: Annotations, label: I8, start: F8) -> F8:
        """The weights of the widest margins for these labels."""
        from scipy.optimize import minimize

        each = np.arange(votes.n_tasks)
        heard = np.ones(len(votes)) if votes.weight is None else votes.weight
        # A task without a clear winner teaches nothing.
        clear = label < votes.n_classes
        label = np.where(clear, label, 0)

        def loss(eta: F8) -> tuple[float, F8]:
            score = scores(votes, eta)
            own = score[each, label]
            score[each, label] = -np.inf
            rival = score.argmax(axis=1)
            lost = np.where(clear, np.maximum(0.0, 1 - own + score[each, rival]), 0.0)
            side = (votes.label == rival[votes.task]).astype(np.float64) - (votes.label == label[votes.task])
            pull = np.bincount(votes.worker, 2 * lost[votes.task] * side * heard, votes.n_workers)
            return float(eta @ eta / 2 + self.strength * (lost @ lost)), eta + self.strength * pull

        return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 50}).x)


def _winners(votes: Annotations, weight: F8, gold: Gold | None) -> I8:
    """The winning class of each task, n_classes where there is a tie, gold where it is known."""
    top = winners(scores(votes, weight))
    label = np.where(top.sum(axis=1) == 1, top.argmax(axis=1), votes.n_classes)
    return label if gold is None else np.where(gold.label < gold.n_classes, gold.label, label)
