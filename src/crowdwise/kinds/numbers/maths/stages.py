"""Fitting of the hierarchical Gaussian models: accelerated EM in stages with a cap on the precisions.

The hyperparameters (population variances and the shape of the precisions' prior) often converge to zero or infinity
(identical workers), which EM approaches in ever smaller steps. After two EM steps their logarithms are therefore
extrapolated (SQUAREM, Varadhan & Roland 2008, doi:10.1111/j.1467-9469.2007.00585.x), and the worker parameters follow.
An extrapolation that does not increase the objective is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from ....core.arrays import F8, Mask
from ....em.loop import climb
from .passes import Message, PassStats, ShardedRows
from .precision import Precision
from .rows import NumberFit, NumberRows, gold_mask

# Bounds of the population variances, relative to the variance of the answers.
FLOOR, HIGH = 1e-10, 1e6


def fixed_point_variance(square: Callable[[float], float], old: float) -> float:
    """Variance that equals the mean square under its own posteriors, square(variance); FLOOR where there is none.

    The search starts at the old variance and goes up where the mean square exceeds it, otherwise down; the evidence
    bound increases along the way.
    """
    from scipy.optimize import brentq

    def rise(log_v: float) -> float:
        return float(np.log(max(square(float(np.exp(log_v))), 1e-300)) - log_v)

    log_old, low, high = float(np.log(max(old, FLOOR))), float(np.log(FLOOR)), float(np.log(HIGH))
    up = rise(log_old) > 0
    step, inner = 1.0, log_old
    while True:  # until the sign changes
        outer = min(inner + step, high) if up else max(inner - step, low)
        if (rise(outer) > 0) != up:
            return float(np.exp(brentq(rise, min(inner, outer), max(inner, outer), xtol=1e-14, rtol=1e-14)))
        if outer in (low, high):
            return float(np.exp(outer))
        inner, step = outer, 2 * step


STAGES = 8  # maximum number of stages
REACH = 5.0  # largest change of the log of a hyperparameter in one extrapolation


class WorkerState(Protocol):
    """Posteriors of the workers and the hyperparameters."""

    @property
    def precision(self) -> Precision:
        """Precisions of the workers."""

    def message(self) -> Message:
        """Return the worker parameters for a pass."""

    def updated(self, stats: PassStats, n: F8, active: Mask, strength: float) -> Self:
        """Update the posteriors and the hyperparameters from the statistics of a pass."""

    def centred(self, active: Mask) -> Self:
        """Reset what only the prior identifies, without a change of the likelihood."""

    def rows_bound(self, stats: PassStats, n: F8) -> float:
        """Part of the evidence bound that depends on the answers, with the tasks integrated out; without E[log q]."""

    def workers_bound(self, n: F8, active: Mask) -> float:
        """Part of the evidence bound that depends on the workers only."""

    def capped(self, cap: float) -> Self:
        """Apply a cap to the precisions."""

    def log_hyperparameters(self) -> F8:
        """Logarithms of the hyperparameters."""

    def with_hyperparameters(self, log_values: F8, stats: PassStats, n: F8, strength: float) -> tuple[Self, PassStats]:
        """Replace the hyperparameters (given as logarithms) and adjust the statistics of a pass to them."""


C = TypeVar("C", bound=WorkerState)


@dataclass(frozen=True, eq=False)
class SweepStats(Generic[C]):
    """Statistics of a pass, and the state under which they were computed."""

    stats: PassStats
    under: C
    n: F8
    strength: float

    def extrapolate(self, first_step: SweepStats[C], second_step: SweepStats[C]) -> SweepStats[C]:
        """Extrapolate the hyperparameters from three consecutive passes and apply them to the last one."""
        h0, h1, h2 = (step.under.log_hyperparameters() for step in (self, first_step, second_step))
        first = h1 - h0
        bend = h2 - h1 - first
        curve = float(np.sqrt(bend @ bend))
        if curve == 0:
            return second_step
        alpha = min(-float(np.sqrt(first @ first)) / curve, -1.0)
        target = np.clip(h0 - 2 * alpha * first + alpha**2 * bend, h2 - REACH, h2 + REACH)
        under, stats = second_step.under.with_hyperparameters(target, second_step.stats, self.n, self.strength)
        return replace(second_step, under=under, stats=stats)


@dataclass(frozen=True, eq=False)
class HierarchicalModel(Generic[C]):
    """A hierarchical model of the rows. Without gold, the free level (and scale) of y is reset after each step.

    Args:
        rows: The rows with gold.
        n: Number of answers of each worker.
        active: Workers with at least one answer.
        strength: Minimum shape of the prior of the precisions.
        has_gold: Whether any task has gold.
    """

    rows: ShardedRows
    n: F8
    active: Mask
    strength: float
    has_gold: bool

    def sweep(self, state: C) -> tuple[SweepStats[C], float]:
        """Run a pass; return its statistics and the log density of the answers with the tasks integrated out."""
        stats = self.rows.accumulate(state.message())
        return SweepStats(stats, state, self.n, self.strength), state.rows_bound(stats, self.n)

    def maximise(self, stats: SweepStats[C]) -> C:
        """Update the parameters from the statistics of a pass."""
        state = stats.under.updated(stats.stats, self.n, self.active, self.strength)
        return state if self.has_gold else state.centred(self.active)

    def log_prior(self, state: C) -> float:
        """Negative divergence of the posteriors of the workers from their priors."""
        return state.workers_bound(self.n, self.active)


@dataclass(frozen=True, eq=False)
class StagedFit(Generic[C]):
    """Final state of the last stage; stage[i] is the stage of trace[i]."""

    state: C
    trace: F8
    stage: F8
    n_iter: int
    converged: bool

    def completed(self, fit: NumberFit) -> NumberFit:
        """Return a fit with the number of iterations and the stages."""
        return replace(fit, n_iter=self.n_iter, extra={**fit.extra, "stage": self.stage})


def fit_in_stages(
    rows: NumberRows, gold: F8 | None, state: C, *, strength: float, cap: float, max_iter: int, tol: float, shards: int
) -> StagedFit[C]:
    """Run EM to convergence, then again under the cap implied by the precisions, until the cap stays the same."""
    n, active = rows.per_worker, rows.per_worker > 0
    has_gold = bool(gold_mask(gold, rows.n_tasks).any())
    model = HierarchicalModel[C](ShardedRows.of(rows, gold, shards), n, active, strength, has_gold)
    traces: list[F8] = []
    passes, converged, per = 0, False, max(float(n.sum()), 1.0)
    for _ in range(STAGES):
        fit = climb(model, model.sweep, state, max_iter=max_iter - passes, tol=tol, per=per, accelerate=True)
        state, passes, converged = fit.params, passes + fit.n_iter, fit.converged
        traces.append(fit.trace)
        limit = state.precision.limit(active, cap)
        if limit is None:
            break
        if passes >= max_iter:
            converged = False
            break
        state = state.capped(limit)
    return StagedFit(state, np.concatenate(traces), stages(traces), passes, converged)


def stages(traces: Sequence[F8]) -> F8:
    """Stage of each entry of the concatenated traces."""
    return np.repeat(np.arange(len(traces)), [len(trace) for trace in traces])
