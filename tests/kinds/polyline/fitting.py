"""What the methods share: checks, gold, the result, inference on other tasks."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from crowdwise.core import method_registry as registry
from crowdwise.core.errors import DataError, ParameterError
from crowdwise.core.method import Method
from crowdwise.core.result import Result, versions
from crowdwise.core.truth import place_gold, truth_table

from .answers import LineCoder, Lines
from .estimate import LineEstimate, LineWorkers
from .maths import POINTS, in_one_direction, pixels_apart


def line_truth(truth):
    """The tasks of a truth, and their lines."""
    table = truth_table(truth, ("line",), aliases=("label",))
    return table["task"], LineCoder({"line": table["line"]}).finish()


def gold_answers(votes, gold):
    """The codes of the gold tasks, and their lines."""
    names, known = line_truth(gold)
    task, present = place_gold(names.to_frame("task"), votes.tasks)
    rows = np.flatnonzero(present)
    return task[rows].astype(np.int64), known.take(rows)


@dataclass(frozen=True, kw_only=True)
class LineAggregator(Method):
    """Lines with the same number of points, brought into one direction, averaged task by task."""

    takes: ClassVar[str] = "polyline"

    @abstractmethod
    def middle(self, lines, weight):
        """The line in the middle of lines[row, point, x y]."""

    def fit(self, votes, gold=None, *, prior=None, n_shards=1, callback=None):
        """Estimate the line of each task."""
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        if not isinstance(getattr(votes, "answers", None), Lines):
            raise DataError(f"{self.name} takes lines")
        given = None if gold is None else gold_answers(votes, gold)
        return _result(self, votes, _middles(self, votes, given), given)


def _middles(method, votes, given):
    resampled = votes.answers.resampled
    weight = np.ones(len(votes)) if votes.weight is None else np.asarray(votes.weight, dtype=np.float64)
    point = np.zeros((votes.n_tasks, POINTS, 2))
    for task in range(votes.n_tasks):
        rows = np.arange(votes.task_offsets[task], votes.task_offsets[task + 1])
        rows = rows[weight[rows] > 0]
        if len(rows):
            point[task] = method.middle(in_one_direction(resampled[rows]), weight[rows])
    if given is not None:
        point[given[0]] = given[1].resampled
    return point


def _result(method, votes, point, given):
    apart = pixels_apart(votes.answers.resampled, point[votes.task])
    gold = None
    if given is not None:
        gold = np.zeros(votes.n_tasks, dtype=bool)
        gold[given[0]] = True
    return Result(
        method=method.name,
        params=method.params(),
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=LineEstimate(point, _means(apart, votes.task, votes.n_tasks)),
        worker_summary=LineWorkers(_means(apart, votes.worker, votes.n_workers)),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        gold=gold,
        versions=versions(),
    )


def _means(values, group, n):
    count = np.bincount(group, minlength=n)
    return np.where(count > 0, np.bincount(group, values, n) / np.maximum(count, 1), np.nan)


def infer(result, votes):
    """The lines of other tasks; the methods learn nothing about workers that they would need."""
    fitted = registry.method(result.method, **result.params).fit(votes)
    return replace(fitted, params=result.params)
