"""The committee's pools on the sets with truth, whole and thinned: what its table is learnt on.

A pool is the average before its confidence is read off the table; it does not depend on the table.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise.core import method_registry as registry
from crowdwise.core.errors import CrowdwiseWarning
from crowdwise.datasets import family
from crowdwise.stats.ties import tie_shares

from . import cells, sets

# Labels a task is thinned to, and how often each is drawn.
THINNED = {2: 1, 3: 5, 5: 1}
# About so many labels a task, each kept or left by chance, as in a project that has just begun: some tasks have one.
YOUNG = (1.2, 2, 4)
# A set is thinned where so many of its tasks have more labels; of large sets so many tasks are taken.
SHARE, TASKS = 0.3, 3000


@dataclass(frozen=True)
class Pool:
    """pool[task, class], truth[task] and n[task] of the tasks with a truth; `vote` is the majority vote's accuracy,
    `skill` that of a single label as far as agreement tells."""

    set: str
    version: str
    pool: np.ndarray
    truth: np.ndarray
    n: np.ndarray
    vote: float
    skill: float

    @property
    def family(self) -> str:
        return family(self.set)


def pools(names: tuple[str, ...]) -> list[Pool]:
    """All versions of these sets."""
    out = []
    for name in names:
        data = sets.load(name)
        out.append(_pool(name, "whole", data.annotations, data.truth))
        for labels, draws in THINNED.items():
            if (data.annotations.labels_per_task > labels).mean() < SHARE:
                continue
            for draw in range(draws):
                rng = np.random.default_rng([draw, labels, 7])
                votes, truth = _some(data.annotations, data.truth, rng)
                out.append(_pool(name, f"{labels} labels, draw {draw}", thin(votes, labels, rng), truth))
        for labels in YOUNG:
            if len(data.annotations) > 1.3 * labels * data.annotations.n_tasks:
                rng = np.random.default_rng([9, int(10 * labels), 7])
                votes, truth = _some(data.annotations, data.truth, rng)
                kept = votes.take(rng.random(len(votes)) < labels * votes.n_tasks / len(votes))
                out.append(_pool(name, f"about {labels} labels", kept, truth))
        print(name, flush=True)
    return out


def thin(votes: cw.Annotations, labels: int, rng: np.random.Generator) -> cw.Annotations:
    """At most so many labels of each task, drawn at random."""
    order = np.lexsort((rng.random(len(votes)), votes.task))
    rank = np.empty(len(votes), dtype=np.int64)
    rank[order] = np.arange(len(votes)) - votes.task_offsets[votes.task[order]]
    return votes.take(rank < labels)


def _some(votes: cw.Annotations, truth: np.ndarray, rng: np.random.Generator) -> tuple[cw.Annotations, np.ndarray]:
    """At most TASKS tasks, those with a truth first."""
    if votes.n_tasks <= TASKS:
        return votes, truth
    first = np.concatenate([rng.permutation(np.flatnonzero(truth >= 0)), rng.permutation(np.flatnonzero(truth < 0))])
    keep = np.zeros(votes.n_tasks, dtype=bool)
    keep[first[:TASKS]] = True
    return votes.select(tasks=votes.tasks.filter(pl.Series(keep))), truth[keep]


def _pool(name: str, version: str, votes: cw.Annotations, truth: np.ndarray) -> Pool:
    path = cells.HOME / "pools" / f"{name}, {version}, {cells.version('committee')}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CrowdwiseWarning)
            fit = replace(registry.method("committee"), calibrated=False, doubt=0.0).fit(votes)
        found, known = fit.posterior, truth >= 0
        share = tie_shares(votes.votes[known])
        true = np.minimum(truth[known], votes.n_classes - 1)
        vote = np.where(truth[known] < votes.n_classes, share[np.arange(len(true)), true], 0).mean()
        np.savez_compressed(
            path, pool=found[known].astype(np.float32), truth=truth[known], n=votes.labels_per_task[known], vote=vote,
            skill=fit.extra["skill"],
        )  # fmt: skip
    with np.load(path, allow_pickle=False) as f:
        pool = f["pool"].astype(np.float64)
        vote, skill = float(f["vote"]), float(f["skill"])
        return Pool(name, version, pool / pool.sum(axis=1, keepdims=True), f["truth"], f["n"], vote, skill)
