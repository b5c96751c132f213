"""What the confusion-matrix methods share: the model that EM runs, its starts, and what comes out of it.

    z_i ~ Cat(class_prior),   y_iw | z_i = k ~ Cat(confusion[w, k])

Methods differ in their M-step only. Arrays inside are [worker, observed, true]; what leaves is
[worker, true, observed].
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .....core.method_registry import method
from .....core.params import Count, NonNegative
from .....em.kernels import Stats, Workspace, accumulate, e_step, stats_of
from .....em.loop import Fit, plus
from .....em.passes import Passes, best_of, run
from .....stats.logspace import log_sum, normalise_rows, shares, shares_in_place
from ...annotations import Annotations
from ..base import Aggregator, Run, SpreadAggregator
from ..gold import Gold
from ..spread import Judge, Learnt, Shape, Spread, Under, Whole, clamped, judged
from ..voting import scores

# ----------------------------------------------------------------
# Where EM may begin: functions from a shard to a first posterior[task, class] of its tasks.
# A start says the same of a task whatever shard it is in.

F8 = npt.NDArray[np.float64]
Start = Callable[[Workspace], F8]
# Rows of random numbers that are drawn at a time, when those before a shard's are passed over.
BLOCK = 1 << 16


def by_votes(space: Workspace) -> F8:
    """The usual start: vote shares, with certainty on gold."""
    return clamped(space, shares_in_place(space.shard.count_votes()))


@dataclass(frozen=True, eq=False)
class Given:
    """A posterior of all tasks that something else has found."""

    posterior: F8

    def __call__(self, space: Workspace) -> F8:
        """The shard's part of it."""
        return self.posterior[space.first : space.first + space.shard.n_tasks]


@dataclass(frozen=True, eq=False)
class JudgedBy:
    """What another method has learnt says of the tasks."""

    judge: Judge

    def __call__(self, space: Workspace) -> F8:
        """Its posterior, with certainty on gold."""
        return clamped(space, self.judge(space).posterior)


@dataclass(frozen=True, eq=False)
class Mixed:
    """Half vote shares, half noise from a stream of its own."""

    stream: np.random.SeedSequence

    def __call__(self, space: Workspace) -> F8:
        """The mixture for a shard."""
        noise = drawn(self.stream, space, space.shard.n_classes)
        return clamped(space, (by_votes(space) + noise) / 2)


@dataclass(frozen=True, eq=False)
class Weighed:
    """Shares of a vote in which worker w counts weight[w]."""

    weight: F8

    def __call__(self, space: Workspace) -> F8:
        """The shares for a shard."""
        return clamped(space, shares(scores(space.shard, self.weight)))


@dataclass(frozen=True)
class Reliable:
    """The posterior when all workers are right with the same odds."""

    odds: float

    def __call__(self, space: Workspace) -> F8:
        """The posterior of a shard."""
        return clamped(space, normalise_rows(float(np.log(self.odds)) * space.shard.count_votes())[0])


def drawn(stream: np.random.SeedSequence, space: Workspace, k: int) -> F8:
    """k random shares for each task of a shard: its rows of one long table that the stream draws for all tasks."""
    rng, ones = np.random.default_rng(stream), np.ones(k)
    for lo in range(0, space.first, BLOCK):
        rng.dirichlet(ones, min(BLOCK, space.first - lo))
    return rng.dirichlet(ones, space.shard.n_tasks)


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
