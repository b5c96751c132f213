"""The group-aware model: exact EM on the tree task -> group -> label.

    z_i ~ Cat(class_prior),  g_ij | z_i = k ~ Cat(between[j, k]),  y_iw | g_ij = c ~ Cat(within[w, c]),  w in group j

A group of one has between = I, so its g is z itself. Everything runs over the (task, group) pairs that have labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ...maths.kernels import Stats, Workspace
from ...maths.logspace import normalise_rows, segment_sum, shares
from ...maths.order import offsets
from ...maths.rows import LabelRows
from ...maths.ties import tie_shares
from ..spread import clamped

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class GroupStats(Stats):
    """counts[worker, observed, c], mass[class], and links[group, class, c]."""

    links: F8


@dataclass(frozen=True)
class GroupParams:
    """within[worker, observed, c], between[group, class, c], class_prior[class]."""

    within: F8
    between: F8
    class_prior: F8


class Pairs:
    """The (task, group) pairs of a shard that have labels, sorted by task, then group."""

    def __init__(self, shard: LabelRows, group: I8, many: npt.NDArray[np.bool_]) -> None:
        key = shard.task.astype(np.int64) * len(many) + group[shard.worker]
        self.order = np.argsort(key, kind="stable")
        keys, first, self.of_row = np.unique(key[self.order], return_index=True, return_inverse=True)
        self.task, self.group = keys // len(many), keys % len(many)
        self.rows = np.append(first, len(key))
        self.tasks = offsets(self.task.astype(np.int32), shard.n_tasks)
        self.big = np.flatnonzero(many[self.group])
        self.cell = shard.cell[self.order]
        self.label = shard.label[self.order]
        self.weight = np.ones(len(key)) if shard.weight is None else shard.weight[self.order]


class GroupModel:
    """MAP under `smoothing` pseudo-counts in every cell of within and, for groups of several, of between."""

    def __init__(self, group: I8, n_classes: int, smoothing: float, prior_class: float) -> None:
        self.group, self.k = group, n_classes
        self.many = np.bincount(group) > 1
        self.smoothing, self.prior_class = smoothing, prior_class
        self._pairs: WeakKeyDictionary[Workspace, Pairs] = WeakKeyDictionary()

    def pairs(self, space: Workspace) -> Pairs:
        """The pairs of a shard, worked out once."""
        if space not in self._pairs:
            self._pairs[space] = Pairs(space.shard, self.group, self.many)
        return self._pairs[space]

    def start(self, shard: Workspace) -> GroupStats:
        """A vote in which a group of several has one voice, its winner's; inside a group its own votes stand for g."""
        space, pairs = shard, self.pairs(shard)
        posterior = clamped(shard, self.one_voice(pairs))
        joint = posterior[pairs.task[pairs.big]][:, :, None] * self.shares(pairs)[pairs.big][:, None, :]
        return self.gather(space, pairs, posterior, joint)

    def shares(self, pairs: Pairs) -> F8:
        """The winners of the vote inside each pair."""
        votes = np.eye(self.k)[pairs.label] * pairs.weight[:, None]
        return tie_shares(segment_sum(votes, pairs.rows))

    def one_voice(self, pairs: Pairs) -> F8:
        """Vote shares in which a group of several has one vote, that of its winner."""
        said = segment_sum(np.eye(self.k)[pairs.label] * pairs.weight[:, None], pairs.rows)
        said[pairs.big] = self.shares(pairs)[pairs.big]
        return shares(segment_sum(said, pairs.tasks))

    def accumulate(self, params: GroupParams, shard: Workspace) -> tuple[GroupStats, float]:
        """Messages up the tree, the posterior, and the joint of class and g on the way down."""
        space, pairs, k = shard, self.pairs(shard), self.k
        logs = np.log(params.within).reshape(-1, k)[pairs.cell] * pairs.weight[:, None]
        up = segment_sum(logs, pairs.rows)  # pair, c
        through = np.log(params.between)[pairs.group[pairs.big]] + up[pairs.big][:, None, :]  # pair, class, c
        flat, norm = normalise_rows(through.reshape(-1, k))
        up[pairs.big] = norm.reshape(-1, k)
        score = np.log(np.maximum(params.class_prior, 1e-18)) + segment_sum(up, pairs.tasks)
        posterior, total = normalise_rows(score)
        if space.gold is not None:
            known = np.flatnonzero(space.gold < k)
            total[known] = score[known, space.gold[known]]
            posterior[known] = np.eye(k)[space.gold[known]]
        joint = flat.reshape(-1, k, k) * posterior[pairs.task[pairs.big]][:, :, None]
        space.memory.leave(posterior)
        return self.gather(space, pairs, posterior, joint), float(total.sum())

    def posterior(self, params: GroupParams, shard: Workspace) -> F8:
        """posterior[task, class]."""
        self.accumulate(params, shard)
        return shard.memory.take()

    def gather(self, space: Workspace, pairs: Pairs, posterior: F8, joint: F8) -> GroupStats:
        """Expected counts: g for groups of several, the class itself for groups of one."""
        k, n_groups, cells = self.k, len(self.many), space.shard.n_workers * self.k
        inner = posterior[pairs.task]
        inner[pairs.big] = joint.sum(axis=1)
        rows = inner[pairs.of_row] * pairs.weight[:, None]
        counts = np.stack([np.bincount(pairs.cell, weights=rows[:, c], minlength=cells) for c in range(k)], axis=1)
        where = pairs.group[pairs.big]
        links = [np.bincount(where, weights=column, minlength=n_groups) for column in joint.reshape(-1, k * k).T]
        return GroupStats(
            counts.astype(np.float64, copy=False).reshape(-1, k, k),
            posterior.sum(axis=0),
            np.stack(links, axis=1).astype(np.float64, copy=False).reshape(n_groups, k, k),
        )

    def maximise(self, stats: GroupStats) -> GroupParams:
        """Counts plus pseudo-counts, normalised; groups of one are tied to the class."""
        within = stats.counts + self.smoothing
        between = stats.links + self.smoothing
        between /= between.sum(axis=2, keepdims=True)
        # The floor only keeps the logarithm finite: groups of one never read their table.
        between[~self.many] = np.maximum(np.eye(self.k), 1e-18)
        mass = stats.mass + self.prior_class
        return GroupParams(within / within.sum(axis=1, keepdims=True), between, mass / mass.sum())

    def log_prior(self, params: GroupParams) -> float:
        """Dirichlet densities whose mode the M-step takes."""
        density = np.log(params.within).sum() + np.log(params.between[self.many]).sum()
        classes = self.prior_class * np.log(params.class_prior).sum() if self.prior_class > 0 else 0.0
        return float(self.smoothing * density + classes)
