"""What the voting methods share: weighted votes, agreement with a consensus, and how scores become posteriors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...kinds.classes.annotations import Annotations
from ...maths.logspace import normalise_rows, shares
from ...maths.rows import LabelRows
from ...maths.ties import tie_shares
from ..base import Aggregator, Run, Solution
from ..gold import Gold

F8 = npt.NDArray[np.float64]
# What a tied majority counts for when workers are weighed against it: its winners share it, or the first takes it.
Ties = Literal["split", "first"]


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


def posterior_of(annotations: Annotations, weight: F8, scale: float | None, prior: F8 | None = None) -> F8:
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
        score = np.where(silent[:, None], annotations.votes, score)
    return shares(score)


def consensus(score: F8, gold: Gold | None, ties: Ties = "split") -> F8:
    """The winning class of each task as a row of shares, gold where it is known."""
    won = tie_shares(score)
    if ties == "first":
        won = np.eye(score.shape[1])[won.argmax(axis=1)]
    return won if gold is None else gold.clamp(won)


def agreement(annotations: Annotations, target: F8) -> F8:
    """How often each worker agrees with target[task, class]; a worker without labels gets the crowd's mean."""
    right = target[annotations.task, annotations.label]
    w = np.ones(len(right)) if annotations.weight is None else annotations.weight
    n = np.bincount(annotations.worker, weights=w, minlength=annotations.n_workers)
    hits = np.bincount(annotations.worker, weights=w * right, minlength=annotations.n_workers)
    crowd = hits.sum() / n.sum() if n.sum() > 0 else 1.0
    return np.where(n > 0, hits / np.where(n > 0, n, 1.0), crowd)


def refine(
    annotations: Annotations,
    gold: Gold | None,
    weigh: Callable[[F8, F8], F8],
    scale: float,
    max_iter: int,
) -> Weights:
    """Vote and weigh in turn until the winners stay: weigh(accuracy, number of labels) gives the weights."""
    n = np.bincount(annotations.worker, weights=annotations.weight, minlength=annotations.n_workers).astype(np.float64)
    target = consensus(annotations.votes, gold)
    converged = False
    for iteration in range(1, max_iter + 1):  # noqa: B007
        weight = weigh(agreement(annotations, target), n)
        new = consensus(scores(annotations, weight), gold)
        converged = bool((new == target).all())
        target = new
        if converged:
            break
    return Weights(weight, scale, iteration, converged)
