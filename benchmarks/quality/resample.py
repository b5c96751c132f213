"""Fewer labels per task, other tasks, other workers: how steady the comparison is."""

from __future__ import annotations

from typing import Any

import numpy as np

import crowdwise as cw
from crowdwise.core import method_registry as registry

from . import cells, sets
from .ours import _quiet
from .score import score

# Sets with many labels on every task, and how many of them are kept.
DEEP = ("bluebird", "rte", "dog", "temp", "sp_amt", "wsd")
KEPT = (1, 2, 3, 5, 7, 10)
KEEP_SEEDS = 2
# Sets that are fitted in a moment.
LARGEST = 30_000
DRAWS = 4
WORKERS_KEPT = 0.8


def contenders() -> list[str]:
    """One of each kind, and whatever the default is; `auto` fits many times over and is left out."""
    few = [
        "majority_vote",
        "wawa",
        "dawid_skene",
        "one_coin",
        "ibcc",
        "mace",
        "bwa",
        "hierarchical",
        "committee",
    ]
    return [name for name in dict.fromkeys([*few, registry.DEFAULT]) if name in registry.METHODS]


def redundancy(names: list[str], seeds: int, *, fresh: bool) -> list[dict[str, Any]]:
    """Rows of method, set, labels kept per task, seed."""
    jobs = [(name, r, seed) for name in DEEP if name in names for r in KEPT for seed in range(seeds)]
    return [one("redundancy", method, name, r, seed, fresh) for name, r, seed in jobs for method in contenders()]


def others(names: list[str], kind: str, draws: int, *, fresh: bool) -> list[dict[str, Any]]:
    """Rows of method, set and draw, tasks or workers drawn again; only sets of at most LARGEST labels."""
    small = [name for name in names if len(sets.load(name).annotations) <= LARGEST]
    jobs = [(name, draw) for name in small for draw in range(draws)]
    return [one(kind, method, name, 0, draw, fresh) for name, draw in jobs for method in contenders()]


def one(kind: str, method: str, name: str, kept: int, seed: int, fresh: bool) -> dict[str, Any]:
    """One cell."""
    key = {"method": method, "set": name, "kept": kept, "seed": seed, "version": cells.version(method)}
    return cells.cell(kind, key, lambda: _fit(kind, method, name, kept, seed), fresh=fresh)


def _fit(kind: str, method: str, name: str, kept: int, seed: int) -> dict[str, Any]:
    data = sets.load(name)
    rng = np.random.default_rng([seed, 77])
    if kind == "redundancy":
        votes, truth = keep(data.annotations, kept, rng), data.truth
    elif kind == "tasks":
        votes, truth = draw_tasks(data.annotations, data.truth, rng)
    else:
        votes, truth = draw_workers(data.annotations, rng), data.truth
    try:
        return score(_quiet(method, 0, votes).posterior, truth)
    except cw.CrowdwiseError as refusal:
        return {"error": f"refuses: {refusal}"}


def keep(votes: cw.Annotations, kept: int, rng: np.random.Generator) -> cw.Annotations:
    """At most so many labels of every task, at random."""
    order = np.lexsort((rng.random(len(votes)), votes.task))
    place = np.arange(len(votes)) - votes.task_offsets[votes.task[order]]
    return votes.take(np.sort(order[place < kept]))


def draw_tasks(votes: cw.Annotations, truth: np.ndarray, rng: np.random.Generator) -> tuple[cw.Annotations, np.ndarray]:
    """Tasks with replacement, those with known truth among themselves; a task drawn twice becomes two tasks."""
    known, unknown = np.flatnonzero(truth >= 0), np.flatnonzero(truth < 0)
    drawn = np.concatenate([rng.choice(part, len(part)) for part in (known, unknown)]).astype(np.int64)
    size = votes.labels_per_task[drawn]
    rows = np.repeat(votes.task_offsets[drawn] - np.cumsum(size) + size, size) + np.arange(size.sum())
    again = cw.Annotations.from_arrays(
        np.repeat(np.arange(len(drawn)), size),
        votes.worker[rows],
        votes.label[rows],
        tasks=range(len(drawn)),
        workers=range(votes.n_workers),
        classes=range(votes.n_classes),
    )
    return again, truth[drawn]


def draw_workers(votes: cw.Annotations, rng: np.random.Generator) -> cw.Annotations:
    """Four fifths of the workers, without replacement: one drawn twice would be a perfect copy, which no crowd has."""
    stay = rng.random(votes.n_workers).argsort() < max(1, round(WORKERS_KEPT * votes.n_workers))
    return votes.take(stay[votes.worker])
