"""How the hierarchical Gaussian models are climbed: EM with leaps, in stages of a cap on precisions.

The crowd's variances and the strength of its precisions often want to go to nothing or to infinity (all workers alike),
and EM goes there by ever smaller steps. So two steps are followed by a leap of these few numbers, on the scale of their
logarithms (SQUAREM, Varadhan & Roland 2008, doi:10.1111/j.1467-9469.2007.00585.x); the workers' own follow from them.
A leap that does not pay is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from ....em.loop import climb
from .passes import Stats
from .precision import Precision
from .rows import F8, Mask

FLOOR = 1e-10  # of variances, in units of the answers' variance


HIGH = 1e6


def settled(square: Callable[[float], float], old: float) -> float:
    """The variance that is the mean square under its own posteriors, square(variance); FLOOR where none is.

    Looked for from the old one upward where the mean square exceeds it, else downward: the bound rises all the way.
    """
    from scipy.optimize import brentq

    def rise(log_v: float) -> float:
        return float(np.log(max(square(float(np.exp(log_v))), 1e-300)) - log_v)

    here, low, high = float(np.log(max(old, FLOOR))), float(np.log(FLOOR)), float(np.log(HIGH))
    up = rise(here) > 0
    step, near = 1.0, here
    while True:  # the first change of sign on this side
        far = min(near + step, high) if up else max(near - step, low)
        if (rise(far) > 0) != up:
            return float(np.exp(brentq(rise, min(near, far), max(near, far), xtol=1e-14, rtol=1e-14)))
        if far in (low, high):
            return float(np.exp(far))
        near, step = far, 2 * step


STAGES = 8


# No number grows or shrinks by more than e to this in a leap.
REACH = 5.0


class Crowd(Protocol):
    """What is believed of the workers."""

    @property
    def precision(self) -> Precision:
        """How precise they are."""

    def capped(self, cap: float) -> Self:
        """The same with precisions under a cap."""

    def of_all(self) -> F8:
        """The logarithms of the numbers that all workers share."""

    def led_by(self, of_all: F8, stats: Stats, n: F8, strength: float) -> tuple[Self, Stats]:
        """The same workers under other numbers of the crowd, given as logarithms, and a pass that speaks for these;
        n[worker] answers."""


C = TypeVar("C", bound=Crowd)


@dataclass(frozen=True, eq=False)
class Seen(Generic[C]):
    """The statistics of a pass, and what was believed when it was made: they are relative to it."""

    stats: Stats
    under: C
    n: F8
    strength: float

    def extrapolate(self, one: Seen[C], two: Seen[C]) -> Seen[C]:
        """The last pass, as if the crowd's numbers had gone on for long as they went in three steps."""
        h0, h1, h2 = (seen.under.of_all() for seen in (self, one, two))
        first = h1 - h0
        bend = h2 - h1 - first
        curve = float(np.sqrt(bend @ bend))
        if curve == 0:
            return two
        alpha = min(-float(np.sqrt(first @ first)) / curve, -1.0)
        there = np.clip(h0 - 2 * alpha * first + alpha**2 * bend, h2 - REACH, h2 + REACH)
        under, stats = two.under.led_by(there, two.stats, self.n, self.strength)
        return replace(two, under=under, stats=stats)


class StagedModel(Protocol[C]):
    """A model over rows, its statistics relative to what was believed."""

    def sweep(self, params: C, /) -> tuple[Seen[C], float]:
        """Statistics of a pass, and the part of the bound that needs them."""

    def maximise(self, stats: Seen[C], /) -> C:
        """What to believe after a pass."""

    def log_prior(self, params: C, /) -> float:
        """The rest of the bound."""


@dataclass(frozen=True, eq=False)
class Climbed(Generic[C]):
    """Where the last stage ended; stage[i] is that of trace[i]."""

    state: C
    trace: F8
    stage: F8
    n_iter: int
    converged: bool


def in_stages(
    model: StagedModel[C], state: C, n: F8, heard: Mask, *, cap: float, max_iter: int, tol: float
) -> Climbed[C]:
    """EM to the end, then under the cap that the precisions found call for, until it stays."""
    traces: list[F8] = []
    passes, converged, per = 0, False, max(float(n.sum()), 1.0)
    for _ in range(STAGES):
        fit = climb(model, model.sweep, state, max_iter=max_iter - passes, tol=tol, per=per, accelerate=True)
        state, passes, converged = fit.params, passes + fit.n_iter, fit.converged
        traces.append(fit.trace)
        limit = state.precision.limit(heard, cap)
        if limit is None:
            break
        if passes >= max_iter:
            converged = False
            break
        state = state.capped(limit)
    return Climbed(state, np.concatenate(traces), stages(traces), passes, converged)


def stages(traces: Sequence[F8]) -> F8:
    """The number of the trace of each entry of all traces."""
    return np.repeat(np.arange(len(traces)), [len(trace) for trace in traces])
