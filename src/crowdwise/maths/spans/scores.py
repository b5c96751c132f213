"""How far found spans go with true ones: by how much of the text, by whole spans, and by spans that touch."""

from __future__ import annotations

import numpy as np

from .rows import F8, SpanRows, crossed, shared, totals

# Columns of `counts`.
BOTH, SAID, TRUE, EXACT, N_SAID, N_TRUE, HIT_SAID, HIT_TRUE = range(8)


def counts(found: SpanRows, true: SpanRows) -> F8:
    """counts[row, 8]: text in both, found, true; whole spans in both, found, true; found and true spans that overlap
    one of the other side. Tags must be the same everywhere."""
    n = len(found)
    row, mine, theirs, _ = crossed(found, true)
    exact = (found.start[mine] == true.start[theirs]) & (found.end[mine] == true.end[theirs])
    out = np.zeros((n, 8))
    out[:, BOTH], out[:, SAID], out[:, TRUE] = shared(found, true), totals(found), totals(true)
    out[:, EXACT] = np.bincount(row[exact], minlength=n)
    out[:, N_SAID], out[:, N_TRUE] = np.diff(found.offsets), np.diff(true.offsets)
    out[:, HIT_SAID] = np.bincount(found.row[np.unique(mine)], minlength=n)
    out[:, HIT_TRUE] = np.bincount(true.row[np.unique(theirs)], minlength=n)
    return out


def ratios(total: F8) -> dict[str, F8]:
    """Scores of sums of `counts`, over the last axis; where nothing was found and nothing was there, F1 is 1."""
    c = np.moveaxis(np.asarray(total, dtype=np.float64), -1, 0)
    touched = _over(c[HIT_SAID], c[N_SAID]), _over(c[HIT_TRUE], c[N_TRUE])
    return {
        "f1": _over(2 * c[BOTH], c[SAID] + c[TRUE]),
        "precision": _over(c[BOTH], c[SAID]),
        "recall": _over(c[BOTH], c[TRUE]),
        "exact_f1": _over(2 * c[EXACT], c[N_SAID] + c[N_TRUE]),
        "exact_precision": _over(c[EXACT], c[N_SAID]),
        "exact_recall": _over(c[EXACT], c[N_TRUE]),
        "overlap_f1": _over(2 * touched[0] * touched[1], touched[0] + touched[1], 0.0),
    }


def _over(a: F8, b: F8, empty: float = 1.0) -> F8:
    return np.asarray(np.divide(a, b, out=np.full(np.shape(a), empty), where=np.asarray(b) > 0))
