"""What is in a set of annotations, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..core.votes import Votes

if TYPE_CHECKING:
    from .classes.annotations import Annotations
    from .numbers.votes import Numbers


def common(votes: Votes[Any]) -> dict[str, Any]:
    """What votes of every kind have: sizes, answers per task and worker, the graph of who met whom, ledger."""
    per_task, per_worker = votes.labels_per_task, votes.labels_per_worker
    return {
        "annotations": len(votes),
        "tasks": votes.n_tasks,
        "workers": votes.n_workers,
        "labels_per_task": _spread(per_task),
        "labels_per_worker": _spread(per_worker),
        "tasks_without_labels": int((per_task == 0).sum()),
        "tasks_with_one_label": int((per_task == 1).sum()),
        "tasks_with_several_labels": int((per_task >= 2).sum()),
        "components": _components(votes),
        "workers_with_under_5_labels": int((per_worker < 5).sum()),
        "has_time": votes.time is not None,
        "has_weight": votes.weight is not None,
        "has_duration": votes.duration is not None,
        "has_confidence": votes.confidence is not None,
        "ledger": votes.ledger.to_dict(),
    }


def describe(votes: Annotations) -> dict[str, Any]:
    """Of classes also: how often each was said, unanimous tasks, agreement."""
    class_counts = np.bincount(votes.label, minlength=votes.n_classes)
    several = votes.labels_per_task >= 2
    few = votes.n_tasks * max(votes.n_classes, 1) < 200_000_000
    same = int((several & (votes.votes.astype(bool).sum(axis=1) == 1)).sum()) if few else None
    return {
        **common(votes),
        "classes": votes.n_classes,
        "class_counts": dict(zip(votes.classes.to_list(), class_counts.tolist(), strict=True)),
        "tasks_unanimous": same,
        "pairwise_agreement": _pairwise(votes),
    }


def describe_numbers(votes: Votes[Numbers]) -> dict[str, Any]:
    """Of numbers also: their range, mean and spread, and how much of the spread lies between tasks."""
    value = votes.answers.value
    found = common(votes)
    for j, name in enumerate(votes.answers.names):
        column = value[:, j]
        of_task = np.bincount(votes.task, weights=column, minlength=votes.n_tasks) / np.maximum(
            votes.labels_per_task, 1
        )
        within = float(((column - of_task[votes.task]) ** 2).mean()) if len(column) else float("nan")
        found[name] = {
            "min": float(column.min()) if len(column) else None,
            "mean": float(column.mean()) if len(column) else None,
            "median": float(np.median(column)) if len(column) else None,
            "max": float(column.max()) if len(column) else None,
            "sd": float(column.std()) if len(column) else None,
            "sd_within_tasks": float(np.sqrt(within)),
            "different_values": len(np.unique(column)),
        }
    return found


def _spread(values: npt.NDArray[np.int64]) -> dict[str, float]:
    if not len(values):
        return {"min": 0, "median": 0.0, "mean": 0.0, "max": 0}
    return {
        "min": int(values.min()),
        "median": float(np.median(values)),
        "mean": float(values.mean()),
        "max": int(values.max()),
    }


def _pairwise(votes: Annotations) -> float | None:
    """Share of agreeing pairs among all pairs of labels of one task; None without such pairs."""
    key = votes.task.astype(np.int64) * max(votes.n_classes, 1) + votes.label
    same = np.unique(key, return_counts=True)[1].astype(np.float64)
    n = votes.labels_per_task.astype(np.float64)
    pairs = float((n * (n - 1)).sum())
    return float((same * (same - 1)).sum()) / pairs if pairs else None


def _components(votes: Votes[Any]) -> int:
    """Number of islands in the graph of tasks and workers, those without labels left out."""
    if not len(votes):
        return 0
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = votes.n_tasks + votes.n_workers
    ones = np.ones(len(votes), dtype=np.int8)
    graph = coo_array((ones, (votes.task, votes.worker + votes.n_tasks)), shape=(size, size))
    found = connected_components(graph, directed=False, return_labels=True)[1]
    seen = np.concatenate([votes.labels_per_task > 0, votes.labels_per_worker > 0])
    return len(np.unique(found[seen]))
