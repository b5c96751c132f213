"""assignment: whom to give how many tasks of which group, so that no group gets worse labels than another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import DataError, ParameterError
from ...core.votes import Votes
from ..guarantee.gold import place
from ..guarantee.verdicts import verdicts
from .cells import cells
from .maths import by_group, fair_assignment
from .workers import worker_counts


@dataclass(frozen=True)
class Loads:
    """`table` (worker, group, labels, accuracy), each group's mean accuracy, and the smallest gap that can be had."""

    table: pl.DataFrame
    accuracy: dict[str, float]
    within: float
    smallest: float


def assign(
    votes: Votes[Any], *, gold: Any, groups: Any, per_task: float = 3, load: int | None = None, within: float = 0.02
) -> Loads:
    """Labels of each group for each worker by their accuracy there, as gold shows it (shrunk to their own mean).

    `per_task` labels are wanted of each task; nobody gives more than `load`. Where mean accuracies of groups cannot
    be brought within `within`, the smallest gap is taken and named.
    """
    if not 0 <= within <= 1:
        raise ParameterError(f"within must be from 0 to 1, got {within}")
    sample, found = place(gold, verdicts(votes), votes.about_workers)
    of = cells(found, groups, sample)
    counts = worker_counts(votes, of)
    shrunk, _ = by_group(counts)
    true = counts.sum(axis=(0, 3)) + 1
    prior = true / true.sum(axis=1, keepdims=True)  # group, true
    accuracy = np.einsum("mzkk,zk->mz", shrunk, prior)
    tasks = of.tasks.sum(axis=1)
    most = np.full(votes.n_workers, float(load) if load else float(per_task * tasks.sum()))
    try:
        made = fair_assignment(accuracy, tasks, per_task, most, within)
    except ValueError as error:
        raise DataError(f"{error}; raise --load or ask for fewer labels a task") from None
    w, z = np.nonzero(made.labels > 1e-6)
    names = [str(name) for name in of.names]
    table = pl.DataFrame({
        "worker": votes.workers.gather(w), "group": pl.Series(names).gather(z),
        "labels": made.labels[w, z], "accuracy": accuracy[w, z],
    })  # fmt: skip
    return Loads(table, dict(zip(names, made.accuracy.tolist(), strict=True)), made.within, made.smallest)
