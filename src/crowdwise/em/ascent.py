"""Ascent on a smooth objective by preconditioned L-BFGS: for models whose M-step has no closed form.

The gradient of a marginal log-likelihood is that of its EM bound at the current posterior (Fisher's identity), so the
marginal is maximised directly, without an inner loop. The objective also returns a positive curvature for every
parameter (the diagonal of the complete-data information). It preconditions the steps, so that parameters with ten
thousand labels and with three take steps of suitable size. Every step satisfies Armijo's condition, so the trace never
falls.
Nocedal & Wright (2006), Numerical Optimization, algorithm 7.4, doi:10.1007/978-0-387-40065-5.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.arrays import F8
from ..core.callback import Callback
from .journal import LoopCheckpoint, loop_checkpoint

MEMORY = 10
# Most halvings of a step; a smaller step fails because of rounding.
HALVINGS = 30


@dataclass(frozen=True)
class Point:
    """The objective at x: value, gradient, and a positive curvature of each parameter."""

    value: float
    gradient: F8
    curvature: F8


@dataclass(frozen=True)
class Step:
    """A step: the change of x, the change of the gradient, and their product."""

    moved: F8
    turned: F8
    along: float


@dataclass(frozen=True)
class Climb:
    """The maximum, and the objective after each step."""

    x: F8
    trace: F8
    n_iter: int
    converged: bool


def climb(
    objective: Callable[[F8], Point],
    start: F8,
    *,
    max_iter: int,
    tol: float,
    reach: float = 0.5,
    callback: Callback | None = None,
) -> Climb:
    """Maximise from `start`; stops when a step's relative gain falls below `tol`.

    No parameter changes by more than `reach` in a step, because a larger one could end at a mirror image of the
    solution with permuted classes. Within a journal the state is saved, and an interrupted ascent resumes with the same
    bits.
    """
    checkpoint = loop_checkpoint()
    memory: deque[Step] = deque(maxlen=MEMORY)
    x, point, trace, converged = _resumed_state(checkpoint, memory) or _initial_state(objective, start)
    while len(trace) <= max_iter and not converged:
        direction = _direction(point, memory)
        direction *= min(1.0, reach / max(float(np.abs(direction).max(initial=0.0)), 1e-300))
        slope = dot(direction, point.gradient)
        step = 1.0
        for _ in range(HALVINGS):
            candidate = objective(x + step * direction)
            if candidate.value >= point.value + 1e-4 * step * slope:
                break
            step /= 2
        else:
            converged = not memory  # there is no gain even along the plain gradient
            memory.clear()
            if converged:
                break
            continue
        moved, gradient_change = step * direction, point.gradient - candidate.gradient
        along = dot(moved, gradient_change)
        if along > 1e-10 * np.sqrt(dot(moved, moved) * dot(gradient_change, gradient_change)):
            memory.append(Step(moved, gradient_change, along))
        converged = candidate.value - point.value <= tol * max(1.0, abs(candidate.value))
        x, point = x + moved, candidate
        trace.append(point.value)
        _save(checkpoint, x, point, trace, converged, memory)
        if callback is not None:
            callback(len(trace) - 1, point.value)
    return Climb(x, np.array(trace), len(trace) - 1, converged)


_AscentState = tuple[F8, Point, list[float], bool]


def _initial_state(objective: Callable[[F8], Point], start: F8) -> _AscentState:
    point = objective(start)
    return start, point, [point.value], False


def _save(
    checkpoint: LoopCheckpoint, x: F8, point: Point, trace: list[float], converged: bool, memory: deque[Step]
) -> None:
    steps = {f"step{i}.{name}": value for i, step in enumerate(memory) for name, value in vars(step).items()}
    checkpoint.write(
        len(trace) - 1,
        converged,
        x=x,
        gradient=point.gradient,
        curvature=point.curvature,
        trace=trace,
        converged=converged,
        steps=len(memory),
        **steps,
    )


def _resumed_state(checkpoint: LoopCheckpoint, memory: deque[Step]) -> _AscentState | None:
    """Return the saved state and restore the steps in memory."""
    arrays = checkpoint.read()
    if arrays is None:
        return None
    for i in range(int(arrays["steps"])):
        memory.append(Step(arrays[f"step{i}.moved"], arrays[f"step{i}.turned"], float(arrays[f"step{i}.along"])))
    trace = arrays["trace"].tolist()
    return arrays["x"], Point(trace[-1], arrays["gradient"], arrays["curvature"]), trace, bool(arrays["converged"])


def _direction(point: Point, memory: deque[Step]) -> F8:
    """Return the direction by the two-loop recursion; without memory, the gradient divided by the curvature."""
    direction, scratch = point.gradient.copy(), np.empty_like(point.gradient)
    used: list[tuple[Step, float]] = []
    for step in reversed(memory):
        share = dot(step.moved, direction) / step.along
        direction -= np.multiply(step.turned, share, out=scratch)
        used.append((step, share))
    direction /= point.curvature
    if memory:
        last = memory[-1]
        direction *= last.along / dot(last.turned, np.divide(last.turned, point.curvature, out=scratch))
    for step, share in reversed(used):
        direction += np.multiply(step.moved, share - dot(step.turned, direction) / step.along, out=scratch)
    return direction


def dot(a: F8, b: F8) -> float:
    """Return a · b without BLAS, whose threads contend on a busy machine and change the last bits."""
    return float(np.einsum("i,i->", a, b))
