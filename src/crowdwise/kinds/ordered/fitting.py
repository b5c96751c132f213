"""What methods for ordered classes share: levels instead of codes, the workers' types, rounds of EM under them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative
from ...em.kernels import Stats, Workspace
from ...em.passes import Passes, run
from ...em.sources import Known
from ..classes.annotations import Annotations
from ..classes.answers import Classes
from ..classes.methods.base import Aggregator, Run, SpreadAggregator
from ..classes.methods.confusion.base import ConfusionModel, Found, Matrices, in_rounds
from ..classes.methods.gold import Gold
from ..classes.methods.spread import After, Judge, Judged, Learnt, Solution, Spread, with_rows
from .maths import Types, refined

F8 = npt.NDArray[np.float64]
# EM passes at one prior; the passes of a round never lower that round's objective.
PASSES = 5
# Rounds in which the types and the strengths are learnt; later ones would only trade places between neighbours.
LEARNING = 40


@dataclass(frozen=True, kw_only=True)
class OrderedAggregator(Aggregator):
    """A method that sees classes as levels, 0 the lowest."""

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """`on_levels`, with everything that comes out in the order of the classes' codes."""
        order = annotations.answers.order
        assert order is not None
        raised = Raised(np.asarray(order))
        votes, known = raised(annotations, None if gold is None else gold.label)
        found = self.on_levels(votes, None if known is None else Gold(known, votes.n_classes), run)
        level = raised.level
        return replace(
            _lowered(found, level),
            posterior=np.ascontiguousarray(found.posterior[:, level]),
            workers_posteriors=tuple(np.ascontiguousarray(p[:, level]) for p in found.workers_posteriors),
        )

    @abstractmethod
    def on_levels(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """The method itself, on annotations whose codes are levels."""


@dataclass(frozen=True, eq=False)
class Raised:
    """Classes as levels, 0 the lowest; `order` are their codes from the lowest to the highest."""

    order: npt.NDArray[np.int64]

    @property
    def level(self) -> npt.NDArray[np.int64]:
        """The level of each class code."""
        return np.argsort(self.order)

    def __call__(self, part: Annotations, known: Known | None) -> tuple[Annotations, Known | None]:
        """A part whose codes are levels."""
        level, k = self.level, part.n_classes
        answers = Classes(level[part.label].astype(np.int32), part.classes.gather(self.order))
        if known is not None:
            known = np.where(known < k, level[np.minimum(known, k - 1)], k).astype(np.int32)
        return with_rows(part, answers=answers), known


@dataclass(frozen=True, eq=False)
class Lowered:
    """What a judge of levels says of the classes' codes."""

    judge: Judge
    level: npt.NDArray[np.int64]

    def __call__(self, space: Workspace) -> Judged:
        """The posterior of a part's tasks."""
        return Judged(np.ascontiguousarray(self.judge(space).posterior[:, self.level]))


def _said(space: Workspace) -> F8:
    """How often each class was said."""
    votes = space.shard
    return np.bincount(votes.label, weights=votes.weight, minlength=votes.n_classes).astype(np.float64)


S = TypeVar("S", Solution, Learnt)


def _lowered(found: S, level: npt.NDArray[np.int64]) -> S:
    """What was found of the workers and of all classes on levels, by class codes."""

    def table(values: Any) -> Any:
        return None if values is None else values[:, level][:, :, level]

    extra = {k: table(v) if k == "theta" else v[level] if k == "class_weight" else v for k, v in found.extra.items()}
    return replace(
        found,
        class_prior=found.class_prior[level],
        confusion=table(found.confusion),
        counts=table(found.counts),
        extra=extra,
    )


@dataclass(frozen=True, kw_only=True)
class InRounds(SpreadAggregator):
    """Rounds of EM, each under the types that the last round's counts call for.

    Ends when no posterior moves by more than `tol` in a round, or after `max_iter` passes.
    """

    max_iter: Count = 500
    tol: NonNegative = 1e-3
    prior_class: NonNegative = 1.0

    def learn(self, votes: Spread, run_: Run) -> Learnt:
        """On levels, with everything that comes out in the order of the classes' codes."""
        assert votes.order is not None
        raised = Raised(np.asarray(votes.order))
        found = self._on_levels(votes.through(raised), run_)
        return _lowered(replace(found, judge=Lowered(After(raised, found.judge), raised.level)), raised.level)

    def _on_levels(self, votes: Spread, run_: Run) -> Learnt:
        """From the shares of the votes."""
        k = votes.n_classes
        types = Types.start(k, votes.sum(_said, np.add))
        model = ConfusionModel(np.ones((k, k)), self.prior_class)
        data: Matrices = Passes(model, votes)
        stats, before = data.start(), None
        belief = types.judge(stats.counts)
        traces: list[F8] = []
        passes, settled = 0, False
        while passes < self.max_iter and not settled:
            if len(traces) < LEARNING:  # then the prior stands, and EM settles under it
                types = types.learn(stats.counts, belief)
                model = self.under(types, stats)
                data = data.under(model)
            fit: Found = run(data, stats, max_iter=min(PASSES, self.max_iter - passes), tol=0.0)
            settled = data.moved(before, fit.params) <= self.tol
            before, stats = fit.params, fit.stats
            belief = types.judge(stats.counts)
            passes += fit.n_iter
            traces.append(fit.trace)
            if run_.callback is not None:
                run_.callback(passes, fit.objective)
        found = in_rounds(fit, model, traces, passes, settled, {})
        return self.told(found, fit, types, belief)

    @abstractmethod
    def under(self, types: Types, stats: Stats) -> ConfusionModel:
        """The model of the next round."""

    def told(self, found: Learnt, fit: Found, types: Types, belief: F8) -> Learnt:
        """The solution with what is learnt of the workers' types."""
        grid = len(types.bias)
        tries = belief[:, :grid].sum(axis=1)
        own = belief[:, :grid] / np.maximum(tries, 1e-12)[:, None]
        bias, scale = own @ types.bias, np.exp(own @ np.log(types.scale))
        bias, scale = refined(fit.stats.counts, bias, scale, types.threshold)
        extra = {"bias": bias, "scale": scale, "spammer": 1 - tries}
        return replace(found, extra={**found.extra, **extra, "threshold": types.threshold})
