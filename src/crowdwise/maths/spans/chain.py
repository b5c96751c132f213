"""Chains: a hidden label for every unit of a text, in order, and workers who repeat it with errors.

States and labels are 0 outside, 1 + 2·tag where a span begins, 2 + 2·tag inside one. A span cannot go on that has not
begun: outside → inside, and inside of another tag than before, never happen.

    z_1 ~ start,  z_i | z_{i-1} ~ move[z_{i-1}],  y_wi | z_i = k ~ A[w, previous, ., k]

`previous` is nothing (HMM-Crowd) or the worker's own label one unit earlier (BSC-seq). Fitted by EM with pseudo-counts,
or by variational Bayes with Dirichlet priors on everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .rows import F8, I8, summed
from .units import Cells, Units

I4 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class ChainData:
    """Tasks as chains of units, rows sorted by task, and what the rows say; known[unit] is a state or -1."""

    units: Units
    cells: Cells
    row_offsets: I8
    worker: I4
    weight: F8
    n_workers: int
    n_tags: int
    known: I8

    @property
    def n_states(self) -> int:
        """Outside, and begin and inside of every tag."""
        return 1 + 2 * self.n_tags


@dataclass(frozen=True, eq=False)
class ChainFit:
    """What was learnt: a[worker, previous, label, state], start[state], move[state, state] as probabilities, the
    posterior q[unit, state], and the objective of each round."""

    a: F8
    start: F8
    move: F8
    q: F8
    trace: F8
    converged: bool


def allowed(n_tags: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """(start[state], move[state, state]): what may come first, and what after what."""
    k = 1 + 2 * n_tags
    state = np.arange(k)
    inside = (state > 0) & (state % 2 == 0)
    tag = (state + 1) // 2
    move = ~inside[None, :] | ((tag[:, None] == tag[None, :]) & (tag[:, None] > 0))
    return ~inside, move


def pass_(data: ChainData, log_a: F8, start: F8, move: F8, q: F8) -> tuple[float, F8, F8, F8]:
    """(log-likelihood, counts like log_a, first[state], steps[state, state]); the posterior is written into q."""
    from ..kernels.spans_compiled import sweep

    counts, first, steps = np.zeros_like(log_a), np.zeros_like(start), np.zeros_like(move)
    total = sweep(
        data.units.offsets, data.row_offsets, data.cells.offsets, data.worker, data.cells.label, log_a, start, move,
        data.known, data.weight, q, counts, first, steps, 0, len(data.units.offsets) - 1,
    )  # fmt: skip
    return float(total), counts, first, steps * move


def shares_of_states(data: ChainData, pseudo: float = 0.1) -> F8:
    """The start of every fit: how often each label was said of a unit, a little of every other mixed in."""
    k, n = data.n_states, len(data.units)
    cell = data.cells.unit * k + data.cells.label
    q = summed(cell, data.weight[data.cells.row], n * k).reshape(n, k) + pseudo / k
    q /= np.maximum(q.sum(axis=1, keepdims=True), 1e-300)
    told = data.known >= 0
    q[told] = np.eye(k)[data.known[told]]
    return np.asarray(q)


def counts_of(data: ChainData, q: F8, previous: bool) -> F8:
    """counts[worker, previous, label, state] of a posterior."""
    from ..kernels.spans_compiled import gather

    k = data.n_states
    counts = np.zeros((data.n_workers, k if previous else 1, k, k))
    gather(data.units.offsets, data.row_offsets, data.cells.offsets, data.worker, data.cells.label, data.weight, q,
           counts)  # fmt: skip
    return counts


# (counts, first, steps) -> the tables that the E-step takes, and what the objective adds to the log-likelihood.
Step = Callable[[F8, F8, F8], tuple[F8, F8, F8, float]]


def fit(
    data: ChainData, step: Step, *, previous: bool, max_iter: int, tol: float, start: F8 | None = None
) -> tuple[F8, F8, F8, F8, F8, bool]:
    """Rounds until no posterior moves by more than tol: (posterior, counts, first, steps, trace, settled).

    `start` is the posterior to begin with, shares of the labels unless given.
    """
    q = shares_of_states(data) if start is None else start.copy()
    counts = counts_of(data, q, previous)
    has = np.diff(data.units.offsets) > 0
    begin = data.units.offsets[:-1][has]
    first = q[begin].sum(axis=0)
    inner = np.ones(len(q), dtype=bool)
    inner[begin] = False
    after = np.flatnonzero(inner)
    steps = q[after - 1].T @ q[after]
    trace: list[float] = []
    settled = False
    while len(trace) < max_iter and not settled:
        log_a, begin_with, move, extra = step(counts, first, steps)
        before = q.copy()
        loglik, counts, first, steps = pass_(data, log_a, begin_with, move, q)
        trace.append(loglik + extra)
        settled = float(np.abs(q - before).max(initial=0.0)) <= tol
    return q, counts, first, steps, np.array(trace), settled


def viterbi(units: Units, score: F8, start: F8, move: F8, n_tags: int) -> I8:
    """The likeliest path that never does what is forbidden; start and move are logarithms."""
    from ..kernels.spans_compiled import best_path

    first, then = allowed(n_tags)
    out = np.zeros(len(units), dtype=np.int64)
    with np.errstate(divide="ignore"):
        best_path(units.offsets, np.ascontiguousarray(score), np.where(first, start, -np.inf),
                  np.where(then, move, -np.inf), out)  # fmt: skip
    return out
