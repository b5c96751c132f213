"""Voices: all that one judge said of one task, in repeats, prompts and orders, as one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...kinds.classes.annotations import Annotations
from ...maths.logspace import segment_sum

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Voices:
    """A pair each (task, judge) that has rows: share[pair, class] of them that say each class, how many rows they are,
    and the mean confidence that was stated with them (NaN: none)."""

    task: I8
    judge: I8
    share: F8
    rows: I8
    confidence: F8
    n_tasks: int
    n_judges: int

    @property
    def mode(self) -> I8:
        """The class that a pair's rows say most often, the first of several."""
        return np.asarray(self.share.argmax(axis=1), dtype=np.int64)

    def of_tasks(self, tasks: I8) -> F8:
        """share[task, judge, class] less 1/K of these tasks, 0 where a judge is absent."""
        place = np.full(self.n_tasks, -1)
        place[tasks] = np.arange(len(tasks))
        pick = np.flatnonzero(place[self.task] >= 0)
        out = np.zeros((len(tasks), self.n_judges, self.share.shape[1]))
        out[place[self.task[pick]], self.judge[pick]] = self.share[pick] - 1 / self.share.shape[1]
        return out

    def score(self, weight: F8) -> F8:
        """score[task, class]: the judges' shares by weight[pair]."""
        k = self.share.shape[1]
        columns = [np.bincount(self.task, weights=weight * self.share[:, c], minlength=self.n_tasks) for c in range(k)]
        return np.stack(columns, axis=1).astype(np.float64)


def voices(annotations: Annotations) -> Voices:
    """One voice a task and judge; rows of weight 0 say nothing."""
    votes = annotations
    start = np.flatnonzero(np.r_[True, (np.diff(votes.task) != 0) | (np.diff(votes.worker) != 0)][: len(votes)])
    ends = np.append(start, len(votes))
    weight = np.ones(len(votes)) if votes.weight is None else votes.weight
    said = np.zeros((len(votes), votes.n_classes))
    said[np.arange(len(votes)), votes.label] = weight
    share = said if len(start) == len(votes) else segment_sum(said, ends)  # mostly every voice has one row
    total = share.sum(axis=1)
    sure = np.full(len(votes), np.nan) if votes.confidence is None else votes.confidence
    stated = np.isfinite(sure)
    both = np.column_stack([np.where(stated, sure, 0.0), stated.astype(np.float64)])
    summed = both if len(start) == len(votes) else segment_sum(both, ends)
    heard = total > 0
    return Voices(
        task=votes.task[start][heard].astype(np.int64),
        judge=votes.worker[start][heard].astype(np.int64),
        share=share[heard] / total[heard, None],
        rows=np.diff(ends)[heard],
        confidence=np.where(summed[:, 1] > 0, summed[:, 0] / np.maximum(summed[:, 1], 1.0), np.nan)[heard],
        n_tasks=votes.n_tasks,
        n_judges=votes.n_workers,
    )
