"""Tasks without one truth: distributions of raters, how well they predict other raters, groups of raters.

A rater held out is predicted by the others, so the log-loss is unbiased. A plug-in divergence between two halves of the
same raters is far above zero, so divergences are corrected by what permuted raters give. Groups of raters are compared
by permuting raters, never rows: a rater's rows belong together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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


@dataclass(frozen=True)
class Rows:
    """task, rater, label and weight of each row, and counts[task, class] of all of them."""

    task: I8
    rater: I8
    label: I8
    weight: F8
    counts: F8

    @cached_property
    def own(self) -> tuple[F8, F8]:
        """What the row's rater says of its task in all their rows: for the row's label, and in all."""
        pair = np.unique(self.task * (int(self.rater.max(initial=0)) + 1) + self.rater, return_inverse=True)[1]
        k = self.counts.shape[1]
        by_label = np.bincount(pair * k + self.label, weights=self.weight).astype(np.float64)
        in_all = np.bincount(pair, weights=self.weight).astype(np.float64)
        return by_label[pair * k + self.label], in_all[pair]

    def mean(self, values: F8) -> float:
        """Over the rows, by weight."""
        return float(values @ self.weight / max(float(self.weight.sum()), 1e-300))


def held_out(rows: Rows, strength: float) -> float:
    """Mean log-loss of raters' labels by the other raters of the task and the pool without them; an infinite strength
    is the pool alone."""
    own, whole = rows.own
    total = rows.counts.sum(axis=0)
    pool = np.maximum(total[rows.label] - own, 0.0) + 0.5  # half a row each: what one rater alone says is possible
    pool = pool / (total.sum() - whole + 0.5 * len(total))
    others = np.maximum(rows.counts[rows.task, rows.label] - own, 0.0)
    n = rows.counts.sum(axis=1)[rows.task] - whole
    share = pool if np.isinf(strength) else (others + strength * pool) / np.maximum(n + strength, 1e-300)
    return rows.mean(np.asarray(-np.log(np.maximum(share, 1e-300))))


def choose_strength(rows: Rows, grid: tuple[float, ...] = GRID) -> tuple[float, dict[str, float]]:
    """The strength under which held-out raters are predicted best, and the mean log-loss of each."""
    losses = {f"{a:g}": held_out(rows, a) for a in grid}
    return min(grid, key=lambda a: losses[f"{a:g}"]), losses


def divergence(p: F8, q: F8) -> F8:
    """Jensen-Shannon divergence of each row, in nats."""
    m = (p + q) / 2

    def half(a: F8) -> F8:
        ratio = np.where(a > 0, a / np.where(m > 0, m, 1.0), 1.0)
        return np.asarray((a * np.log(ratio)).sum(axis=1))

    return np.asarray((half(p) + half(q)) / 2)


def group_difference(
    rows: Rows, group: I8, contrast: F8, rng: np.random.Generator, draws: int = DRAWS
) -> tuple[F8, F8, F8, F8]:
    """How far raters of group 1 and 0 (others: -1) say other things of the same tasks.

    contrast[class, what] says what is compared: shares of classes, a mean of scores. Returns difference[what] (mean
    over common tasks of group 1 less group 0), its two-sided p-value[what], and each task's corrected divergence and
    p-value; raters are permuted among the groups.
    """
    observed, per_task = _gap(rows, group, contrast)
    members = np.flatnonzero(group >= 0)
    more, n_tasks = np.zeros(contrast.shape[1]), len(rows.counts)
    sums, above = np.zeros(n_tasks), np.zeros(n_tasks)
    for _ in range(draws):
        shuffled = group.copy()
        shuffled[members] = group[members][rng.permutation(len(members))]
        gap, jsd = _gap(rows, shuffled, contrast)
        more += np.abs(gap) >= np.abs(observed) - 1e-12
        sums += np.nan_to_num(jsd)
        above += np.nan_to_num(jsd) >= np.nan_to_num(per_task) - 1e-12
    p = (more + 1) / (draws + 1)
    return observed, p, per_task - sums / draws, np.where(np.isfinite(per_task), (above + 1) / (draws + 1), np.nan)


def _gap(rows: Rows, group: I8, contrast: F8) -> tuple[F8, F8]:
    n_tasks, k = rows.counts.shape
    found = []
    for g in (0, 1):
        of = np.flatnonzero(group[rows.rater] == g)
        cell, weight = rows.task[of] * k + rows.label[of], rows.weight[of]
        found.append(np.bincount(cell, weights=weight, minlength=n_tasks * k).astype(np.float64).reshape(n_tasks, k))
    n = [c.sum(axis=1) for c in found]
    both = (n[0] > 0) & (n[1] > 0)
    p, q = (shares(c) for c in found)
    # Tasks weigh by what they can tell: the harmonic mean of their raters in both groups.
    w = np.where(both, n[0] * n[1] / np.maximum(n[0] + n[1], 1.0), 0.0)
    gap = (w[:, None] * (q - p)).sum(axis=0) / max(float(w.sum()), 1e-300) @ contrast
    jsd = np.full(n_tasks, np.nan)
    jsd[both] = divergence(p[both], q[both])
    return gap, jsd
