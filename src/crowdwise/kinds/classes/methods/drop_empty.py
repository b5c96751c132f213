"""Leave out tasks without labels and workers without labels before a fit, and add them to its result afterwards.

Empty tasks and workers carry no information, so they must change nothing. Left in a fit, empty tasks would enter the
class prior and the means and quantiles over tasks, and empty workers the random starts, the communities and the
objective: a file with many open tasks would get different labels than the same file without them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.arrays import F8, Mask
from ..annotations import Annotations
from .gold import GoldLabels


@dataclass(frozen=True)
class NonEmpty:
    """The tasks and workers that take part in a fit.

    Attributes:
        tasks: Mask of the tasks with a label of positive weight.
        workers: Mask of the workers with such a label, or with a history from earlier projects.
        label_weight: Summed weight of the labels of each worker in the mask.
    """

    tasks: Mask
    workers: Mask
    label_weight: F8

    @classmethod
    def of(cls, annotations: Annotations, history: F8 | None, *, all_workers: bool) -> NonEmpty | None:
        """Find the non-empty tasks and workers; None where nothing is to be left out, or everything.

        Args:
            annotations: The votes.
            history: Counts of earlier projects; workers with any are included.
            all_workers: Whether to include all workers.
        """
        by_task, by_worker = (
            np.bincount(codes, weights=annotations.weight, minlength=n)
            for codes, n in ((annotations.task, annotations.n_tasks), (annotations.worker, annotations.n_workers))
        )
        tasks, workers = by_task > 0, by_worker > 0
        if history is not None:
            workers |= history.any(axis=(1, 2))
        if all_workers:
            workers |= True
        if (tasks.all() and workers.all()) or not tasks.any():
            return None
        return cls(tasks, workers, by_worker[workers].astype(np.float64))

    def select(self, annotations: Annotations) -> Annotations:
        """Return the annotations of the non-empty tasks and workers, with all classes."""
        return annotations.among(self.tasks, self.workers)

    def select_gold(self, gold: GoldLabels | None) -> GoldLabels | None:
        """Return the gold of the non-empty tasks."""
        return None if gold is None else GoldLabels(gold.label[self.tasks], gold.n_classes)

    def expand_tasks(self, values: Any, fill: Any) -> Any:
        """Return values[task] of all tasks, with `fill` for the empty ones."""
        return _expand(values, self.tasks, fill)

    def expand_workers(self, values: Any) -> Any:
        """Return values[worker] of all workers; empty ones get the mean of the others, weighted by their labels."""
        if values is None or self.workers.all() or not len(values):
            return values
        is_float = values.dtype.kind == "f"
        mean = np.average(values, axis=0, weights=self.label_weight) if is_float else values.dtype.type(0)
        return _expand(values, self.workers, mean)

    def expand_worker_fields(
        self, confusion: F8 | None, counts: F8 | None, extra: Mapping[str, Any], worker_fields: Container[str]
    ) -> dict[str, Any]:
        """Return the worker estimates of a fit for all workers; `worker_fields` names entries of `extra` by worker."""
        counts = None if counts is None else self.expand_workers(counts)
        if counts is not None:
            counts[~self.workers] = 0.0
        return {
            "confusion": self.expand_workers(confusion),
            "counts": counts,
            "extra": {name: self.expand_workers(v) if name in worker_fields else v for name, v in extra.items()},
        }


def _expand(values: Any, mask: Mask, fill: Any) -> Any:
    if values is None or not len(values):  # an array without rows stands for no array
        return values
    out = np.empty((len(mask), *values.shape[1:]), dtype=values.dtype)
    out[mask], out[~mask] = values, fill
    return out
