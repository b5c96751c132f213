"""What the confusion-matrix methods share: the model that EM runs, its starts, and what comes out of it.

    z_i ~ Cat(class_prior),   y_iw | z_i = k ~ Cat(confusion[w, k])

Methods differ in their M-step only. Arrays inside are [worker, observed, true]; what leaves is
[worker, true, observed].
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative
from ...engine.em import Fit, Passes, best_of, run
from ...kinds.classes.annotations import Annotations
from ...maths.em import plus
from ...maths.kernels import Stats, Workspace, accumulate, e_step, stats_of
from ...maths.logspace import log_sum, shares_in_place
from ..base import Aggregator, Learnt, Run, Spread, SpreadAggregator
from ..gold import Gold
from ..learnt import Judge, Under, Whole, judged
from ..registry import method
from ..spread import Shape
from .starts import JudgedBy, Mixed, Start, by_votes

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Params:
    """theta[worker, observed, true] and class_prior[class]."""

    theta: F8
    class_prior: F8


Found = Fit[Params, Stats]
Matrices = Passes[Workspace, Params, Stats]


class ConfusionModel:
    """Maximum a posteriori confusion matrices under Dirichlet pseudo-counts.

    prior[observed, true] is added to every worker's expected counts; prior_class to every class's mass. After
    `with_history` the prior is [worker, observed, true].
    """

    def __init__(self, prior: F8, prior_class: float) -> None:
        self.prior = prior
        self.prior_class = prior_class

    def with_history(self, history: F8 | None) -> Self:
        """The same model where history[worker, observed, true] was counted in earlier projects."""
        if history is None:
            return self
        other = copy(self)
        other.prior = self.prior + history
        return other

    def start(self, shard: Workspace, at: Start = by_votes) -> Stats:
        """Expected counts of a first posterior."""
        return stats_of(shard, at(shard))

    def accumulate(self, params: Params, shard: Workspace) -> tuple[Stats, float]:
        """E-step fused with its statistics."""
        return accumulate(shard, params.theta, params.class_prior)

    def posterior(self, params: Params, shard: Workspace) -> F8:
        """The E-step alone."""
        return e_step(shard, params.theta, params.class_prior)

    def maximise(self, stats: Stats) -> Params:
        """Expected counts plus pseudo-counts, normalised over the observed label."""
        theta = self.confusion(stats.counts)
        theta.setflags(write=False)
        return Params(theta, self.class_prior(stats.mass))

    def log_prior(self, params: Params) -> float:
        """Log density of the Dirichlet priors whose mode the M-step takes."""
        density = self.log_confusion_density(params.theta)
        if self.prior_class > 0:
            density += self.prior_class * float(np.log(params.class_prior).sum())
        return density

    def class_prior(self, mass: F8) -> F8:
        """Class frequencies with their pseudo-counts."""
        mass = mass + self.prior_class
        return np.asarray(mass / mass.sum())

    def confusion(self, counts: F8) -> F8:
        """theta from expected counts, both [worker, observed, true]."""
        theta = counts + self.prior
        theta /= np.einsum("wot->wt", theta)[:, None]  # several times as fast as theta.sum(axis=1)
        return np.asarray(theta)

    def log_confusion_density(self, theta: F8) -> float:
        """The part of the log prior density that concerns the confusion matrices."""
        if self.prior.ndim == 3:
            return float((self.prior * np.log(theta)).sum())
        # The logarithms are summed over workers first: one small product with the prior remains.
        return float((self.prior * log_sum(theta)).sum())


@dataclass(frozen=True, kw_only=True)
class ConfusionAggregator(SpreadAggregator):
    """EM over confusion matrices, from the vote shares and, with `n_init` > 1, from random starts as well."""

    max_iter: Count = 500
    tol: NonNegative = 1e-8
    n_init: Count = 1
    accelerate: bool = False

    @abstractmethod
    def model(self, shape: Shape) -> ConfusionModel:
        """The model with its priors for data of this size."""

    def learn(self, data: Spread, run_: Run) -> Learnt:
        """The best of the runs from all starts."""
        return learnt(*self.search(data, run_))

    def search(self, data: Spread, run_: Run) -> tuple[Found, Under]:
        """EM from every start; the highest objective wins, and judges by what it has found."""
        model = self.model(data).with_history(run_.prior)
        passes: Matrices = Passes(model, data)
        # Statistics first: the posteriors that they come from are then gone, before EM makes its own.
        begin = [passes.start(partial(model.start, at=start)) for start in self.starts(data)]
        fit = best_of(
            run(
                passes,
                stats,
                max_iter=self.max_iter,
                tol=self.tol,
                accelerate=self.accelerate,
                callback=run_.callback,
            )
            for stats in begin
        )
        return fit, Under(model, fit.params)

    def starts(self, data: Spread) -> list[Start]:  # noqa: ARG002
        """Vote shares first, then mixtures of vote shares and noise, each from its own stream."""
        return [by_votes, *map(Mixed, np.random.SeedSequence(self.seed).spawn(self.n_init - 1))]


def vote_shares(annotations: Annotations, gold: Gold | None) -> F8:
    """The usual start: vote shares, with certainty on gold."""
    start = shares_in_place(annotations.count_votes())
    return start if gold is None else gold.clamp(start)


def told_by(name: str, data: Spread, seed: int) -> Start:
    """What another method says, as a start; that it need not have settled for."""
    own: Aggregator = method(name, seed=seed)
    if isinstance(own, SpreadAggregator):
        return JudgedBy(own.learn(data, Run()).judge)
    return JudgedBy(Whole(own.answer(*data.at_once(name), Run())))


def counted(data: Spread, judge: Judge) -> F8:
    """counts[worker, observed, true] of what a judge says of all tasks."""
    return data.sum(partial(_counts, judge), plus).counts


def _counts(judge: Judge, shard: Workspace) -> Stats:
    return stats_of(shard, judged(judge, shard, keep=True).posterior)


def in_rounds(
    fit: Found, model: ConfusionModel, traces: list[F8], passes: int, settled: bool, extra: Mapping[str, Any]
) -> Learnt:
    """The last fit of several rounds of EM under changing priors; each round's trace is a stage."""
    return replace(
        learnt(fit, Under(model, fit.params)),
        trace=np.concatenate(traces),
        stage=np.repeat(np.arange(len(traces)), [len(trace) for trace in traces]),
        n_iter=passes,
        converged=settled,
        extra=extra,
    )


def learnt(fit: Found, judge: Judge) -> Learnt:
    """A fit in the public orientation [worker, true, observed]."""
    return Learnt(
        judge=judge,
        class_prior=fit.params.class_prior,
        confusion=np.ascontiguousarray(fit.params.theta.transpose(0, 2, 1)),
        counts=np.ascontiguousarray(fit.stats.counts.transpose(0, 2, 1)),
        trace=fit.trace,
        n_iter=fit.n_iter,
        converged=fit.converged,
    )
