"""What methods for ordered classes share: levels instead of codes, the workers' types, rounds of EM under them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative
from ...engine.em import Passes, run
from ...kinds.classes.annotations import Annotations
from ...kinds.classes.answers import Classes
from ...maths.kernels import Stats
from ...maths.ordered.refine import refined
from ...maths.ordered.types import Types
from ..base import Aggregator, Run, Solution
from ..confusion.base import ConfusionModel, Found, Matrices, in_rounds
from ..gold import Gold
from ..registry import DEFAULT

F8 = npt.NDArray[np.float64]
# EM passes at one prior; the passes of a round never lower that round's objective.
PASSES = 5
# Rounds in which the types and the strengths are learnt; later ones would only trade places between neighbours.
LEARNING = 40


def default_of(votes: Annotations) -> str:
    """The method that is taken for classes when nobody says: another one where they have an order."""
    return DEFAULT if votes.answers.order is None else "ordinal_committee"


@dataclass(frozen=True, kw_only=True)
class OrderedAggregator(Aggregator):
    """A method that sees classes as levels, 0 the lowest."""

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """`on_levels`, with everything that comes out in the order of the classes' codes."""
        order = annotations.answers.order
        assert order is not None
        level = np.argsort(order)  # level of each class code
        classes = annotations.classes.gather(order)
        raised = replace(annotations, answers=Classes(level[annotations.label].astype(np.int32), classes))
        known = None
        if gold is not None:
            label = np.where(gold.label < gold.n_classes, level[np.minimum(gold.label, len(level) - 1)], gold.n_classes)
            known = Gold(label.astype(np.int32), gold.n_classes)
        found = self.on_levels(raised, known, run)
        return _lowered(found, level)

    @abstractmethod
    def on_levels(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """The method itself, on annotations whose codes are levels."""


def _lowered(found: Solution, level: npt.NDArray[np.int64]) -> Solution:
    """A solution over levels as one over class codes."""

    def table(values: Any) -> Any:
        return None if values is None else values[:, level][:, :, level]

    extra = {k: table(v) if k == "theta" else v[level] if k == "class_weight" else v for k, v in found.extra.items()}
    return replace(
        found,
        posterior=np.ascontiguousarray(found.posterior[:, level]),
        class_prior=found.class_prior[level],
        confusion=table(found.confusion),
        counts=table(found.counts),
        workers_posteriors=tuple(np.ascontiguousarray(p[:, level]) for p in found.workers_posteriors),
        extra=extra,
    )


@dataclass(frozen=True, kw_only=True)
class InRounds(OrderedAggregator):
    """Rounds of EM, each under the types that the last round's counts call for.

    Ends when no posterior moves by more than `tol` in a round, or after `max_iter` passes.
    """

    max_iter: Count = 500
    tol: NonNegative = 1e-3
    prior_class: NonNegative = 1.0

    def on_levels(self, annotations: Annotations, gold: Gold | None, run_: Run) -> Solution:
        """From the shares of the votes."""
        k = annotations.n_classes
        said = np.bincount(annotations.label, weights=annotations.weight, minlength=k).astype(np.float64)
        types = Types.start(k, said)
        data: Matrices = Passes(ConfusionModel(np.ones((k, k)), self.prior_class), run_.spread(annotations, gold))
        stats, before = data.start(), None
        belief = types.judge(stats.counts)
        traces: list[F8] = []
        passes, settled = 0, False
        while passes < self.max_iter and not settled:
            if len(traces) < LEARNING:  # then the prior stands, and EM settles under it
                types = types.learn(stats.counts, belief)
                data = data.under(self.under(types, stats))
            fit: Found = run(data, stats, max_iter=min(PASSES, self.max_iter - passes), tol=0.0)
            settled = data.moved(before, fit.params) <= self.tol
            before, stats = fit.params, fit.stats
            belief = types.judge(stats.counts)
            passes += fit.n_iter
            traces.append(fit.trace)
            if run_.callback is not None:
                run_.callback(passes, fit.objective)
        found = in_rounds(fit, data.posterior(fit.params), traces, passes, settled, {})
        return self.told(found, fit, types, belief)

    @abstractmethod
    def under(self, types: Types, stats: Stats) -> ConfusionModel:
        """The model of the next round."""

    def told(self, found: Solution, fit: Found, types: Types, belief: F8) -> Solution:
        """The solution with what is learnt of the workers' types."""
        grid = len(types.bias)
        tries = belief[:, :grid].sum(axis=1)
        own = belief[:, :grid] / np.maximum(tries, 1e-12)[:, None]
        bias, scale = own @ types.bias, np.exp(own @ np.log(types.scale))
        bias, scale = refined(fit.stats.counts, bias, scale, types.threshold)
        extra = {"bias": bias, "scale": scale, "spammer": 1 - tries}
        return replace(found, extra={**found.extra, **extra, "threshold": types.threshold})
