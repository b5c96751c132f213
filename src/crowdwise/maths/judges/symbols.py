"""Verdicts with a strength as symbols: (label, strength bin) is what is observed, and EM learns what it means.

    y_n ~ Cat(prior),   symbol of judge m on task n | y_n = k ~ Cat(A[m, k, :]),  K rows of L = bins x K symbols

Dawid-Skene over a larger alphabet: a judge who is sure and right when sure says more than one who is always sure. No
stated number is taken at its word, so an overconfident judge does no harm. The pseudo-counts favour the judge's own
label, spread over the bins that the judge uses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..logspace import normalise_rows

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

BINS = 3
# A verdict without a confidence beside verdicts with one: a bin of its own.
NONE = BINS
# Tasks of each class before any are seen: the logarithm of a class's share must exist.
LEAST = 1e-3


@dataclass(frozen=True)
class Symbols:
    """posterior[task, class], table[judge, class, symbol], prior[class], the objective of each pass."""

    posterior: F8
    table: F8
    prior: F8
    trace: F8
    converged: bool


def terciles(judge: I8, strength: F8, n_judges: int) -> I8:
    """Bin 0, 1 or 2 of each strength among its judge's own; NONE where there is none. Equal strengths share a bin."""
    out = np.full(len(strength), NONE, dtype=np.int64)
    for m in range(n_judges):
        rows = np.flatnonzero((judge == m) & np.isfinite(strength))
        if len(rows):
            low, high = np.quantile(strength[rows], [1 / 3, 2 / 3])
            # Round values pile up: an edge belongs to the bin below it unless nothing else would be there.
            out[rows] = (strength[rows] > low).astype(np.int64) + (strength[rows] > high)
    return out


def prior_counts(judge: I8, bin_: I8, n_judges: int, k: int, bins: int, smoothing: float, diagonal: float) -> F8:
    """Pseudo-counts[judge, class, symbol]: `smoothing` for each label, `diagonal` more for the right one."""
    used = np.zeros((n_judges, bins), dtype=bool)
    used[judge, bin_] = True
    share = used / np.maximum(used.sum(axis=1, keepdims=True), 1)  # judge, bin
    base = smoothing + diagonal * np.eye(k)  # class, label
    spread: F8 = np.einsum("mb,kl->mklb", np.maximum(share, 1e-6), base)
    return spread.reshape(n_judges, k, k * bins)


def fit_symbols(
    task: I8, judge: I8, symbol: I8, weight: F8, start: F8, counts: F8, known: I8 | None, max_iter: int, tol: float
) -> Symbols:
    """EM from start[task, class] under pseudo-counts[judge, class, symbol]; known[task] is a class, or K if unknown."""
    n, k = start.shape
    m, size = len(counts), counts.shape[2]
    cell = judge * size + symbol
    posterior, trace, converged = start, [], False
    for _ in range(max_iter):
        table = _m_step(cell, weight, posterior[task], m, k, size, counts)
        prior = posterior.sum(axis=0) + LEAST
        prior /= prior.sum()
        logs = np.log(table).transpose(0, 2, 1).reshape(m * size, k)[cell] * weight[:, None]
        score = np.log(prior) + np.stack([np.bincount(task, weights=c, minlength=n) for c in logs.T], axis=1)
        posterior, total = normalise_rows(score)
        if known is not None:
            sure = np.flatnonzero(known < k)
            total[sure] = score[sure, known[sure]]
            posterior[sure] = np.eye(k)[known[sure]]
        trace.append(float(total.sum() + (counts * np.log(table)).sum() + LEAST * np.log(prior).sum()))
        if len(trace) > 1 and trace[-1] - trace[-2] < tol * max(abs(trace[-1]), 1.0):
            converged = True
            break
    return Symbols(posterior, table, prior, np.array(trace), converged)


def _m_step(cell: I8, weight: F8, belief: F8, m: int, k: int, size: int, counts: F8) -> F8:
    soft = belief * weight[:, None]
    found = np.stack([np.bincount(cell, weights=column, minlength=m * size) for column in soft.T], axis=1)
    table = found.reshape(m, size, k).transpose(0, 2, 1) + counts
    return np.asarray(table / table.sum(axis=2, keepdims=True))
