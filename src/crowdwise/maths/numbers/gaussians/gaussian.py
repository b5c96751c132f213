"""Gaussian workers with a bias and a precision each, all of them drawn from one crowd.

    answer = y + b_m + noise,   b_m ~ N(0, s_b²),   noise ~ N(0, 1 / q_m),   q_m ~ Gamma(a, a s0²),   y flat

Variational EM over y, b and q (exact means of y and b given q); s_b², s0² and a >= 10 are fitted. The trace is the
evidence bound: it never falls while the cap on precisions stays, which changes only between stages. After Raykar et
al. (2010), JMLR 11, 1297-1322, whose plain model stands in plain_gaussian.py; the hierarchy and the cap keep workers
who always say the same from ruling the estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..fit import Fit, answered_prior, held, known, outward, relative
from ..linear import Linear
from ..rows import F8, Mask, Rows
from ..scaling import standardise
from ..simple import pooled_variance
from .passes import DOUBT, GAP, LOG_2PI, SQUARE, Message, Space, Stats
from .precision import MOST, Precision
from .spreads import FLOOR, settled
from .stages import Seen, in_stages


@dataclass(frozen=True, eq=False)
class Workers:
    """Posteriors of the workers' biases N(bias, doubt) and precisions, and the spread of biases in the crowd."""

    bias: F8
    doubt: F8
    spread: float  # s_b²
    precision: Precision

    def capped(self, cap: float) -> Workers:
        """With precisions under a cap."""
        return replace(self, precision=self.precision.capped(cap))

    def of_all(self) -> F8:
        """Logarithms of a, s0² and s_b²."""
        return np.log([self.precision.a, self.precision.variance, self.spread])

    def led_by(self, of_all: F8, stats: Stats, n: F8, strength: float) -> tuple[Workers, Stats]:
        """Under other numbers of the crowd."""
        a, variance, spread = np.exp(of_all)
        precision = self.precision.with_prior(float(np.clip(a, strength, MOST)), float(variance), n)
        return replace(self, spread=max(float(spread), FLOOR), precision=precision), stats


@dataclass(frozen=True, eq=False)
class BiasModel:
    """The model over rows, n[worker] answers of those who are heard; gold, where there is some, fixes where y lies."""

    space: Space
    n: F8
    heard: Mask
    strength: float
    taught: bool

    def sweep(self, state: Workers) -> tuple[Seen[Workers], float]:
        """A pass; the log density of the answers, tasks integrated out."""
        stats = self.space.accumulate(Message(state.precision.mean, state.bias))
        return Seen(stats, state, self.n, self.strength), rows_bound(state, stats, self.n)

    def maximise(self, seen: Seen[Workers]) -> Workers:
        """New biases, spread and precisions; without gold the biases are centred."""
        state = step(seen.under, seen.stats, self.n, self.heard, self.strength)
        return state if self.taught else centred(state, self.heard)

    def log_prior(self, state: Workers) -> float:
        """Minus the distances of biases and precisions from their priors."""
        return workers_bound(state, self.n, self.heard)


def gaussian(
    rows: Rows,
    gold: F8 | None = None,
    *,
    slope: bool = False,
    strength: float = 10.0,
    cap: float = 4.0,
    max_iter: int = 500,
    tol: float = 1e-7,
    shards: int = 1,
) -> Fit:
    """Fit biases and precisions (with `slope` also slopes).

    `strength` is the least a of the precisions' prior, `cap` the highest precision in units of the median one.
    """
    if slope:
        from .slopes import sloped

        return sloped(rows, gold, strength=strength, cap=cap, max_iter=max_iter, tol=tol, shards=shards)
    rows, gold, scale = standardise(rows.present(), gold)
    n, heard = rows.per_worker, rows.per_worker > 0
    model = BiasModel(Space.of(rows, gold, shards), n, heard, strength, bool(known(gold, rows.n_tasks).any()))
    found = in_stages(model, start(rows, gold, n, strength), n, heard, cap=cap, max_iter=max_iter, tol=tol)
    fit = describe(rows, gold, found.state, n, found.trace, found.converged)
    fit = replace(fit, n_iter=found.n_iter, extra={**fit.extra, "stage": found.stage})
    return outward(fit, scale)


def start(rows: Rows, gold: F8 | None, n: F8, strength: float) -> Workers:
    """No biases, one variance."""
    mean = held(rows.task_sum(rows.value) / np.maximum(rows.per_task, 1e-300), gold)
    noise = pooled_variance(rows, mean)
    precision = Precision.start(n, noise, strength)
    spread = max(noise / 4, FLOOR)
    doubt = 1 / (1 / spread + n * precision.mean)
    return Workers(np.zeros(rows.n_workers), doubt, spread, precision)


def step(state: Workers, stats: Stats, n: F8, heard: Mask, strength: float) -> Workers:
    """New biases with their spread, then precisions, from the sums of a pass."""
    gap, square, v = (stats.workers[:, k] for k in (GAP, SQUARE, DOUBT))

    def mean_square(spread: float) -> float:
        bias, doubt = biases(state, stats, n, heard, spread)
        return float((bias**2 + doubt)[heard].mean())

    spread = settled(mean_square, state.spread) if heard.any() else state.spread
    bias, doubt = biases(state, stats, n, heard, spread)
    moved = bias - state.bias
    error = np.maximum(square - 2 * moved * gap + n * moved**2, 0.0) + v + n * doubt
    return Workers(bias, doubt, spread, state.precision.update(n, error, heard, strength))


def biases(state: Workers, stats: Stats, n: F8, heard: Mask, spread: float) -> tuple[F8, F8]:
    """Means and variances of the biases under a spread."""
    q = state.precision.mean
    doubt = 1 / (1 / spread + n * q)
    # The gap is what is left after the old bias.
    return np.where(heard, doubt * q * (stats.workers[:, GAP] + n * state.bias), 0.0), doubt


def centred(state: Workers, heard: Mask) -> Workers:
    """Biases with mean 0. Only y + b is seen and y is flat: moving a constant from one to the other costs nothing,
    brings the biases nearer to their prior, and would else take EM thousands of rounds."""
    if not heard.any():
        return state
    bias = np.where(heard, state.bias - state.bias[heard].mean(), 0.0)
    return replace(state, bias=bias, spread=max(float((bias**2 + state.doubt)[heard].mean()), FLOOR))


def rows_bound(state: Workers, stats: Stats, n: F8) -> float:
    """The part of the evidence bound that speaks of the answers, tasks integrated out; E[log q] is the precisions'."""
    square = stats.workers[:, SQUARE] + n * state.doubt
    return float(stats.tasks[3]) - 0.5 * float((state.precision.mean * square).sum() + LOG_2PI * n.sum())


def workers_bound(state: Workers, n: F8, heard: Mask) -> float:
    """The part of the evidence bound that speaks of the workers."""
    b2 = (state.bias**2 + state.doubt)[heard]
    biases = 0.5 * float((np.log(state.doubt[heard] / state.spread) + 1 - b2 / state.spread).sum())
    return biases + state.precision.bound(n, heard)


def describe(rows: Rows, gold: F8 | None, state: Workers, n: F8, trace: F8, converged: bool) -> Fit:
    """Estimates under what was learnt; a task's variance counts the doubt about the biases it was freed of."""
    heard = rows.per_worker > 0
    q = state.precision.mean
    crowd = float(q[heard].mean()) if heard.any() else 1.0
    q = np.where(heard, q, crowd)
    doubt = np.where(heard, state.doubt, state.spread)
    zero = (0.0, 1.0)
    mean, _ = Linear(q, q, q * state.bias, 0.0, 0.0, doubt, zero).judge(rows)
    prior = answered_prior(held(mean, gold), rows.per_task > 0)
    judge = Linear(q, q, q * state.bias, 0.0, 0.0, doubt, prior)
    mean, variance = judge.judge(rows)
    mean, variance = held(mean, gold), np.where(known(gold, rows.n_tasks), 0.0, variance)
    noise, free = state.precision.described(n, heard)
    extra = {
        "linear": judge, "bias_variance": state.spread, "bias_doubt": doubt, "strength": state.precision.a,
        "noise": state.precision.variance, "cap": state.precision.cap, "precision": q, "strength_of_spread": free,
    }  # fmt: skip
    ones = np.ones(rows.n_workers)
    return Fit("gaussian", mean, variance, state.bias, np.sqrt(noise), ones, relative(q, rows), trace, len(trace),
               converged, extra)  # fmt: skip
