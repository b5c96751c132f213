"""Confusions by group of tasks: a worker's row in a group, pulled to their own row in all groups.

    A[m, z, k, :] = (C[m, z, k, :] + s·Ā[m, k, :]) / (n + s)

s by the Dirichlet-multinomial evidence of each group's counts given the worker's other groups: with a group's own
counts in the mean, the evidence would run to the largest s.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
STRENGTHS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 300.0)
# Pseudo-counts that pull a worker's row to the crowd's.
TO_CROWD = 4.0


def crowd_rows(counts: F8) -> F8:
    """rows[true, observed] of everybody together."""
    k = counts.shape[-1]
    return _normal(counts.sum(axis=tuple(range(counts.ndim - 2))) + 1.0 / k)


def pooled_rows(counts: F8, crowd: F8) -> F8:
    """rows[..., true, observed] of counts, pulled to the crowd's."""
    return np.asarray((counts + TO_CROWD * crowd) / (counts.sum(axis=-1, keepdims=True) + TO_CROWD))


def by_group(counts: F8, strength: float | None = None) -> tuple[F8, float]:
    """(A[worker, group, true, observed], s) of counts[worker, group, true, observed]."""
    crowd = crowd_rows(counts)
    s = best_strength(counts, crowd) if strength is None else strength
    own = pooled_rows(counts.sum(axis=1), crowd)[:, None]
    return np.asarray((counts + s * own) / (counts.sum(axis=-1, keepdims=True) + s)), s


def best_strength(counts: F8, crowd: F8) -> float:
    """The strength under which each group's counts are most probable, given the other groups."""
    from scipy.special import gammaln

    elsewhere = counts.sum(axis=1, keepdims=True) - counts
    others, n = pooled_rows(elsewhere, crowd), counts.sum(axis=-1)
    # The other groups' row is known from so many counts only: a worker who is the same everywhere is no closer to it.
    known = elsewhere.sum(axis=-1) + TO_CROWD
    evidence = []
    for strength in STRENGTHS:
        s = 1 / (1 / strength + 1 / known)
        prior = s[..., None] * others
        inside = (gammaln(counts + prior) - gammaln(prior)).sum(axis=-1)
        evidence.append(float((gammaln(s) - gammaln(n + s) + inside).sum()))
    return STRENGTHS[int(np.argmax(evidence))]


def _normal(rows: F8) -> F8:
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))
