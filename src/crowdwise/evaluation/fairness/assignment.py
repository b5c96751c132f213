"""Assignment of labels to workers by group, so that no group of tasks gets worse labels than another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import DataError, ParameterError
from ...core.votes import Votes
from ..guarantee.gold import place
from ..guarantee.verdicts import as_verdicts
from .group_counts import count_groups
from .maths import by_group, fair_assignment
from .workers import worker_counts


@dataclass(frozen=True)
class AssignmentPlan:
    """Labels per worker and group, mean accuracy of each group, and the smallest achievable gap."""

    table: pl.DataFrame
    accuracy: dict[str, float]
    within: float
    smallest: float


def assign(
    votes: Votes[Any], *, gold: Any, groups: Any, per_task: float = 3, load: int | None = None, within: float = 0.02
) -> AssignmentPlan:
    """Assign labels of each group to workers by their accuracy there according to gold (shrunk to their overall
    accuracy).

    Args:
        votes: Votes of the workers.
        gold: Known labels.
        groups: Group of each task.
        per_task: Labels needed per task.
        load: Maximum number of labels of one worker.
        within: Highest difference between the mean accuracies of groups; if it cannot be met, the smallest possible
            one.

    Returns:
        The assignment.
    """
    if not 0 <= within <= 1:
        raise ParameterError(f"within must be from 0 to 1, got {within}")
    sample, verdicts = place(gold, as_verdicts(votes), votes.about_workers)
    counts_by_group = count_groups(verdicts, groups, sample)
    counts = worker_counts(votes, counts_by_group)
    shrunk, _ = by_group(counts)
    true = counts.sum(axis=(0, 3)) + 1
    prior = true / true.sum(axis=1, keepdims=True)  # group, true
    accuracy = np.einsum("mzkk,zk->mz", shrunk, prior)
    tasks = counts_by_group.tasks.sum(axis=1)
    max_labels = np.full(votes.n_workers, float(load) if load else float(per_task * tasks.sum()))
    try:
        assignment = fair_assignment(accuracy, tasks, per_task, max_labels, within)
    except ValueError as error:
        raise DataError(f"{error}; raise --load or ask for fewer labels a task") from None
    w, z = np.nonzero(assignment.labels > 1e-6)
    names = [str(name) for name in counts_by_group.names]
    table = pl.DataFrame({
        "worker": votes.workers.gather(w), "group": pl.Series(names).gather(z),
        "labels": assignment.labels[w, z], "accuracy": accuracy[w, z],
    })  # fmt: skip
    return AssignmentPlan(
        table, dict(zip(names, assignment.accuracy.tolist(), strict=True)), assignment.within, assignment.smallest
    )
