"""EM over the shards of a data set; the loop itself stands in em/loop.py.

A model brings four functions, and one for the end; every way of running them is a driver over the same five:

    start(shard) -> S                               additive statistics to begin with
    accumulate(params, shard) -> S, log-likelihood  E-step and the statistics of its posterior, in one pass
    maximise(S) -> params
    log_prior(params)                               so that the objective is the log posterior density: it never falls
    posterior(params, shard)                        made once, when the loop has ended

Passes return statistics only: what goes from shard to loop does not grow with the number of tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from ..core.callback import Callback
from .drivers import Jobs
from .journal import current
from .kernels.memory import Memory
from .loop import Fit, Statistics, added, climb, plus

F8 = npt.NDArray[np.float64]
__all__ = ["Callback", "EMModel", "Fit", "Passes", "best_of", "posterior_under", "run"]


class AdditiveStatistics(Statistics, Protocol):
    """Statistics that add up over shards."""

    def __add__(self, other: Self, /) -> Self: ...


class Shard(Protocol):
    """A part of the data, ready for passes."""

    @property
    def memory(self) -> Memory:
        """What it remembers of its posteriors; it may forget."""


P = TypeVar("P")
S = TypeVar("S", bound=AdditiveStatistics)
W = TypeVar("W", bound=Shard)
W_in = TypeVar("W_in", bound=Shard, contravariant=True)


class EMModel(Protocol[W_in, P, S]):
    """What the loop needs to know of a model."""

    def start(self, shard: W_in) -> S:
        """Statistics to begin with."""

    def accumulate(self, params: P, shard: W_in) -> tuple[S, float]:
        """Statistics of the posterior under the parameters, and their log-likelihood."""

    def maximise(self, stats: S, /) -> P:
        """The best parameters for these statistics."""

    def log_prior(self, params: P, /) -> float:
        """The log prior density of the parameters, up to a constant."""

    def posterior(self, params: P, shard: W_in) -> F8:
        """posterior[task, class] under the parameters."""


class Passes(Generic[W, P, S]):
    """A model over all shards of a data set."""

    def __init__(self, model: EMModel[W, P, S], driver: Jobs[W]) -> None:
        self.model, self.driver = model, driver

    def under(self, model: EMModel[W, P, S]) -> Passes[W, P, S]:
        """The same shards under another model."""
        other = copy(self)
        other.model = model
        return other

    def start(self, begin: Callable[[W], S] | None = None) -> S:
        """Statistics to begin with, by the model's own start or another."""
        return self.driver.sum(self.model.start if begin is None else begin, plus)

    def accumulate(self, params: P) -> tuple[S, float]:
        """One pass over all shards."""
        return self.driver.sum(partial(_pass, self.model, params), _both)

    def posterior(self, params: P) -> F8:
        """posterior[task, class] of all tasks, an array of your own."""
        parts = list(self.driver.map(partial(posterior_under, self.model, params)))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def moved(self, before: P | None, after: P) -> float:
        """The most that any task's posterior moves from one set of parameters to the other; infinite from None."""
        return max(self.driver.map(partial(_moved, self.model, before, after)))


def _both(a: tuple[S, float], b: tuple[S, float]) -> tuple[S, float]:
    return added(a[0], b[0]), a[1] + b[1]


def _pass(model: EMModel[W, P, S], params: P, shard: W) -> tuple[S, float]:
    result = model.accumulate(params, shard)
    shard.memory.last_params = params
    return result


def posterior_under(model: EMModel[W, P, Any], params: P, shard: W) -> F8:
    """The posterior of a shard's tasks, an array of your own; where the last pass has left it, it is not made again."""
    remembered = shard.memory.recall(params)
    return model.posterior(params, shard) if remembered is None else remembered


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
    """EM from given statistics: an M-step first, then the loop (`maths.em.climb`). Within a journal it is kept."""
    journal = current.get()
    return climb(
        data.model,
        data.accumulate,
        data.model.maximise(start),
        max_iter=max_iter,
        tol=tol,
        accelerate=accelerate,
        callback=callback,
        of=start,
        checkpointer=None if journal is None else journal.checkpointer(start),
    )


def best_of(runs: Iterable[Fit[P, S]]) -> Fit[P, S]:
    """The run with the highest objective; of equals the first."""
    return max(runs, key=lambda fit: fit.objective)
