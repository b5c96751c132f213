"""What fairness is worked out from: verdicts, gold and groups as counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError
from ..guarantee.gold import Gold
from ..guarantee.verdicts import Verdicts
from .maths import rising

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
BINS = 12
LEAST = 10


@dataclass(frozen=True, eq=False)
class Cells:
    """Tasks with a verdict and a group: tasks[group, said], gold counts[group, said, true]."""

    found: Verdicts
    group: I8
    names: list[Any]
    gold: Gold | None
    tasks: F8
    counts: F8 | None


def cells(found: Verdicts, groups: Any, gold: Gold | None) -> Cells:
    """Counts by group; tasks without a verdict or a group are left out."""
    group, names = found.groups(groups)
    inside = found.said & (group < len(names))
    if len(names) < 2:
        raise DataError(f"fairness needs at least two groups of tasks; there is {'one' if names else 'none'}")
    if not inside.all():
        at = np.cumsum(inside) - 1
        if gold is not None:
            kept = inside[gold.task]
            part = gold.take(kept)
            gold = Gold(at[part.task], part.label, part.value, part.chance)
        found, group = found.keep(inside), group[inside]
    k, g = len(found.classes), len(names)
    tasks = np.zeros((g, k))
    np.add.at(tasks, (group, found.label), 1.0)
    counts = None
    if gold is not None:
        counts = np.zeros((g, k, k))
        np.add.at(counts, (group[gold.task], found.label[gold.task], gold.label), 1.0)
    return Cells(found, group, names, gold, tasks, counts)


def confidence_cells(of: Cells) -> tuple[I8, F8, F8, I8]:
    """(cell[task], tasks of each cell, chances[cell, class], group[cell]): group, verdict and confidence bin.

    With gold the chance of the verdict is its share of right gold labels, rising with confidence within a group and
    verdict, and bins hold at least ten gold labels; without gold it is the posterior.
    """
    found, k = of.found, len(of.found.classes)
    cell = np.zeros(len(found), dtype=np.int64)
    sizes: list[float] = []
    chances: list[F8] = []
    owner: list[int] = []
    for z in range(len(of.names)):
        for label in range(k):
            mine = np.flatnonzero((of.group == z) & (found.label == label))
            if not len(mine):
                continue
            place, p = _bins(of, mine, z, label)
            cell[mine] = len(sizes) + place
            sizes.extend(np.bincount(place, minlength=len(p)).tolist())
            chances.extend(p)
            owner.extend([z] * len(p))
    return cell, np.array(sizes, dtype=float), np.array(chances), np.array(owner, dtype=np.int64)


def _bins(of: Cells, mine: I8, z: int, label: int) -> tuple[I8, list[F8]]:
    """(bin[task], chances of each bin) within one group and verdict."""
    found, k = of.found, len(of.found.classes)
    sure = found.confidence[mine]
    if of.gold is None or of.counts is None:
        place = _cut(sure, sure, BINS)
        posterior = found.posterior if found.posterior is not None else np.eye(k)[found.label]
        return place, [posterior[mine[place == b]].mean(axis=0) for b in range(int(place.max()) + 1)]
    checked = of.gold.task[np.isin(of.gold.task, mine)]
    hits = of.gold.label[np.isin(of.gold.task, mine)] == label
    bins = max(1, min(BINS, len(checked) // LEAST))
    place = _cut(sure, found.confidence[checked] if len(checked) else sure, bins)
    at = dict(zip(mine.tolist(), place.tolist(), strict=True))
    where = np.array([at[t] for t in checked.tolist()], dtype=np.int64)
    n = np.bincount(where, minlength=int(place.max()) + 1).astype(float)
    right = np.bincount(where, weights=hits, minlength=len(n))
    whole = of.counts[z, label] + of.counts.sum(axis=0)[label] / max(of.counts.sum(axis=0)[label].sum(), 1) + 1 / k
    base = whole / whole.sum()
    known = np.where(n > 0, right / np.maximum(n, 1), base[label])  # a cell without gold is like its group and verdict
    share = rising(known, np.maximum(n, 1e-9))
    others = np.delete(base, label)
    others = others / others.sum()
    return place, [np.insert((1 - s) * others, label, s) for s in share]


def _cut(values: F8, by: F8, bins: int) -> I8:
    """Bins of values with edges at quantiles of `by`; empty bins vanish."""
    edges = np.unique(np.quantile(by, np.linspace(0, 1, bins + 1)[1:-1])) if bins > 1 else np.empty(0)
    place = np.searchsorted(edges, values, side="right")
    return np.unique(place, return_inverse=True)[1].astype(np.int64)
