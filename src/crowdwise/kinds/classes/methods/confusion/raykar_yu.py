"""Raykar-Yu: confusion matrices under a prior that eliminates spammers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .....core.arrays import F8, Mask
from .....core.params import Count, NonNegative, Positive
from .....em.passes import Passes, run
from .....stats.dirichlet import log_rows
from ..base import PartitionedAggregator, SolveOptions
from ..partitioned import FitState, PartitionedVotes
from .base import ConfusionModel, Matrices, in_rounds

# Strengths tried besides zero; from SPAMMER_FROM on, a worker can be a spammer, whose rows are made equal.
STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
SPAMMER_FROM = 100.0
# EM passes at one set of strengths, and rounds after which the strengths are fixed: they could alternate forever.
PASSES = 10
ROUNDS = 15


@dataclass(frozen=True, kw_only=True)
class RaykarYu(PartitionedAggregator):
    """Raykar-Yu: confusion matrices under a prior that eliminates spammers, whose answers do not depend on the truth.

        confusion[w, k] ~ Dir(1 + smoothing + strength[w] · own[w]),   own[w] = label frequencies of w

    A spammer has the same row for every class. Each worker's rows shrink toward their mean row, by a strength that
    maximises the Dirichlet-multinomial evidence of the expected counts on a grid; at the largest strengths the rows
    are made equal and the worker has no influence. Raykar & Yu (2012), Eliminating spammers and ranking annotators,
    JMLR 13(16): two classes and a penalty on (sensitivity + specificity - 1)²; this is the form for any number of
    classes. Fails where workers have few labels: there is no evidence about them, and their rows differ by chance.

    `smoothing` (> 0, 0.01 to 1) adds pseudo-counts in every cell, `prior_class` in every class; `margin` (>= 0, nats)
    is the evidence for equal rows that is required to call a worker a spammer.

    `result.extra["spammer"]` marks spammers, `extra["strength"]` holds the shrinkage of each worker's rows.

    Args:
        smoothing: Pseudo-count of every cell of every worker's matrix, usually 0.01 to 1; larger ones flatten its rows.
        prior_class: Pseudo-count of each class; larger values make the class frequencies more equal, 0 leaves them as
            estimated.
        margin: Log evidence (nats) that equal rows must gain over free rows before a worker is called a spammer; with 0
            any gain suffices, larger values give fewer spammers.
        max_iter: Maximum number of EM passes over the labels, over all rounds.
        tol: Largest change of any posterior in a round at which the fit has converged.

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> RaykarYu().fit(votes).extra["spammer"]
    array([False, False])
    """

    name: ClassVar[str] = "raykar_yu"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("spammer", "strength")
    smoothing: Positive = 0.01
    prior_class: NonNegative = 0.0
    margin: NonNegative = 0.0
    max_iter: Count = 500
    tol: NonNegative = 1e-3

    def learn(self, votes: PartitionedVotes, options: SolveOptions) -> FitState:
        """Run rounds of EM, each under strengths estimated from the counts of the last round, until convergence."""
        m, k = votes.n_workers, votes.n_classes
        prior = np.full((m, k, 1), float(self.smoothing))
        model = Shrunk(prior, np.zeros(m, dtype=bool), self.prior_class)
        data: Matrices = Passes(model, votes)
        stats, before = data.start(), None
        strength = np.zeros(m)
        traces: list[F8] = []
        passes, converged = 0, False
        while passes < self.max_iter and not converged:
            used = model
            fit = run(data.under(model), stats, max_iter=min(PASSES, self.max_iter - passes), tol=0.0)
            moved = data.moved(before, fit.params)
            converged = len(traces) > 1 and moved <= self.tol
            before, stats = fit.params, fit.stats
            passes += fit.n_iter
            traces.append(fit.trace)
            if options.callback is not None:
                options.callback(passes, fit.objective)
            if not converged and len(traces) <= ROUNDS:
                strength, spammer = best_strengths(stats.counts, self.margin)
                own = stats.counts.sum(axis=2) + self.smoothing
                own /= own.sum(axis=1, keepdims=True)
                model = Shrunk((self.smoothing + strength[:, None] * own)[:, :, None], spammer, self.prior_class)
        return in_rounds(fit, used, traces, passes, converged, {"strength": strength, "spammer": model.spammer})


class Shrunk(ConfusionModel):
    """prior[worker, observed, 1] pseudo-counts, the same for every class; spammers have one row for all classes."""

    def __init__(self, prior: F8, spammer: Mask, prior_class: float) -> None:
        super().__init__(prior, prior_class)
        self.spammer = spammer

    def confusion(self, counts: F8) -> F8:
        """Normalise counts plus pseudo-counts; those of a spammer are summed over the classes first."""
        theta = counts + self.prior
        theta[self.spammer] = theta[self.spammer].sum(axis=2, keepdims=True)
        theta /= theta.sum(axis=1, keepdims=True)
        return np.asarray(theta)

    def log_confusion_density(self, theta: F8) -> float:
        """Return the log Dirichlet densities, whose mode the M-step takes."""
        return float((self.prior * np.log(theta)).sum())


def best_strengths(counts: F8, margin: float) -> tuple[F8, Mask]:
    """Return the strength with the highest evidence for each worker, and whether the worker is a spammer."""
    n_workers, k, _ = counts.shape
    pooled = counts.sum(axis=2)  # worker, observed
    own = (pooled + 1) / (pooled.sum(axis=1, keepdims=True) + k)
    # The mean row is estimated from the same counts: K - 1 numbers, penalised as in the Bayesian information criterion.
    charge = (k - 1) / 2 * np.log1p(pooled.sum(axis=1))
    free = log_rows(counts, np.ones((1, k, 1)), axis=1).sum(axis=1)
    best, strength = free.copy(), np.zeros(n_workers)
    for s in STRENGTHS:
        evidence = log_rows(counts, (1 + s * own)[:, :, None], axis=1).sum(axis=1) - charge
        better = evidence > best
        best[better], strength[better] = evidence[better], s
    return strength, (strength >= SPAMMER_FROM) & (best - free > margin)
