"""Which workers copy each other? Agreement beyond what independent errors explain.

A fit alone cannot say: thirty copies of a coin look like thirty honest workers, and three experts among them like
plotters. What tells them apart is that copies agree more closely than honest workers can. So:

1. Workers are joined in the order of their agreement (average linkage): the closest first.
2. At each level every cluster gets one vote, Dawid-Skene is fitted to the clusters, and each pair's agreement is
   tested against the fit: excess = agreement - sum_k p_k sum_l A[m, k, l] A[m', k, l], with false-discovery control.
   The finest level without excess is taken. Independent workers have none at the outset and stay single.
3. Clusters that can be broken up again without excess are, and of the others only members whose own agreement is
   in excess stay together.

All of it is sums over tasks, so the votes may be in parts. After the agreement tests of Traganitis & Giannakis (2021)
and the group search of Jaffe et al. (2016). Fails when copies are noisier than the honest workers, and when everybody
is wrong on the same hard tasks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np
import numpy.typing as npt
import polars as pl

from ...engine.sources import Known
from ...kinds.classes.annotations import Annotations
from ...kinds.classes.answers import Classes
from ...maths.discovery import adjusted
from ...maths.em import plus
from ...maths.kernels import Workspace
from ...maths.logspace import segment_sum
from ...maths.ties import tie_shares
from ..base import Run, Spread
from ..confusion.dawid_skene import DawidSkene
from ..learnt import After, Judge, judged
from ..spread import with_rows
from .group_model import Pairs

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# A pair with fewer common tasks says nothing.
MIN_COMMON = 10
# Workers beyond the most active so many are left single: the search works on worker × worker tables.
MAX_WORKERS = 2_000
# Levels tried at most.
LEVELS = 30


@dataclass(frozen=True)
class Overlap:
    """common[m, m'] tasks, agreed[m, m'] of them with the same answer, mix[class][m, m'] their summed posterior."""

    common: F8
    agreed: F8
    mix: list[F8]

    def add(self, other: Overlap) -> None:
        """The same with another part's."""
        for mine, theirs in zip(self._tables(), other._tables(), strict=True):
            mine += theirs

    def _tables(self) -> list[F8]:
        return [self.common, self.agreed, *self.mix]


def find_groups(votes: Annotations | Spread, level: float, excess: float) -> I8:
    """Group number of each worker; workers who share one depend on each other."""
    data = votes if isinstance(votes, Spread) else Spread.of(votes, None)
    single, labels = np.arange(data.n_workers), data.sum(_labels, plus)
    active = np.argsort(-labels, kind="stable")[:MAX_WORKERS]
    active = np.sort(active[labels[active] >= MIN_COMMON])
    if len(active) < 3 or data.n_classes < 2:
        return single
    look = _Look(active, level, excess)
    found = _finest_without_excess(data, _tree(data, active), look)
    return single if found is None else _members_in_excess(data, _without_needless(data, found, look), look)


def _labels(space: Workspace) -> I8:
    return cast(Annotations, space.shard).labels_per_worker.astype(np.int64)


@dataclass(frozen=True)
class _Look:
    """The workers that are looked at, and what makes a pair of them dependent."""

    active: I8
    level: float
    excess: float


def _tree(data: Spread, active: I8) -> list[I8]:
    """Partitions from single workers to coarse clusters, the closest workers joined first."""
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import squareform

    both = overlapping(data, active, None)
    common, agreed = both.common, both.agreed
    far = np.where(common >= MIN_COMMON, 1 - agreed / np.maximum(common, 1), 1.0)
    np.fill_diagonal(far, 0.0)
    tree = linkage(squareform(far, checks=False), method="average")
    m = len(active)
    usual = agreed[~np.eye(m, dtype=bool)].sum() / max(common[~np.eye(m, dtype=bool)].sum(), 1)
    # Who agrees less than the crowd does copies nobody; three clusters are the fewest that can be told apart.
    joins = int((tree[:, 2] <= 1 - usual + 0.05).sum())
    fewest = max(3, m - joins)
    sizes = np.unique(np.round(np.geomspace(fewest, m, min(LEVELS, m - fewest + 1))).astype(int))[::-1]
    out = []
    for cut in cut_tree(tree, n_clusters=sizes).T:
        group = np.arange(data.n_workers)
        # A cluster has the number of its first member: no clash with the workers outside the search.
        first = {c: active[np.flatnonzero(cut == c)[0]] for c in np.unique(cut)}
        group[active] = [first[c] for c in cut]
        out.append(np.unique(group, return_inverse=True)[1])
    return out


def _finest_without_excess(data: Spread, partitions: list[I8], look: _Look) -> I8 | None:
    """The first partition whose clusters are independent given the fit; None where the workers are already."""
    for i, group in enumerate(partitions):
        if _independent(data, group, look):
            return None if i == 0 else group
    return None


def _independent(data: Spread, group: I8, look: _Look) -> bool:
    """Whether no two clusters agree beyond the fit to the clusters."""
    units, among = in_units(data, group), np.unique(group[look.active])
    judge, theta = fit_units(units)
    return not flagged(overlapping(units, among, judge), theta[among], look.level, look.excess).any()


def _without_needless(data: Spread, group: I8, look: _Look) -> I8:
    """Clusters broken up again, the smallest first, wherever their members are independent without them."""
    sizes = np.bincount(group)
    for cluster in sorted(np.flatnonzero(sizes > 1).tolist(), key=lambda c: (sizes[c], c)):
        trial = group.copy()
        members = np.flatnonzero(group == cluster)
        trial[members[1:]] = group.max() + np.arange(1, len(members))
        if _independent(data, trial, look):
            group = trial
    return np.asarray(np.unique(group, return_inverse=True)[1], dtype=np.int64)


def _members_in_excess(data: Spread, group: I8, look: _Look) -> I8:
    """Within clusters, the connected components of pairs in excess under the fit to the clusters."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    judge = After(_Units(group), fit_units(in_units(data, group))[0])
    among = look.active
    theta = own_confusions(data, judge)[among]
    pairs = flagged(overlapping(data, among, judge), theta, look.level, look.excess)
    first, second = np.nonzero(pairs & (group[among][:, None] == group[among][None, :]))
    edges = csr_array((np.ones(len(first)), (among[first], among[second])), shape=(data.n_workers,) * 2)
    return np.asarray(connected_components(edges, directed=False)[1], dtype=np.int64)


def as_units(votes: Annotations, group: I8) -> Annotations:
    """One vote per task and group: its majority, shared out where it is tied."""
    pairs = Pairs(votes, group, np.ones(group.max() + 1, dtype=bool))
    won = tie_shares(segment_sum(np.eye(votes.n_classes)[pairs.label] * pairs.weight[:, None], pairs.rows))
    pair, label = np.nonzero(won)
    return replace(
        votes,
        task=pairs.task[pair].astype(np.int32),
        worker=pairs.group[pair].astype(np.int32),
        answers=Classes(label.astype(np.int32), votes.classes),
        weight=won[pair, label],
        time=None,
        duration=None,
        confidence=None,
        about_rows=None,
        workers=pl.Series("worker", np.arange(group.max() + 1)),
    )


@dataclass(frozen=True, eq=False)
class _Units:
    """A change of parts: one vote per task and group."""

    group: I8

    def __call__(self, part: Annotations, known: Known | None) -> tuple[Annotations, Known | None]:  # noqa: ARG002
        return as_units(with_rows(part), self.group), None


def in_units(data: Spread, group: I8) -> Spread:
    """The votes of all groups, one per task and group."""
    units = pl.Series("worker", np.arange(group.max() + 1))
    return replace(data.through(_Units(group)), workers=units, told=False)


def fit_units(units: Spread) -> tuple[Judge, F8]:
    """What judges the units' tasks, and confusions [worker, true, observed], of a smoothed Dawid-Skene."""
    found = DawidSkene(smoothing=0.5 / units.n_classes, max_iter=50, tol=1e-6).learn(units, Run())
    assert found.confusion is not None
    return found.judge, found.confusion


def own_confusions(data: Spread, judge: Judge) -> F8:
    """Confusions of single workers under a posterior that they did not take part in one by one."""
    k = data.n_classes
    counts = data.sum(partial(_own_counts, judge), plus)
    # Half a label a row: half a label a cell would make guessers of good workers where classes are many.
    table = counts.reshape(data.n_workers, k, k).transpose(0, 2, 1) + 0.5 / k
    return np.asarray(table / table.sum(axis=2, keepdims=True))


def _own_counts(judge: Judge, space: Workspace) -> F8:
    votes, posterior = cast(Annotations, space.shard), judged(judge, space, keep=True).posterior
    w = np.ones(len(votes)) if votes.weight is None else votes.weight
    rows = posterior[votes.task] * w[:, None]
    cells = votes.n_workers * votes.n_classes
    each = [np.bincount(votes.cell, weights=column, minlength=cells) for column in rows.T]
    return np.stack(each, axis=1)


def overlapping(data: Spread, among: I8, judge: Judge | None) -> Overlap:
    """`overlap` over all parts, added up in their order: only two of these tables are held."""
    every = data.map(partial(_overlap, among, judge))
    total = next(every)
    for one in every:
        total.add(one)
    return total


def _overlap(among: I8, judge: Judge | None, space: Workspace) -> Overlap:
    posterior = None if judge is None else judged(judge, space).posterior
    return overlap(cast(Annotations, space.shard), among, posterior)


def overlap(votes: Annotations, among: I8, posterior: F8 | None) -> Overlap:
    """Common tasks, agreements and, given a posterior, class mixtures of all pairs of the workers in `among`."""
    from scipy.sparse import csr_array

    shape = (votes.n_workers, votes.n_tasks)
    _, place, times = np.unique(
        votes.task.astype(np.int64) * votes.n_workers + votes.worker, return_inverse=True, return_counts=True
    )
    share = 1 / times[place]  # of several answers of one worker to one task, each counts by its share
    once = csr_array((share, (votes.worker, votes.task)), shape=shape)[among]
    agreed = np.zeros((len(among), len(among)))
    for label in range(votes.n_classes):
        rows = votes.label == label
        said = csr_array((share[rows], (votes.worker[rows], votes.task[rows])), shape=shape)[among]
        agreed += (said @ said.T).toarray()
    mix = [] if posterior is None else [((once * column[None, :]) @ once.T).toarray() for column in posterior.T]
    return Overlap((once @ once.T).toarray(), agreed, mix)


def flagged(both: Overlap, theta: F8, level: float, excess: float) -> npt.NDArray[np.bool_]:
    """Pairs that agree beyond the fit: significant after Benjamini-Hochberg, and by more than `excess`."""
    from scipy.special import betainc

    m = len(theta)
    expected = np.zeros((m, m))
    for k, mix in enumerate(both.mix):
        expected += mix * (theta[:, k] @ theta[:, k].T)
    test = np.triu(both.common >= MIN_COMMON, 1)
    n, agreed = both.common[test], both.agreed[test]
    share = np.clip(expected[test] / n, 1e-6, 1 - 1e-6)
    # Exact tails: common tasks are few.
    tail = np.where(agreed > 0, betainc(np.maximum(agreed, 1e-9), n - agreed + 1, share), 1.0)
    out = np.zeros((m, m), dtype=bool)
    out[test] = (adjusted(tail) <= level) & (agreed / n - share > excess)
    return out | out.T
