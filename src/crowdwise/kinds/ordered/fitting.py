"""Base classes of the methods for ordered classes: levels instead of class codes, EM in rounds with worker types."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ...core.arrays import F8, I8
from ...core.params import Count, NonNegative
from ...em.kernels import Stats, Workspace
from ...em.passes import Passes, run
from ...em.sources import GoldCodes
from ..classes.annotations import Annotations
from ..classes.answers import Classes
from ..classes.methods.base import Aggregator, PartitionedAggregator, SolveOptions
from ..classes.methods.confusion.base import ConfusionFit, ConfusionModel, Matrices, in_rounds
from ..classes.methods.gold import GoldLabels
from ..classes.methods.partitioned import (
    FitState,
    PartitionedVotes,
    PartPosterior,
    Predictor,
    Solution,
    TransformedPredictor,
    with_columns,
)
from .maths import WorkerTypes, refine

# EM passes per round. The objective never decreases within a round.
PASSES = 5
# Rounds in which types and strengths are updated; later ones would only oscillate between neighbouring types.
LEARNING = 40


@dataclass(frozen=True, kw_only=True)
class OrderedAggregator(Aggregator):
    """Base class of methods that work on levels of the classes, 0 the lowest."""

    def solve(self, annotations: Annotations, gold: GoldLabels | None, run: SolveOptions) -> Solution:
        """Convert classes to levels, run `solve_levels`, and convert the solution to class codes."""
        order = annotations.answers.order
        assert order is not None
        to_levels = LevelCodes(np.asarray(order))
        votes, gold_levels = to_levels(annotations, None if gold is None else gold.label)
        solution = self.solve_levels(
            votes, None if gold_levels is None else GoldLabels(gold_levels, votes.n_classes), run
        )
        level = to_levels.level
        return replace(
            _to_class_codes(solution, level),
            posterior=np.ascontiguousarray(solution.posterior[:, level]),
            worker_posteriors=tuple(np.ascontiguousarray(p[:, level]) for p in solution.worker_posteriors),
        )

    @abstractmethod
    def solve_levels(self, annotations: Annotations, gold: GoldLabels | None, run: SolveOptions) -> Solution:
        """Solve annotations whose codes are levels."""


@dataclass(frozen=True, eq=False)
class LevelCodes:
    """Recode classes as levels, 0 the lowest. `order` lists the class codes from the lowest to the highest."""

    order: I8

    @property
    def level(self) -> I8:
        """Level of each class code."""
        return np.argsort(self.order)

    def __call__(self, part: Annotations, gold: GoldCodes | None) -> tuple[Annotations, GoldCodes | None]:
        """Recode the labels and the gold of a part."""
        level, k = self.level, part.n_classes
        answers = Classes(level[part.label].astype(np.int32), part.classes.gather(self.order))
        if gold is not None:
            gold = np.where(gold < k, level[np.minimum(gold, k - 1)], k).astype(np.int32)
        return with_columns(part, answers=answers), gold


@dataclass(frozen=True, eq=False)
class ClassCodePredictor:
    """A predictor of levels whose posteriors are reordered to class codes."""

    predictor: Predictor
    level: I8

    def __call__(self, space: Workspace) -> PartPosterior:
        """Posterior of the tasks of a part."""
        return PartPosterior(np.ascontiguousarray(self.predictor(space).posterior[:, self.level]))


def _label_counts(space: Workspace) -> F8:
    """Weighted number of labels of each class."""
    votes = space.shard
    return np.bincount(votes.label, weights=votes.weight, minlength=votes.n_classes).astype(np.float64)


S = TypeVar("S", Solution, FitState)


def _to_class_codes(solution: S, level: I8) -> S:
    """Reorder the class-indexed parts of a solution from levels to class codes."""

    def table(values: Any) -> Any:
        return None if values is None else values[:, level][:, :, level]

    extra = {k: table(v) if k == "theta" else v[level] if k == "class_weight" else v for k, v in solution.extra.items()}
    return replace(
        solution,
        class_prior=solution.class_prior[level],
        confusion=table(solution.confusion),
        counts=table(solution.counts),
        extra=extra,
    )


@dataclass(frozen=True, kw_only=True)
class RoundsAggregator(PartitionedAggregator):
    """Base class of methods that run EM in rounds, with worker types updated between rounds.

    Args:
        max_iter: Maximum number of passes.
        tol: Largest change of a posterior in a round at convergence.
        prior_class: Prior of the class shares, in tasks per class.
    """

    max_iter: Count = 500
    tol: NonNegative = 1e-3
    prior_class: NonNegative = 1.0

    def learn(self, votes: PartitionedVotes, run_: SolveOptions) -> FitState:
        """Convert classes to levels, fit, and convert the fit to class codes."""
        assert votes.order is not None
        to_levels = LevelCodes(np.asarray(votes.order))
        state = self._learn_levels(votes.transformed(to_levels), run_)
        return _to_class_codes(
            replace(
                state, predictor=ClassCodePredictor(TransformedPredictor(to_levels, state.predictor), to_levels.level)
            ),
            to_levels.level,
        )

    def _learn_levels(self, votes: PartitionedVotes, run_: SolveOptions) -> FitState:
        """Fit on levels, starting from the shares of the votes."""
        k = votes.n_classes
        types = WorkerTypes.start(k, votes.sum(_label_counts, np.add))
        model = ConfusionModel(np.ones((k, k)), self.prior_class)
        data: Matrices = Passes(model, votes)
        stats, before = data.start(), None
        belief = types.posterior(stats.counts)
        traces: list[F8] = []
        passes, converged = 0, False
        while passes < self.max_iter and not converged:
            if len(traces) < LEARNING:  # afterwards the prior is fixed, so that EM converges
                types = types.learn(stats.counts, belief)
                model = self.under(types, stats)
                data = data.under(model)
            fit: ConfusionFit = run(data, stats, max_iter=min(PASSES, self.max_iter - passes), tol=0.0)
            converged = data.moved(before, fit.params) <= self.tol
            before, stats = fit.params, fit.stats
            belief = types.posterior(stats.counts)
            passes += fit.n_iter
            traces.append(fit.trace)
            if run_.callback is not None:
                run_.callback(passes, fit.objective)
        state = in_rounds(fit, model, traces, passes, converged, {})
        return self.with_worker_types(state, fit, types, belief)

    @abstractmethod
    def under(self, types: WorkerTypes, stats: Stats) -> ConfusionModel:
        """Return the model of the next round."""

    def with_worker_types(self, state: FitState, fit: ConfusionFit, types: WorkerTypes, belief: F8) -> FitState:
        """Add the workers' biases, scales and spammer probabilities to the fit."""
        grid = len(types.bias)
        p_grid = belief[:, :grid].sum(axis=1)
        p_type = belief[:, :grid] / np.maximum(p_grid, 1e-12)[:, None]
        bias, scale = p_type @ types.bias, np.exp(p_type @ np.log(types.scale))
        bias, scale = refine(fit.stats.counts, bias, scale, types.threshold)
        extra = {"bias": bias, "scale": scale, "spammer": 1 - p_grid}
        return replace(state, extra={**state.extra, **extra, "threshold": types.threshold})
