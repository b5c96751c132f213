"""The one EM loop: shards, gold clamping, convergence on the true objective, traces, safeguarded acceleration.

A model brings four functions; batch and sharded runs are drivers over the same four and give the same answer:

    stats(space, posterior)       additive over shards
    m_step(stats) -> params
    em_pass(params, space)        E-step fused with the statistics of its posterior
    log_prior_density(params)     so that the objective is the log posterior density, which EM never lowers
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ..kinds.classes.annotations import Annotations
from ..maths.kernels import EMPass, Stats, Workspace
from .squarem import extrapolate

F8 = npt.NDArray[np.float64]
P = TypeVar("P")
Callback = Callable[[int, float], None]


class EMModel(Protocol[P]):
    """What the loop needs to know of a model."""

    def stats(self, space: Workspace, posterior: F8) -> Stats:
        """Expected counts of a posterior, additive over shards."""

    def m_step(self, stats: Stats) -> P:
        """The best parameters for these counts."""

    def em_pass(self, params: P, space: Workspace) -> EMPass:
        """Posterior under the parameters, its counts, and the log-likelihood of the parameters."""

    def log_prior_density(self, params: P) -> float:
        """The log prior density of the parameters, up to a constant."""


@dataclass(frozen=True)
class Fit(Generic[P]):
    """Where the loop ended; `posterior` is the E-step under `params`, so labels and parameters agree."""

    posterior: F8
    params: P
    stats: Stats
    trace: F8
    n_iter: int
    converged: bool

    @property
    def objective(self) -> float:
        """The objective at `params`."""
        return float(self.trace[-1])


class Shards(Generic[P]):
    """A model over the shards of one data set: statistics and likelihoods add up, posteriors stack."""

    def __init__(
        self, model: EMModel[P], annotations: Annotations, gold: npt.NDArray[np.int32] | None, n_shards: int
    ) -> None:
        self.model = model
        parts = [annotations] if n_shards == 1 else annotations.shards(n_shards)
        self.edges = np.cumsum([0, *(part.n_tasks for part in parts)])
        whole = Workspace.of(annotations, gold)
        self.spaces = (
            [whole]
            if len(parts) == 1
            else [
                Workspace.of(part, None if gold is None else gold[lo:hi], whole.compiled)
                for part, lo, hi in zip(parts, self.edges[:-1], self.edges[1:], strict=True)
            ]
        )

    def under(self, model: EMModel[P]) -> Shards[P]:
        """The same shards under another model."""
        other = copy(self)
        other.model = model
        return other

    def stats(self, posterior: F8) -> Stats:
        """Statistics of a posterior over all shards."""
        parts = zip(self.spaces, self.edges[:-1], self.edges[1:], strict=True)
        return reduce(add, (self.model.stats(space, posterior[lo:hi]) for space, lo, hi in parts))

    def em_pass(self, params: P) -> EMPass:
        """One pass over all shards."""
        passes = [self.model.em_pass(params, space) for space in self.spaces]
        if len(passes) == 1:
            return passes[0]
        posterior = np.concatenate([p.posterior for p in passes])
        for space, part in zip(self.spaces, passes, strict=True):
            space.give_back(part.posterior)
        return EMPass(posterior, reduce(add, (p.stats for p in passes)), sum(p.log_likelihood for p in passes))

    def give_back(self, sweep: EMPass) -> None:
        """Let later passes overwrite this one's posterior."""
        if len(self.spaces) == 1:
            self.spaces[0].give_back(sweep.posterior)


@dataclass(frozen=True)
class _State(Generic[P]):
    params: P
    sweep: EMPass
    objective: float


def run(
    data: Shards[P],
    start: Stats,
    *,
    max_iter: int,
    tol: float,
    accelerate: bool = False,
    callback: Callback | None = None,
) -> Fit[P]:
    """EM from the statistics of a starting posterior: an M-step first, then at most `max_iter` passes over the data.

    Stops when the objective's relative change falls below `tol`. With `accelerate`, two steps are followed by a
    SQUAREM leap, which is kept only where the objective ends higher than without it.
    """
    model, passes = data.model, 0

    def step(stats: Stats) -> _State[P]:
        nonlocal passes
        params = model.m_step(stats)
        sweep = data.em_pass(params)
        passes += 1
        state = _State(params, sweep, sweep.log_likelihood + model.log_prior_density(params))
        if callback is not None:
            callback(passes, state.objective)
        return state

    def cycle(state: _State[P]) -> _State[P]:
        one = step(state.sweep.stats)
        two = step(one.sweep.stats)
        data.give_back(one.sweep)
        leap = step(extrapolate(state.sweep.stats, one.sweep.stats, two.sweep.stats))
        kept, left = (leap, two) if leap.objective > two.objective else (two, leap)
        data.give_back(left.sweep)
        return kept

    state = step(start)
    trace = [state.objective]
    converged = False
    while passes < max_iter and not converged:
        leaps = accelerate and max_iter - passes >= 3
        data.give_back(state.sweep)
        state = cycle(state) if leaps else step(state.sweep.stats)
        trace.append(state.objective)
        converged = abs(trace[-1] - trace[-2]) <= tol * max(1.0, abs(trace[-1]))
    return Fit(state.sweep.posterior, state.params, state.sweep.stats, np.array(trace), passes, converged)


def best_of(runs: Iterable[Fit[P]]) -> Fit[P]:
    """The run with the highest objective; of equals the first."""
    return max(runs, key=lambda fit: fit.objective)
