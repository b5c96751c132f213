"""Two workers who share answers that nobody else gave, and that are not the estimate either.

Two good workers agree because both are right, so equal answers accuse nobody. What tells is the same answer, other than
the estimate, that no third worker of the task gave. How often two independent workers share one is read off all other
pairs of the crowd, and off what each of the two shares with everybody else: the largest of these rates is the null.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .pairing import F8, I8, Rows

# Tasks of which both gave something other than the estimate, and equal answers among them, to be tested at all.
LEAST, HITS = 5, 5
# The rate of the null is never taken to be below this, and is raised by so much, for what the crowd does not show.
FLOOR, MARGIN = 0.05, 1.5


@dataclass(frozen=True, eq=False)
class Copies:
    """Pairs of workers: tasks on which both differ from the estimate, equal answers among them, how many two who work
    on their own would share, and a p-value corrected for the number of pairs. `rows` are the first's equal rows."""

    first: I8
    second: I8
    common: I8
    equal: I8
    expected: F8
    p: F8
    rows: list[I8]


def copies(rows: Rows, same_as: I8, astray: np.ndarray, pairs: tuple[I8, I8], alpha: float = 0.01) -> Copies:
    """`same_as[row]` is equal for equal answers, `astray` marks rows that differ from the estimate of their task."""
    from scipy.stats import binom, false_discovery_control

    i, j = pairs
    keep = astray[i] & astray[j]
    # With one answer besides the right one there is nothing to recognise: three workers at least must meet a task.
    keep &= rows.size[i] > 2
    i, j = i[keep], j[keep]
    swap = rows.worker[i] > rows.worker[j]
    i, j = np.where(swap, j, i), np.where(swap, i, j)
    third = _others_say(rows, same_as)[i] > 1
    equal = same_as[i] == same_as[j]
    i, j, equal = (values[~(equal & third)] for values in (i, j, equal))
    key, at = np.unique(rows.worker[i].astype(np.int64) * rows.n_workers + rows.worker[j], return_inverse=True)
    a, b = key // rows.n_workers, key % rows.n_workers
    n = np.bincount(at, minlength=len(key))
    hits = np.bincount(at, equal, len(key)).astype(np.int64)
    rate = np.minimum(MARGIN * _null(a, b, n, hits, rows.n_workers), 1.0)
    tested = n >= LEAST
    a, b, n, hits, rate, which = (v[tested] for v in (a, b, n, hits, rate, np.arange(len(key))))
    p = np.atleast_1d(binom.sf(hits - 1, n, rate)) if len(n) else np.empty(0)
    if len(p):
        p = np.asarray(false_discovery_control(np.clip(p, 0.0, 1.0), method="by"))
    held = (p <= alpha) & (hits >= HITS) & (hits >= 0.5 * n)
    shown = [i[(at == k) & equal] for k in which[held].tolist()]
    return Copies(a[held], b[held], n[held], hits[held], np.asarray(rate * n, dtype=np.float64)[held], p[held], shown)


def _others_say(rows: Rows, same_as: I8) -> I8:
    """How many others of the task gave the answer of each row."""
    key = rows.task.astype(np.int64) * (int(same_as.max(initial=0)) + 1) + same_as
    _, at, count = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(count[at] - 1)


def _null(a: I8, b: I8, n: I8, hits: I8, n_workers: int) -> F8:
    """The rate at which a pair would share answers: that of all other pairs, or of either with everybody else."""
    tries, found = (np.bincount(a, v, n_workers) + np.bincount(b, v, n_workers) for v in (n, hits))
    # Everybody's tries without those of the two; half a hit in ten tries is everybody's at the start.
    rest_n = n.sum() - tries[a] - tries[b] + n
    rest = (hits.sum() - found[a] - found[b] + hits + 0.5) / (rest_n + 10.0)
    own = [(found[w] - hits + 0.5) / (tries[w] - n + 10.0) for w in (a, b)]
    return np.asarray(np.maximum(np.maximum(*own), np.maximum(rest, FLOOR)), dtype=np.float64)
