"""What the voting methods share: weighted votes, and how scores become posteriors."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...kinds.classes.annotations import Annotations
from ...maths.em import Additive
from ...maths.logspace import normalise_rows, shares
from ...maths.rows import LabelRows
from ..base import Aggregator, Run, Solution
from ..gold import Gold

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Weights:
    """Weight of each worker; with a `scale` the posterior is softmax(scale · score), else the share of the score."""

    weight: F8
    scale: float | None = None
    n_iter: int = 1
    converged: bool = True


@dataclass(frozen=True, kw_only=True)
class VoteAggregator(Aggregator):
    """Each worker has one weight; the class with the heaviest votes wins."""

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:  # noqa: ARG002
        """Weights first, then one weighted vote."""
        found = self.weights(annotations, gold)
        posterior = posterior_of(annotations, found.weight, found.scale)
        if gold is not None:
            posterior = gold.clamp(posterior)
        extra = {"vote_weight": found.weight, "vote_scale": found.scale}
        return Solution(posterior, posterior.mean(axis=0), n_iter=found.n_iter, converged=found.converged, extra=extra)

    @abstractmethod
    def weights(self, annotations: Annotations, gold: Gold | None) -> Weights:
        """The weight of each worker."""


def scores(annotations: LabelRows, weight: F8) -> F8:
    """score[task, class]: the summed weights of the workers who said so."""
    n, k = annotations.n_tasks, annotations.n_classes
    w = weight[annotations.worker]
    if annotations.weight is not None:
        w = w * annotations.weight
    flat = annotations.task.astype(np.int64) * k + annotations.label
    # Of no rows at all, bincount makes integers.
    return np.bincount(flat, weights=w, minlength=n * k).astype(np.float64).reshape(n, k)


def posterior_of(annotations: LabelRows, weight: F8, scale: float | None, prior: F8 | None = None) -> F8:
    """Scores as probabilities. Where all voters of a task weigh nothing, they count alike.

    prior[class] is weight that every class has before the first vote.
    """
    score = scores(annotations, weight)
    if prior is not None:
        score += prior
    if scale is not None:
        return normalise_rows(scale * score)[0]
    silent = score.sum(axis=1) <= 0
    if silent.any():
        score = np.where(silent[:, None], annotations.count_votes(), score)
    return shares(score)


@dataclass(frozen=True)
class Agreement(Additive):
    """Labels of each worker and how many of them agree, by weight; `moved`: tasks whose winners are others now."""

    n: F8
    hits: F8
    moved: F8

    def share(self) -> F8:
        """How often each worker agrees; a worker without labels gets the crowd's mean."""
        n, total = self.n, self.n.sum()
        crowd = self.hits.sum() / total if total > 0 else 1.0
        return np.where(n > 0, self.hits / np.where(n > 0, n, 1.0), crowd)


def agreeing(rows: LabelRows, target: F8, moved: int = 0) -> Agreement:
    """How workers agree with target[task, class]."""
    right = target[rows.task, rows.label]
    w = np.ones(len(right)) if rows.weight is None else rows.weight
    n, hits = (np.bincount(rows.worker, weights=x, minlength=rows.n_workers) for x in (w, w * right))
    return Agreement(n.astype(np.float64), hits.astype(np.float64), np.array([float(moved)]))
