"""Counts by group from verdicts, gold and groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import F8, I8
from ...core.errors import DataError
from ..guarantee.gold import GoldSample
from ..guarantee.verdicts import Verdicts

BINS = 12
LEAST = 10


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Tasks with a verdict and a group: tasks[group, verdict], gold counts[group, verdict, true]."""

    verdicts: Verdicts
    group: I8
    names: list[Any]
    gold: GoldSample | None
    tasks: F8
    counts: F8 | None


def count_groups(verdicts: Verdicts, groups: Any, gold: GoldSample | None) -> GroupCounts:
    """Count by group; tasks without a verdict or a group are left out."""
    group, names = verdicts.groups(groups)
    inside = verdicts.has_verdict & (group < len(names))
    if len(names) < 2:
        raise DataError(f"fairness needs at least two groups of tasks; there is {'one' if names else 'none'}")
    if not inside.all():
        gold = None if gold is None else gold.within(inside)
        verdicts, group = verdicts.keep(inside), group[inside]
    k, g = len(verdicts.classes), len(names)
    tasks = np.zeros((g, k))
    np.add.at(tasks, (group, verdicts.label), 1.0)
    counts = None
    if gold is not None:
        counts = np.zeros((g, k, k))
        np.add.at(counts, (group[gold.task], verdicts.label[gold.task], gold.label), 1.0)
    return GroupCounts(verdicts, group, names, gold, tasks, counts)


def confidence_cells(counts: GroupCounts) -> tuple[I8, F8, F8, I8]:
    """Return (cell[task], tasks of each cell, probabilities[cell, class], group[cell]).

    Cells are group, verdict and confidence bin. With gold the probability of the verdict is its share of right gold
    labels, isotonic in the confidence within a group and verdict, and bins hold at least ten gold labels; without gold
    it is the posterior.
    """
    verdicts, k = counts.verdicts, len(counts.verdicts.classes)
    cell = np.zeros(len(verdicts), dtype=np.int64)
    sizes: list[float] = []
    chances: list[F8] = []
    cell_group: list[int] = []
    for z in range(len(counts.names)):
        for label in range(k):
            members = np.flatnonzero((counts.group == z) & (verdicts.label == label))
            if not len(members):
                continue
            place, p = _bins(counts, members, z, label)
            cell[members] = len(sizes) + place
            sizes.extend(np.bincount(place, minlength=len(p)).tolist())
            chances.extend(p)
            cell_group.extend([z] * len(p))
    return cell, np.array(sizes, dtype=float), np.array(chances), np.array(cell_group, dtype=np.int64)


def _bins(counts: GroupCounts, members: I8, z: int, label: int) -> tuple[I8, list[F8]]:
    """Return (bin[task], probabilities of each bin) within one group and verdict."""
    from scipy.optimize import isotonic_regression

    verdicts, k = counts.verdicts, len(counts.verdicts.classes)
    confidence = verdicts.confidence[members]
    if counts.gold is None or counts.counts is None:
        place = _cut(confidence, confidence, BINS)
        posterior = verdicts.posterior if verdicts.posterior is not None else np.eye(k)[verdicts.label]
        return place, [posterior[members[place == b]].mean(axis=0) for b in range(int(place.max()) + 1)]
    sample = counts.gold.take(np.isin(counts.gold.task, members))
    checked, hits = sample.task, sample.label == label
    bins = max(1, min(BINS, len(checked) // LEAST))
    place = _cut(confidence, verdicts.confidence[checked] if len(checked) else confidence, bins)
    bin_of = dict(zip(members.tolist(), place.tolist(), strict=True))
    checked_bin = np.array([bin_of[t] for t in checked.tolist()], dtype=np.int64)
    n = np.bincount(checked_bin, minlength=int(place.max()) + 1).astype(float)
    right = np.bincount(checked_bin, weights=hits, minlength=len(n))
    over_groups = counts.counts.sum(axis=0)[label]
    pooled = counts.counts[z, label] + over_groups / max(over_groups.sum(), 1) + 1 / k
    prior = pooled / pooled.sum()
    # A cell without gold is like its group and verdict.
    accuracy = np.where(n > 0, right / np.maximum(n, 1), prior[label])
    share = isotonic_regression(accuracy, weights=np.maximum(n, 1e-9)).x
    others = np.delete(prior, label)
    others = others / others.sum()
    return place, [np.insert((1 - s) * others, label, s) for s in share]


def _cut(values: F8, by: F8, bins: int) -> I8:
    """Bins of values with edges at quantiles of `by`; empty bins are dropped."""
    edges = np.unique(np.quantile(by, np.linspace(0, 1, bins + 1)[1:-1])) if bins > 1 else np.empty(0)
    place = np.searchsorted(edges, values, side="right")
    return np.unique(place, return_inverse=True)[1].astype(np.int64)
