"""EM over the shards of a data set; the loop itself is in em/loop.py.

A model has five functions, and every driver runs the same five:

    start(shard) -> S                               initial additive statistics
    accumulate(params, shard) -> S, log-likelihood  E-step and the statistics of its posterior, in one pass
    maximise(S) -> params
    log_prior(params)                               makes the objective the log posterior density, which never falls
    posterior(params, shard)                        computed once, after the loop

Passes return statistics only, so the data sent from shards to the loop do not grow with the number of tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from ..core.arrays import F8
from ..core.callback import Callback
from .drivers import Jobs
from .journal import current
from .kernels.memory import Memory
from .loop import Fit, LoopModel, Statistics, added, climb, plus

__all__ = ["Callback", "EMModel", "Fit", "Passes", "best_of", "posterior_under", "run"]


class AdditiveStatistics(Statistics, Protocol):
    """Statistics that add up over shards."""

    def __add__(self, other: Self, /) -> Self: ...


class Shard(Protocol):
    """A part of the data, prepared for passes."""

    @property
    def memory(self) -> Memory:
        """Cache of the shard's posteriors."""


P = TypeVar("P")
S = TypeVar("S", bound=AdditiveStatistics)
W = TypeVar("W", bound=Shard)
W_in = TypeVar("W_in", bound=Shard, contravariant=True)


class EMModel(LoopModel[P, S], Protocol[W_in, P, S]):
    """A model that is fitted by passes over shards."""

    def start(self, shard: W_in) -> S:
        """Return the initial statistics."""

    def accumulate(self, params: P, shard: W_in) -> tuple[S, float]:
        """Return the statistics of the posterior under the parameters, and their log-likelihood."""

    def posterior(self, params: P, shard: W_in) -> F8:
        """Return posterior[task, class] under the parameters."""


class Passes(Generic[W, P, S]):
    """A model over all shards of a data set."""

    def __init__(self, model: EMModel[W, P, S], driver: Jobs[W]) -> None:
        self.model, self.driver = model, driver

    def under(self, model: EMModel[W, P, S]) -> Passes[W, P, S]:
        """Return the passes of another model over the same shards."""
        other = copy(self)
        other.model = model
        return other

    def start(self, begin: Callable[[W], S] | None = None) -> S:
        """Return the initial statistics, by the model's own start or another one."""
        return self.driver.sum(self.model.start if begin is None else begin, plus)

    def accumulate(self, params: P) -> tuple[S, float]:
        """Make one pass over all shards."""
        return self.driver.sum(partial(_pass, self.model, params), _both)

    def posterior(self, params: P) -> F8:
        """Return posterior[task, class] of all tasks as a new array."""
        parts = list(self.driver.map(partial(posterior_under, self.model, params)))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def moved(self, before: P | None, after: P) -> float:
        """Return the largest change of any posterior between two sets of parameters; infinite from None."""
        return max(self.driver.map(partial(_moved, self.model, before, after)))


def _both(a: tuple[S, float], b: tuple[S, float]) -> tuple[S, float]:
    return added(a[0], b[0]), a[1] + b[1]


def _pass(model: EMModel[W, P, S], params: P, shard: W) -> tuple[S, float]:
    result = model.accumulate(params, shard)
    shard.memory.last_params = params
    return result


def posterior_under(model: EMModel[W, P, Any], params: P, shard: W) -> F8:
    """Return the posterior of a shard's tasks as a new array, from the cache of the last pass if it is there."""
    cached = shard.memory.recall(params)
    return model.posterior(params, shard) if cached is None else cached


def _moved(model: EMModel[W, P, Any], before: P | None, after: P, shard: W) -> float:
    now, moved = posterior_under(model, after, shard), np.inf
    if before is not None:
        moved = float(np.abs(now - posterior_under(model, before, shard)).max(initial=0.0))
    shard.memory.keep(after, now)
    return moved


def run(
    data: Passes[W, P, S],
    start: S,
    *,
    max_iter: int,
    tol: float,
    accelerate: bool = False,
    callback: Callback | None = None,
) -> Fit[P, S]:
    """Run EM from given statistics: an M-step, then the loop (`loop.climb`). Within a journal its state is saved."""
    journal = current.get()
    return climb(
        data.model,
        data.accumulate,
        data.model.maximise(start),
        max_iter=max_iter,
        tol=tol,
        accelerate=accelerate,
        callback=callback,
        previous=start,
        checkpointer=None if journal is None else journal.checkpointer(start),
    )


def best_of(runs: Iterable[Fit[P, S]]) -> Fit[P, S]:
    """Return the fit with the highest objective, the first of equals."""
    return max(runs, key=lambda fit: fit.objective)
