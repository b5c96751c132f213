"""Gaussian workers with heavy tails: Student-t noise as a scale mixture, one scale per answer.

    answer = y + b_m + noise,   noise | u ~ N(0, 1 / (u q_m)),   u ~ Gamma(df / 2, df / 2),   the rest as in gaussian.py

Variational EM; u is integrated out in the trace, which never falls. Lange, Little & Taylor (1989),
doi:10.1080/01621459.1989.10478852.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..fit import Fit, known, outward
from ..rows import F8, Rows
from ..scaling import standardise
from .gaussian import Workers, centred, describe, start, step, workers_bound
from .passes import COMPILED_FROM, DOUBT, GAP, LOG_2PI, SQUARE, Message, Stats, sweep

DF = 5.0


def student(
    rows: Rows,
    gold: F8 | None = None,
    *,
    df: float = DF,
    strength: float = 10.0,
    max_iter: int = 500,
    tol: float = 1e-7,
) -> Fit:
    """Fit biases and precisions under noise with `df` degrees of freedom."""
    rows, gold, scale = standardise(rows.present(), gold)
    n, heard = rows.per_worker, rows.per_worker > 0
    state = start(rows, gold, n, strength)
    taught = bool(known(gold, rows.n_tasks).any())
    u = np.ones(len(rows))
    trace: list[float] = []
    converged = False
    while len(trace) < max_iter:
        weighed, message = scaled(rows, u), Message(state.precision.mean, state.bias)
        mean, variance, stats = sweep(weighed, gold, message, len(rows) >= COMPILED_FROM)
        size = weighed.per_worker
        state = _step(state, stats, n, size, heard, strength)
        if not taught:
            middle = float(state.bias[heard].mean()) if heard.any() else 0.0
            state, mean = centred(state, heard), mean + middle
        u, logs = scales(rows, state, mean, variance, df)
        entropy = stats.tasks[3] + 0.5 * float((~np.isnan(mean) & (variance > 0)).sum())
        trace.append(entropy + workers_bound(state, n, heard) + logs - 0.5 * LOG_2PI * float(n.sum()))
        if len(trace) > 1 and trace[-1] - trace[-2] < tol * max(float(n.sum()), 1.0):
            converged = True
            break
    fit = describe(scaled(rows, u), gold, state, n, np.array(trace), converged)
    fit.extra.update(df=df)
    return outward(replace(fit, method="student"), scale)


def scaled(rows: Rows, u: F8) -> Rows:
    """Rows that count u as much."""
    return replace(rows, weight=u if rows.weight is None else u * rows.weight)


def scales(rows: Rows, state: Workers, mean: F8, variance: F8, df: float) -> tuple[F8, float]:
    """E[u] of each row, and the log normalisers of all rows."""
    from scipy.special import gammaln

    m, t = rows.worker, rows.task
    far = state.precision.mean[m] * ((rows.value - mean[t] - state.bias[m]) ** 2 + variance[t] + state.doubt[m])
    constant = gammaln((df + 1) / 2) - gammaln(df / 2) + df / 2 * np.log(df / 2)
    logs = constant - (df + 1) / 2 * np.log((df + far) / 2)
    total = logs.sum() if rows.weight is None else logs @ rows.weight
    return np.asarray((df + 1) / (df + far)), float(total)


def _step(state: Workers, stats: Stats, n: F8, size: F8, heard: np.ndarray, strength: float) -> Workers:
    """As in gaussian.py, where a worker's answers count `size` for bias and error, but n for the precision."""
    rough = step(state, stats, size, heard, strength)
    gap, square, v = (stats.workers[:, k] for k in (GAP, SQUARE, DOUBT))
    moved = rough.bias - state.bias
    error = np.maximum(square - 2 * moved * gap + size * moved**2, 0.0) + v + size * rough.doubt
    return replace(rough, precision=state.precision.update(n, error, heard, strength))
