"""Tasks that nobody labelled and workers who said nothing: set aside before a fit, given their due after it.

They say nothing, so they must change nothing. Left among the others, silent tasks would enter the class prior, the
means and the quantiles over tasks, and silent workers the random starts, the communities and the objective: a file with
many open tasks would get other labels than the same file without them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..annotations import Annotations
from .gold import Gold

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Heard:
    """Which tasks have a label that counts, and which workers gave one; `labels` of each worker who did."""

    tasks: Mask
    workers: Mask
    labels: F8

    @classmethod
    def of(cls, annotations: Annotations, history: F8 | None, *, all_workers: bool) -> Heard | None:
        """None where nobody is silent, or everybody is. Who has a history, or `all_workers`, stays."""
        votes = annotations
        by_task, by_worker = (
            np.bincount(codes, weights=votes.weight, minlength=n)
            for codes, n in ((votes.task, votes.n_tasks), (votes.worker, votes.n_workers))
        )
        tasks, workers = by_task > 0, by_worker > 0
        if history is not None:
            workers |= history.any(axis=(1, 2))
        if all_workers:
            workers |= True
        if (tasks.all() and workers.all()) or not tasks.any():
            return None
        return cls(tasks, workers, by_worker[workers].astype(np.float64))

    def only(self, annotations: Annotations) -> Annotations:
        """The annotations of those who are heard, the classes as they were."""
        return annotations.among(self.tasks, self.workers)

    def gold(self, gold: Gold | None) -> Gold | None:
        """What is known of the tasks that are heard."""
        return None if gold is None else Gold(gold.label[self.tasks], gold.n_classes)

    def over_tasks(self, values: Any, silent: Any) -> Any:
        """values[task] among all tasks, with `silent` for those that are not heard."""
        return _spread(values, self.tasks, silent)

    def over_workers(self, values: Any) -> Any:
        """values[worker] among all workers; the silent ones get the mean of the others, by their labels."""
        if values is None or self.workers.all() or not len(values):
            return values
        mean = np.average(values, axis=0, weights=self.labels) if values.dtype.kind == "f" else values.dtype.type(0)
        return _spread(values, self.workers, mean)

    def workers_in(
        self, confusion: F8 | None, counts: F8 | None, extra: Mapping[str, Any], each: Container[str]
    ) -> dict[str, Any]:
        """What was found of the workers, among all of them; `each` names the entries of `extra` with a row a worker."""
        counts = None if counts is None else self.over_workers(counts)
        if counts is not None:
            counts[~self.workers] = 0.0
        return {
            "confusion": self.over_workers(confusion),
            "counts": counts,
            "extra": {name: self.over_workers(v) if name in each else v for name, v in extra.items()},
        }


def _spread(values: Any, mask: Mask, rest: Any) -> Any:
    if values is None or not len(values):  # an array without rows stands for none at all
        return values
    out = np.empty((len(mask), *values.shape[1:]), dtype=values.dtype)
    out[mask], out[~mask] = values, rest
    return out
