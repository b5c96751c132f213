"""The EM loop: convergence on the true objective, traces, safeguarded acceleration; and additive statistics.

The loop uses a model's M-step and prior, and one function that passes over all data; passes.py handles the shards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from ..core.arrays import F8
from ..core.callback import Callback


class Statistics(Protocol):
    """Result of a pass, which can be extrapolated."""

    def extrapolate(self, one: Self, two: Self) -> Self:
        """Extrapolate from these statistics and those of the next two steps."""


P = TypeVar("P")
T = TypeVar("T")
S = TypeVar("S", bound=Statistics)
S_in = TypeVar("S_in", contravariant=True)


class LoopModel(Protocol[P, S_in]):
    """The part of a model that the loop uses."""

    def maximise(self, stats: S_in, /) -> P:
        """Return the best parameters for these statistics."""

    def log_prior(self, params: P, /) -> float:
        """Return the log prior density of the parameters, up to a constant."""


@dataclass(frozen=True)
class Fit(Generic[P, S]):
    """Result of the loop; `stats` are those of the pass under `params`."""

    params: P
    stats: S
    trace: F8
    n_iter: int
    converged: bool

    @property
    def objective(self) -> float:
        """The objective at `params`."""
        return float(self.trace[-1])


@dataclass(frozen=True)
class _State(Generic[P, S]):
    params: P
    stats: S
    objective: float
    previous: S | None = None  # the statistics from which the parameters were maximised


@dataclass(frozen=True)
class LoopState(Generic[S]):
    """State of a loop: the statistics under the parameters maximised from the `previous` ones, and the trace so far."""

    previous: S
    stats: S
    trace: tuple[float, ...]
    passes: int


class Checkpointer(Protocol[S]):
    """Saves the state of the loop, so that another process can resume it."""

    def load(self) -> LoopState[S] | None:
        """Return the saved state; None if there is none."""

    def save(self, checkpoint: LoopState[S], last: bool) -> None:
        """Save a state; only the last one must not be skipped."""


def climb(
    model: LoopModel[P, S],
    sweep: Callable[[P], tuple[S, float]],
    start: P,
    *,
    max_iter: int,
    tol: float,
    per: float | None = None,
    accelerate: bool = False,
    callback: Callback | None = None,
    previous: S | None = None,
    checkpointer: Checkpointer[S] | None = None,
) -> Fit[P, S]:
    """Run EM from given parameters: at most `max_iter` passes over the data, each followed by an M-step.

    Stops when the objective changes by less than `tol` times `per` (by default the objective itself). With
    `accelerate`, two steps are followed by a SQUAREM extrapolation, which is kept only if it increases the objective;
    the gain of all three together is then compared with `tol`. A `checkpointer` saves the state, including the
    `previous` statistics, from which `start` was maximised: an interrupted loop resumes bit-identically.
    """
    checkpoint = None if checkpointer is None else checkpointer.load()
    passes = 0 if checkpoint is None else checkpoint.passes

    def sweep_at(params: P, previous: S | None) -> _State[P, S]:
        nonlocal passes
        stats, log_likelihood = sweep(params)
        passes += 1
        state = _State(params, stats, log_likelihood + model.log_prior(params), previous)
        if callback is not None:
            callback(passes, state.objective)
        return state

    def cycle(state: _State[P, S]) -> _State[P, S]:
        first = sweep_at(model.maximise(state.stats), state.stats)
        second = sweep_at(model.maximise(first.stats), first.stats)
        extrapolated = state.stats.extrapolate(first.stats, second.stats)
        jump = sweep_at(model.maximise(extrapolated), extrapolated)
        return jump if jump.objective > second.objective else second

    def has_converged() -> bool:
        size = max(1.0, abs(trace[-1]) if per is None else per)
        return len(trace) > 1 and abs(trace[-1] - trace[-2]) <= tol * size

    def save(last: bool = False) -> None:
        if checkpointer is not None and state.previous is not None:
            checkpointer.save(LoopState(state.previous, state.stats, tuple(trace), passes), last)

    if checkpoint is None:
        state = sweep_at(start, previous)
    else:
        params = model.maximise(checkpoint.previous)
        state = _State(params, checkpoint.stats, checkpoint.trace[-1], checkpoint.previous)
    trace = [state.objective] if checkpoint is None else list(checkpoint.trace)
    while passes < max_iter and not has_converged():
        save()
        extrapolates = accelerate and max_iter - passes >= 3
        state = cycle(state) if extrapolates else sweep_at(model.maximise(state.stats), state.stats)
        trace.append(state.objective)
    save(last=True)
    return Fit(state.params, state.stats, np.array(trace), passes, has_converged())


@dataclass(frozen=True)
class Additive:
    """Arrays that are added field by field and extrapolated by SQUAREM.

    The extrapolation is in the space of expected counts, not of parameters: counts are linear, an M-step maps any
    counts into the model's family, and one function serves one-coin and full matrices. The first field determines the
    step length. Varadhan & Roland (2008), doi:10.1111/j.1467-9469.2007.00585.x.
    """

    def _arrays(self) -> list[F8]:
        return [getattr(self, field.name) for field in fields(self)]

    def __add__(self, other: Self) -> Self:
        return type(self)(*(a + b for a, b in zip(self._arrays(), other._arrays(), strict=True)))

    def extrapolate(self, one: Self, two: Self) -> Self:
        """Extrapolate from these statistics and those of the next two steps; the result is non-negative."""
        s0, s1, s2 = self._arrays(), one._arrays(), two._arrays()
        first = [b - a for a, b in zip(s0, s1, strict=True)]
        second = [c - b - d for b, c, d in zip(s1, s2, first, strict=True)]
        bend = float(np.sum(second[0] ** 2))
        if bend == 0.0:
            return two
        # Step length of scheme S3; -1 would be the plain step.
        alpha = min(-np.sqrt(float(np.sum(first[0] ** 2)) / bend), -1.0)
        leap = (a - 2 * alpha * d + alpha**2 * e for a, d, e in zip(s0, first, second, strict=True))
        return type(self)(*(np.maximum(a, 0.0) for a in leap))


class Adds(Protocol):
    """A type with an addition."""

    def __add__(self, other: Self, /) -> Self: ...


A = TypeVar("A", bound=Adds)


def plus(a: A, b: A) -> A:
    """Return a + b; unlike a lambda, this function can be sent to other processes."""
    return a + b


def added(a: A, b: A) -> A:
    """Return a + b of sums that are not used elsewhere: arrays are added in place."""
    pairs = _pairs(a, b)
    if not all(a_array.flags.writeable and a_array.dtype == b_array.dtype for a_array, b_array in pairs):
        pairs = []
    for a_array, b_array in pairs:
        a_array += b_array
    return a if pairs else a + b


def _pairs(a: object, b: object) -> list[tuple[F8, F8]]:
    if not isinstance(a, Additive) or not isinstance(b, Additive):
        return []
    return list(zip(a._arrays(), b._arrays(), strict=True))


class Tree(Generic[T]):
    """A sum along a fixed binary tree over the parts' numbers, so that its bits do not depend on the order of arrival.

    A node (start, height) is the sum of the parts start .. start + 2^height, with start a multiple of 2^height. Nodes
    may arrive in any order, as single parts or sums of runs; two siblings are added at once.
    """

    def __init__(self, add: Callable[[T, T], T]) -> None:
        self.add, self.nodes = add, dict[tuple[int, int], T]()

    def put(self, start: int, total: T, height: int = 0) -> None:
        """Add a part, or a node of parts that are added up already."""
        while (pair := (start ^ (1 << height), height)) in self.nodes:
            other = self.nodes.pop(pair)
            total = self.add(other, total) if pair[0] < start else self.add(total, other)
            start, height = min(start, pair[0]), height + 1
        self.nodes[start, height] = total

    def total(self) -> T:
        """Return the sum of all nodes; nodes without a sibling are added from the last one on."""
        if not self.nodes:
            raise ValueError("there is nothing to add up")
        remaining = sorted(self.nodes, reverse=True)
        total = self.nodes[remaining[0]]
        for node in remaining[1:]:
            total = self.add(self.nodes[node], total)
        return total


def tree_sum(parts: Iterable[T], add: Callable[[T, T], T]) -> T:
    """Return the sum of parts that arrive in order; at most log2 of their number are held in memory."""
    tree = Tree(add)
    for number, part in enumerate(parts):
        tree.put(number, part)
    return tree.total()
