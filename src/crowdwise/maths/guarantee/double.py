"""Double sampling: what a cheap verdict says of every task, and the truth of a few tasks within each verdict.

    theta_k = sum_l W_l/N · C[l, k]/C[l, .]          tasks W[l] with verdict l, gold counts C[l, k]

Tenenbein (1970), JASA 65(331), doi:10.1080/01621459.1970.10481170. The interval is that of a Bayesian draw of every
verdict's row, which holds where few gold labels or none have an error.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
DRAWS = 4000


def point(tasks: F8, counts: F8, score: F8) -> float:
    """Mean score over all tasks: tasks[verdict], gold counts[verdict, true], score[true].

    A verdict without gold has the score of all gold taken together.

    >>> point(np.array([300.0, 700.0]), np.array([[36.0, 4.0], [3.0, 17.0]]), np.array([1.0, 0.0]))
    0.375
    """
    n = counts.sum(axis=1)
    pooled = counts.sum(axis=0) @ score / counts.sum()
    rate = np.where(n > 0, counts @ score / np.maximum(n, 1), pooled)
    return float(tasks @ rate / tasks.sum())


def draws(tasks: F8, counts: F8, score: F8, rng: np.random.Generator, *, new: bool = False, size: int = DRAWS) -> F8:
    """Plausible mean scores: of these tasks (whose unchecked rest is drawn), or of `new` tasks of their kind.

    A score with two values needs only how often each is; that is a Beta, the margin of the Dirichlet.
    """
    levels, place = np.unique(score, return_inverse=True)
    prior = np.bincount(place, minlength=len(levels)) / len(score)
    cells = np.stack([counts[:, place == j].sum(axis=1) for j in range(len(levels))], axis=1)
    rates = _rows(cells + prior, rng, size)  # draw, verdict, level
    if new:
        shares = _rows((tasks + 0.5)[None], rng, size)[:, 0]
        return np.asarray(np.einsum("bl,bls,s->b", shares, rates, levels))
    rest = np.maximum(np.rint(tasks - counts.sum(axis=1)), 0).astype(np.int64)
    total = np.full(size, float((cells @ levels).sum()))
    for verdict in range(len(tasks)):
        if len(levels) == 2:
            hits = rng.binomial(rest[verdict], rates[:, verdict, 1])
            total += levels[0] * (rest[verdict] - hits) + levels[1] * hits
        elif len(levels) > 2:
            total += rng.multinomial(rest[verdict], rates[:, verdict]) @ levels
        else:
            total += levels[0] * rest[verdict]
    return np.asarray(total / tasks.sum())


def _rows(shape: F8, rng: np.random.Generator, size: int) -> F8:
    """Dirichlet draws[draw, row, cell] of each row of pseudo-counts."""
    gamma = rng.standard_gamma(np.maximum(shape, 1e-9), size=(size, *shape.shape))
    total = gamma.sum(axis=-1, keepdims=True)
    flat = np.broadcast_to(1.0 / shape.shape[-1], gamma.shape)
    return np.asarray(np.divide(gamma, total, out=flat.copy(), where=total > 0))


def explained(tasks: F8, counts: F8, score: F8) -> float:
    """R squared: the share of the score's variance that the verdict explains, by the gold."""
    n = counts.sum(axis=1)
    pooled = counts.sum(axis=0) @ score / counts.sum()
    mean = np.where(n > 0, counts @ score / np.maximum(n, 1), pooled)
    square = counts.sum(axis=0) @ score**2 / counts.sum()
    within = np.where(n > 0, counts @ score**2 / np.maximum(n, 1), square) - mean**2
    share = tasks / tasks.sum()
    between = share @ (mean - share @ mean) ** 2
    total = between + share @ within
    return float(between / total) if total > 1e-300 else 0.0


def central(values: F8, level: float) -> tuple[float, float]:
    """The central share `level` of the draws."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
