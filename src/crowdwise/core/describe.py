"""Summaries of a set of votes as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .votes import Votes


def common(votes: Votes[Any]) -> dict[str, Any]:
    """Facts about votes of any kind: sizes, answers per task and worker, connectivity of the graph, ledger."""
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


def _spread(values: npt.NDArray[np.int64]) -> dict[str, float]:
    if not len(values):
        return {"min": 0, "median": 0.0, "mean": 0.0, "max": 0}
    return {
        "min": int(values.min()),
        "median": float(np.median(values)),
        "mean": float(values.mean()),
        "max": int(values.max()),
    }


def _components(votes: Votes[Any]) -> int:
    """Number of connected components of the graph of tasks and workers that have labels."""
    if not len(votes):
        return 0
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = votes.n_tasks + votes.n_workers
    ones = np.ones(len(votes), dtype=np.int8)
    graph = coo_array((ones, (votes.task, votes.worker + votes.n_tasks)), shape=(size, size))
    component = connected_components(graph, directed=False, return_labels=True)[1]
    has_labels = np.concatenate([votes.labels_per_task > 0, votes.labels_per_worker > 0])
    return len(np.unique(component[has_labels]))
