"""Tasks without one truth: distributions of raters, how well they predict other raters, groups of raters.

A rater held out is predicted by the others, so the log-loss is unbiased. A plug-in divergence between two halves of the
same raters is far above zero, so divergences are corrected by what permuted raters give. Groups of raters are compared
by permuting raters, never rows: a rater's rows belong together.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..logspace import shares

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

GRID = (0.5, 1.0, 2.0, 4.0, 8.0)
DRAWS = 1_000


def soft_labels(counts: F8, strength: float) -> tuple[F8, F8]:
    """π[task, class] of counts[task, class], and the pooled distribution that it shrinks to."""
    pooled = shares(counts.sum(axis=0)[None, :])[0]
    n = counts.sum(axis=1, keepdims=True)
    return np.asarray((counts + strength * pooled) / (n + strength)), pooled


def held_out(task: I8, label: I8, counts: F8, strength: float, weight: F8 | None = None) -> F8:
    """log-loss of each row by the task's other rows and the pool without it; an infinite strength is the pool alone."""
    w = np.ones(len(task)) if weight is None else weight
    total = counts.sum(axis=0)
    own = counts[task, label] - w
    n = counts.sum(axis=1)[task] - w
    pool = np.maximum(total[label] - w, 0.0) + 0.5  # half a row each: a class that one rater alone says is possible
    pool = pool / (total.sum() - w + 0.5 * counts.shape[1])
    share = pool if np.isinf(strength) else (own + strength * pool) / np.maximum(n + strength, 1e-300)
    return np.asarray(-np.log(np.maximum(share, 1e-300)))


def choose_strength(
    task: I8, label: I8, counts: F8, weight: F8 | None = None, grid: tuple[float, ...] = GRID
) -> tuple[float, dict[str, float]]:
    """The strength under which held-out raters are predicted best, and the mean log-loss of each."""
    if not len(task):
        return grid[0], {}
    w = np.ones(len(task)) if weight is None else weight
    scale = max(float(w.sum()), 1e-300)
    losses = {f"{a:g}": float(held_out(task, label, counts, a, weight) @ w / scale) for a in grid}
    best = min(grid, key=lambda a: losses[f"{a:g}"])
    return best, losses


def divergence(p: F8, q: F8) -> F8:
    """Jensen-Shannon divergence of each row, in nats."""
    m = (p + q) / 2

    def half(a: F8) -> F8:
        ratio = np.where(a > 0, a / np.where(m > 0, m, 1.0), 1.0)
        return np.asarray((a * np.log(ratio)).sum(axis=1))

    return np.asarray((half(p) + half(q)) / 2)


def group_difference(
    task: I8, rater: I8, label: I8, group: I8, n_tasks: int, k: int, rng: np.random.Generator, draws: int = DRAWS
) -> tuple[F8, F8, F8, F8]:
    """How far raters of group 1 and 0 (others: -1) say other things of the same tasks.

    Returns difference[class] (mean over common tasks of share in 1 less share in 0), its two-sided p-value[class], and
    each task's corrected divergence and p-value; raters are permuted among the groups.
    """
    weight = [(group == g).astype(np.float64) for g in (0, 1)]
    observed, per_task = _gap(task, rater, label, weight, n_tasks, k)
    members = np.flatnonzero(group >= 0)
    more = np.zeros(k)
    sums, above = np.zeros(n_tasks), np.zeros(n_tasks)
    for _ in range(draws):
        shuffled = group.copy()
        shuffled[members] = group[members][rng.permutation(len(members))]
        gap, jsd = _gap(task, rater, label, [(shuffled == g).astype(np.float64) for g in (0, 1)], n_tasks, k)
        more += np.abs(gap) >= np.abs(observed) - 1e-12
        sums += np.nan_to_num(jsd)
        above += np.nan_to_num(jsd) >= np.nan_to_num(per_task) - 1e-12
    p = (more + 1) / (draws + 1)
    return observed, p, per_task - sums / draws, np.where(np.isfinite(per_task), (above + 1) / (draws + 1), np.nan)


def _gap(task: I8, rater: I8, label: I8, weight: list[F8], n_tasks: int, k: int) -> tuple[F8, F8]:
    found = []
    for w in weight:
        flat = np.bincount(task * k + label, weights=w[rater], minlength=n_tasks * k).astype(np.float64)
        found.append(flat.reshape(n_tasks, k))
    n = [c.sum(axis=1) for c in found]
    both = (n[0] > 0) & (n[1] > 0)
    p, q = (shares(c) for c in found)
    # Tasks weigh by what they can tell: the harmonic mean of their raters in both groups.
    w = np.where(both, n[0] * n[1] / np.maximum(n[0] + n[1], 1.0), 0.0)
    gap = (w[:, None] * (q - p)).sum(axis=0) / max(float(w.sum()), 1e-300)
    jsd = np.full(n_tasks, np.nan)
    jsd[both] = divergence(p[both], q[both])
    return gap, jsd
