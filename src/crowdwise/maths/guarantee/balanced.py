"""Rogan-Gladen: shares of the true classes from shares of verdicts, where gold was drawn within the true classes.

    q = Aᵀ theta,  A[k, l] = P(verdict l | true k)

Rogan & Gladen (1978), doi:10.1093/oxfordjournals.aje.a112510. Both A and q are drawn: an error rate of no errors seen
is not zero.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .double import _rows

F8 = npt.NDArray[np.float64]
# Below this much better than chance (K = 2), or below this smallest singular value, verdicts cannot be turned back.
EDGE, SINGULAR = 0.02, 0.05


def solve(rows: F8, shares: F8) -> F8:
    """theta with rowsᵀ·theta = shares; not yet on the simplex.

    >>> solve(np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([0.8, 0.2])).round(5).tolist()
    [0.83333, 0.16667]
    """
    return np.asarray(np.linalg.solve(np.swapaxes(rows, -1, -2), shares[..., None])[..., 0])


def on_simplex(theta: F8) -> F8:
    """Shares below zero are zero, and what is left adds up to one."""
    cut = np.clip(theta, 0, None)
    return np.asarray(cut / cut.sum(axis=-1, keepdims=True))


def informedness(rows: F8) -> F8:
    """How much better than chance: sensitivity + specificity - 1, of many classes the smallest singular value."""
    if rows.shape[-1] == 2:
        return np.asarray(rows[..., 0, 0] + rows[..., 1, 1] - 1)
    return np.asarray(np.linalg.svd(rows, compute_uv=False)[..., -1])


def balanced_draws(counts: F8, tasks: F8, rng: np.random.Generator, size: int) -> tuple[F8, F8]:
    """(theta[draw, class] on the simplex, informedness[draw]) of gold counts[true, verdict] and tasks[verdict]."""
    rows = _rows(counts + 0.5, rng, size)
    shares = _rows((tasks + 0.5)[None], rng, size)[:, 0]
    able = informedness(rows)
    usable = np.abs(able) > 1e-6
    theta = np.full((size, len(tasks)), 1.0 / len(tasks))
    theta[usable] = on_simplex(solve(rows[usable], shares[usable]))
    return theta, able
