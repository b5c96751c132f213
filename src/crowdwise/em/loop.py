"""The one EM loop: convergence on the true objective, traces, safeguarded acceleration; and statistics that add up.

The loop sees a model's M-step and prior, and one function that passes over all data; shards are the engine's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from ..core.callback import Callback

F8 = npt.NDArray[np.float64]


class Statistics(Protocol):
    """What a pass gives, and where three steps of it point to."""

    def extrapolate(self, one: Self, two: Self) -> Self:
        """Where these, and those of the next two steps, point to."""


P = TypeVar("P")
T = TypeVar("T")
S = TypeVar("S", bound=Statistics)
S_in = TypeVar("S_in", contravariant=True)


class LoopModel(Protocol[P, S_in]):
    """What the loop needs to know of a model."""

    def maximise(self, stats: S_in, /) -> P:
        """The best parameters for these statistics."""

    def log_prior(self, params: P, /) -> float:
        """The log prior density of the parameters, up to a constant."""


@dataclass(frozen=True)
class Fit(Generic[P, S]):
    """Where the loop ended: `stats` are those of the pass under `params`."""

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
    of: S | None = None  # what the parameters were maximised from


@dataclass(frozen=True)
class LoopState(Generic[S]):
    """Where a loop stood: statistics under the parameters that `of` calls for, and the way there."""

    of: S
    stats: S
    trace: tuple[float, ...]
    passes: int


class Checkpointer(Protocol[S]):
    """Keeps where the loop stands, so that another process can go on from there."""

    def load(self) -> LoopState[S] | None:
        """Where it stood; None where it has not begun."""

    def save(self, checkpoint: LoopState[S], last: bool) -> None:
        """Keep it, always when it is the last; before, it may leave some out."""


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
    of: S | None = None,
    checkpointer: Checkpointer[S] | None = None,
) -> Fit[P, S]:
    """EM from given parameters: at most `max_iter` passes over the data, each followed by an M-step.

    Stops when the objective changes by less than `tol` times `per` (the objective itself when left out). With
    `accelerate`, two steps are followed by a SQUAREM leap, which is kept only where the objective ends higher than
    without it; the gain of all three together is then compared with `tol`. A `checkpointer` saves the state, including
    the statistics `of` which `start` is the maximiser: an interrupted loop resumes bit-identically.
    """
    checkpoint = None if checkpointer is None else checkpointer.load()
    passes = 0 if checkpoint is None else checkpoint.passes

    def sweep_at(params: P, of: S | None) -> _State[P, S]:
        nonlocal passes
        stats, log_likelihood = sweep(params)
        passes += 1
        state = _State(params, stats, log_likelihood + model.log_prior(params), of)
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
        if checkpointer is not None and state.of is not None:
            checkpointer.save(LoopState(state.of, state.stats, tuple(trace), passes), last)

    if checkpoint is None:
        state = sweep_at(start, of)
    else:
        state = _State(model.maximise(checkpoint.of), checkpoint.stats, checkpoint.trace[-1], checkpoint.of)
    trace = [state.objective] if checkpoint is None else list(checkpoint.trace)
    while passes < max_iter and not has_converged():
        save()
        leaps = accelerate and max_iter - passes >= 3
        state = cycle(state) if leaps else sweep_at(model.maximise(state.stats), state.stats)
        trace.append(state.objective)
    save(last=True)
    return Fit(state.params, state.stats, np.array(trace), passes, has_converged())


@dataclass(frozen=True)
class Additive:
    """Arrays that add up, field by field, and that SQUAREM can carry along the path of EM.

    The leap is taken in the space of expected counts, not of parameters: counts are linear, an M-step maps whatever
    comes out back into the model's own family, and one function serves one-coin and full matrices alike. The first
    field sets its length. Varadhan & Roland (2008), doi:10.1111/j.1467-9469.2007.00585.x.
    """

    def _arrays(self) -> list[F8]:
        return [getattr(self, field.name) for field in fields(self)]

    def __add__(self, other: Self) -> Self:
        return type(self)(*(a + b for a, b in zip(self._arrays(), other._arrays(), strict=True)))

    def extrapolate(self, one: Self, two: Self) -> Self:
        """What these statistics and those of the next two steps point to, kept non-negative."""
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
    """What adds up with its like."""

    def __add__(self, other: Self, /) -> Self: ...


A = TypeVar("A", bound=Adds)


def plus(a: A, b: A) -> A:
    """a + b, by name: a job on another machine must be sent there."""
    return a + b


def added(a: A, b: A) -> A:
    """a + b of sums that nobody else has: where they are arrays, in the place of the first."""
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
    """A sum along a fixed binary tree over the parts' numbers: the same bits whoever worked them out, and when.

    A node (start, height) is the sum of the parts start .. start + 2^height, start being a multiple of 2^height. Nodes
    may come in any order, single parts or sums of whole runs; two that make a greater one are added at once.
    """

    def __init__(self, add: Callable[[T, T], T]) -> None:
        self.add, self.nodes = add, dict[tuple[int, int], T]()

    def put(self, start: int, total: T, height: int = 0) -> None:
        """A part, or a node that somebody else has added up."""
        while (pair := (start ^ (1 << height), height)) in self.nodes:
            other = self.nodes.pop(pair)
            total = self.add(other, total) if pair[0] < start else self.add(total, other)
            start, height = min(start, pair[0]), height + 1
        self.nodes[start, height] = total

    def total(self) -> T:
        """The sum of everything; what is left without a partner is added from the last one on."""
        if not self.nodes:
            raise ValueError("there is nothing to add up")
        remaining = sorted(self.nodes, reverse=True)
        total = self.nodes[remaining[0]]
        for node in remaining[1:]:
            total = self.add(self.nodes[node], total)
        return total


def tree_sum(parts: Iterable[T], add: Callable[[T, T], T]) -> T:
    """The sum of parts that come in their order; no more than log2 of their number are held."""
    tree = Tree(add)
    for number, part in enumerate(parts):
        tree.put(number, part)
    return tree.total()
