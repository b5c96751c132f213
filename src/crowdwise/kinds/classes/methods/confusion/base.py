"""The base of confusion-matrix methods: the model that EM fits, its starts, and the resulting state.

    z_i ~ Cat(class_prior),   y_iw | z_i = k ~ Cat(confusion[w, k])

Methods differ in their M-step only. Internal arrays are [worker, observed, true]; results are [worker, true, observed].
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from .....core.arrays import F8
from .....core.method_registry import method
from .....core.params import Count, NonNegative
from .....em.kernels import Stats, Workspace, accumulate, e_step, stats_of, transposed
from .....em.loop import Fit, plus
from .....em.passes import Passes, best_of, run
from .....stats.logspace import log_sum, normalise_rows, shares, shares_in_place
from ...annotations import Annotations
from ..base import Aggregator, PartitionedAggregator, SolveOptions
from ..gold import GoldLabels
from ..partitioned import (
    FitState,
    ModelPredictor,
    PartitionedVotes,
    Predictor,
    SolutionPredictor,
    VotesShape,
    apply_predictor,
    clamped,
)
from ..voting import scores

# ----------------------------------------------------------------
# Starts of EM: functions from a shard to a first posterior[task, class] of its tasks, which must not depend on how the
# tasks are split into shards.

Start = Callable[[Workspace], F8]
# Rows of random numbers that are drawn at a time when those of earlier shards are skipped.
BLOCK = 1 << 16


def by_votes(space: Workspace) -> F8:
    """Return the usual start: vote shares, with certainty on gold."""
    return clamped(space, shares_in_place(space.shard.count_votes()))


@dataclass(frozen=True, eq=False)
class PredictorStart:
    """A start from the posterior of another method."""

    predictor: Predictor

    def __call__(self, space: Workspace) -> F8:
        """Posterior of a shard, with certainty on gold."""
        return clamped(space, self.predictor(space).posterior)


@dataclass(frozen=True, eq=False)
class NoisyStart:
    """A start from half vote shares and half noise, with its own random stream."""

    stream: np.random.SeedSequence

    def __call__(self, space: Workspace) -> F8:
        """Posterior of a shard."""
        noise = drawn(self.stream, space, space.shard.n_classes)
        return clamped(space, (by_votes(space) + noise) / 2)


@dataclass(frozen=True, eq=False)
class WeightedVoteStart:
    """A start from the shares of a vote with weight[worker]."""

    weight: F8

    def __call__(self, space: Workspace) -> F8:
        """Posterior of a shard."""
        return clamped(space, shares(scores(space.shard, self.weight)))


@dataclass(frozen=True)
class ReliableStart:
    """A start from the posterior when all workers are right with the same odds."""

    odds: float

    def __call__(self, space: Workspace) -> F8:
        """Posterior of a shard."""
        return clamped(space, normalise_rows(float(np.log(self.odds)) * space.shard.count_votes())[0])


def drawn(stream: np.random.SeedSequence, space: Workspace, k: int) -> F8:
    """Return k random shares for each task of a shard, independent of how the tasks are split into shards."""
    rng, ones = np.random.default_rng(stream), np.ones(k)
    for lo in range(0, space.first, BLOCK):
        rng.dirichlet(ones, min(BLOCK, space.first - lo))
    return rng.dirichlet(ones, space.shard.n_tasks)


@dataclass(frozen=True)
class Params:
    """theta[worker, observed, true] and class_prior[class]."""

    theta: F8
    class_prior: F8


ConfusionFit = Fit[Params, Stats]
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
        """Return the same model with history[worker, observed, true], counts of earlier projects, in the prior."""
        if history is None:
            return self
        other = copy(self)
        other.prior = self.prior + history
        return other

    def start(self, shard: Workspace, at: Start = by_votes) -> Stats:
        """Return the expected counts of a first posterior."""
        return stats_of(shard, at(shard))

    def accumulate(self, params: Params, shard: Workspace) -> tuple[Stats, float]:
        """Run the E-step fused with its statistics."""
        return accumulate(shard, params.theta, params.class_prior)

    def posterior(self, params: Params, shard: Workspace) -> F8:
        """Run the E-step alone."""
        return e_step(shard, params.theta, params.class_prior)

    def maximise(self, stats: Stats) -> Params:
        """Normalise expected counts plus pseudo-counts over the observed label."""
        theta = self.confusion(stats.counts)
        theta.setflags(write=False)
        return Params(theta, self.class_prior(stats.mass))

    def log_prior(self, params: Params) -> float:
        """Return the log density of the Dirichlet priors, whose mode the M-step takes."""
        density = self.log_confusion_density(params.theta)
        if self.prior_class > 0:
            density += self.prior_class * float(np.log(params.class_prior).sum())
        return density

    def class_prior(self, mass: F8) -> F8:
        """Return class frequencies with their pseudo-counts."""
        mass = mass + self.prior_class
        return np.asarray(mass / mass.sum())

    def confusion(self, counts: F8) -> F8:
        """Return theta from expected counts, both [worker, observed, true]."""
        theta = counts + self.prior
        theta /= np.einsum("wot->wt", theta)[:, None]  # several times as fast as theta.sum(axis=1)
        return np.asarray(theta)

    def log_confusion_density(self, theta: F8) -> float:
        """Return the log prior density of the confusion matrices."""
        if self.prior.ndim == 3:
            return float((self.prior * np.log(theta)).sum())
        # The logarithms are summed over workers first, which leaves one small product with the prior.
        return float((self.prior * log_sum(theta)).sum())


@dataclass(frozen=True, kw_only=True)
class ConfusionAggregator(PartitionedAggregator):
    """EM over confusion matrices, from the vote shares and, with `n_init` > 1, from random starts as well.

    Args:
        max_iter: Maximum number of passes over the labels, from each start.
        tol: Change of the objective, relative to its size, at which a run stops; 0 runs until it no longer changes.
        n_init: Number of starts; 1 is the usual start, more add random ones. That with the highest objective is used.
        accelerate: Whether to extrapolate the steps (SQUAREM); only extrapolations that raise the objective are kept.
    """

    max_iter: Count = 500
    tol: NonNegative = 1e-8
    n_init: Count = 1
    accelerate: bool = False

    @abstractmethod
    def model(self, shape: VotesShape) -> ConfusionModel:
        """Return the model with its priors for data of this shape."""

    def learn(self, data: PartitionedVotes, options: SolveOptions) -> FitState:
        """Return the best of the runs from all starts."""
        return fit_state(*self.search(data, options))

    def search(self, data: PartitionedVotes, options: SolveOptions) -> tuple[ConfusionFit, ModelPredictor]:
        """Run EM from every start; return the fit with the highest objective and its predictor."""
        model = self.model(data).with_history(options.prior)
        passes: Matrices = Passes(model, data)
        # Statistics first, so that the posteriors they come from are freed before EM makes its own.
        begin = [passes.start(partial(model.start, at=start)) for start in self.starts(data)]
        fit = best_of(
            run(
                passes,
                stats,
                max_iter=self.max_iter,
                tol=self.tol,
                accelerate=self.accelerate,
                callback=options.callback,
            )
            for stats in begin
        )
        return fit, ModelPredictor(model, fit.params)

    def starts(self, data: PartitionedVotes) -> list[Start]:  # noqa: ARG002
        """Return vote shares, then mixtures of vote shares and noise, each with its own random stream."""
        return [by_votes, *map(NoisyStart, np.random.SeedSequence(self.seed).spawn(self.n_init - 1))]


def vote_shares(annotations: Annotations, gold: GoldLabels | None) -> F8:
    """Return the usual start: vote shares, with certainty on gold."""
    start = shares_in_place(annotations.count_votes())
    return start if gold is None else gold.clamp(start)


def start_from_method(name: str, data: PartitionedVotes, seed: int) -> Start:
    """Return a start from the posterior of another method, whether or not that has converged."""
    aggregator: Aggregator = method(name, seed=seed)
    if isinstance(aggregator, PartitionedAggregator):
        return PredictorStart(aggregator.learn(data, SolveOptions()).predictor)
    return PredictorStart(SolutionPredictor(aggregator.fit_solution(*data.require_in_memory(name), SolveOptions())))


def counted(data: PartitionedVotes, predictor: Predictor) -> F8:
    """Return the expected counts[worker, observed, true] under a predictor's posterior of all tasks."""
    return data.sum(partial(_counts, predictor), plus).counts


def _counts(predictor: Predictor, shard: Workspace) -> Stats:
    return stats_of(shard, apply_predictor(predictor, shard, keep=True).posterior)


def in_rounds(
    fit: ConfusionFit, model: ConfusionModel, traces: list[F8], passes: int, settled: bool, extra: Mapping[str, Any]
) -> FitState:
    """Return the state of the last of several rounds of EM under changing priors; each round's trace is a stage."""
    return replace(
        fit_state(fit, ModelPredictor(model, fit.params)),
        trace=np.concatenate(traces),
        stage=np.repeat(np.arange(len(traces)), [len(trace) for trace in traces]),
        n_iter=passes,
        converged=settled,
        extra=extra,
    )


def fit_state(fit: ConfusionFit, predictor: Predictor) -> FitState:
    """Return the state of a fit, with tables in the public orientation [worker, true, observed]."""
    return FitState(
        predictor=predictor,
        class_prior=fit.params.class_prior,
        confusion=transposed(fit.params.theta),
        counts=transposed(fit.stats.counts),
        trace=fit.trace,
        n_iter=fit.n_iter,
        converged=fit.converged,
    )
