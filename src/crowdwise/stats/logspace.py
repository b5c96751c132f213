"""Numerically stable sums and normalizations."""

from __future__ import annotations

from functools import reduce

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8


def normalise_rows(score: F8) -> tuple[F8, F8]:
    """Softmax of each row, and its log normaliser.

    >>> normalise_rows(np.log([[1.0, 3.0]]))[0]
    array([[0.25, 0.75]])
    """
    if 1 <= score.shape[1] <= 16:  # column by column: numpy is slow at many short rows
        top = reduce(np.maximum, score.T)[:, None]
    else:
        top = score.max(axis=1, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    p = np.exp(score - top)
    total = p.sum(axis=1, keepdims=True)
    p /= total
    return p, (top + np.log(total))[:, 0]


def segment_sum(rows: F8, offsets: npt.NDArray[np.int64]) -> F8:
    """Sum of rows[offsets[i]:offsets[i + 1]] for each i; an empty segment gives zero."""
    out = np.zeros((len(offsets) - 1, rows.shape[1]))
    full = np.flatnonzero(np.diff(offsets))
    if len(full):
        out[full] = np.add.reduceat(rows, offsets[:-1][full], axis=0)
    return out


def shares(scores: F8) -> F8:
    """Rows divided by their sums; a row of zeros becomes uniform."""
    return shares_in_place(scores.astype(np.float64))


def shares_in_place(scores: F8) -> F8:
    """Divide rows by their sums in place; a row of zeros becomes uniform."""
    total = scores.sum(axis=1, keepdims=True)
    scores /= np.where(total > 0, total, 1.0)
    scores[total[:, 0] <= 0] = 1.0 / scores.shape[1]
    return scores


def log_sum(p: F8) -> F8:
    """np.log(p).sum(axis=0) of probabilities, with one logarithm per sixteen entries.

    >>> log_sum(np.full((100, 1), 0.5)).round(6)
    array([-69.314718])
    """
    n_blocked = len(p) // 16 * 16
    if n_blocked == 0 or p.min() < 1e-18:  # sixteen of these would leave the range of a double
        return np.asarray(np.log(p).sum(axis=0))
    blocks = np.multiply.reduce(p[:n_blocked].reshape(16, -1, *p.shape[1:]), axis=0)
    return np.asarray(np.log(blocks).sum(axis=0) + np.log(p[n_blocked:]).sum(axis=0))
