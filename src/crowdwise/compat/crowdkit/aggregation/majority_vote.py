"""crowd-kit's MajorityVote: plain votes, or votes weighted by given skills."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ....core.arrays import F8
from ....kinds.classes.annotations import Annotations
from ....kinds.classes.methods.voting import agreement_with
from .base import ProbabilisticAggregator
from .table import columns_of, read
from .utils import add_skills_to_data


@dataclass(eq=False)
class MajorityVote(ProbabilisticAggregator):
    """Vote shares, optionally weighted by `skills` at fit.

    `on_missing_skill` handles workers without a skill: "error", "ignore" (their labels do not count) or "value" (they
    get `default_skill`). Ties go to the class that is first in sorted order, so that the order of the rows does not
    matter. This is crowd-kit's rule too, but under pandas 3 its plain votes go to the class that appears first in the
    data. Unlike in crowd-kit, a task whose voters all have zero weight gets a plain vote (not a row of NaN), and
    negative weights cannot reverse the order of the classes.

    >>> import pandas as pd
    >>> votes = pd.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": ["x", "x", "y"]})
    >>> MajorityVote().fit_predict_proba(votes).round(3).to_dict()
    {'x': {1: 0.667}, 'y': {1: 0.333}}
    """

    default_skill: float | None = None
    on_missing_skill: str = "error"
    skills_: Any = field(init=False, repr=False)

    def fit(self, data: Any, skills: Any = None) -> MajorityVote:
        """Fit to `data` with task, worker, label; `skills` is a Series by worker."""
        if skills is None:
            table = read(data)
            score = table.votes.votes
        else:
            weighted = add_skills_to_data(columns_of(data), skills, self.on_missing_skill, self.default_skill)
            table = read(weighted)
            by_worker = weighted.drop_duplicates("worker").set_index("worker")["skill"]
            score = Ballot(table.votes).scores(by_worker.reindex(table.workers).to_numpy(dtype=np.float64))
        shares = proportions(score, table.votes.votes)
        winners = shares.argmax(axis=1) if shares.size else np.empty(0, dtype=np.int64)
        self.probas_ = table.by_task(shares, None, None, "label")
        self.labels_ = table.labels(winners)
        self.skills_ = table.by_worker(right_shares(table.votes, winners), None, "skill")
        return self

    def fit_predict_proba(self, data: Any, skills: Any = None) -> Any:
        """probas_ of the data: one row a task, one column a class."""
        return self.fit(data, skills).probas_

    def fit_predict(self, data: Any, skills: Any = None) -> Any:
        """labels_ of the data."""
        return self.fit(data, skills).labels_


class Ballot:
    """Weighted votes of one set of rows, for repeated counts under different weights.

    Sums are computed in extended precision and rounded once, so that near ties are decided as by crowd-kit's
    compensated sums, whatever the row order.
    """

    def __init__(self, votes: Annotations) -> None:
        self.votes = votes
        flat = votes.task.astype(np.int64) * votes.n_classes + votes.label
        order = np.argsort(flat, kind="stable")
        self.worker = votes.worker[order]
        self.start = np.flatnonzero(np.diff(flat[order], prepend=-1))
        self.cell = flat[order][self.start]

    def scores(self, weight: F8) -> F8:
        """Return score[task, class]."""
        out = np.zeros(self.votes.n_tasks * self.votes.n_classes)
        if len(self.cell):
            exact = weight.astype(np.longdouble)[self.worker]
            out[self.cell] = np.add.reduceat(exact, self.start).astype(np.float64)
        return out.reshape(self.votes.n_tasks, self.votes.n_classes)


def proportions(score: F8, plain: F8) -> F8:
    """Divide rows by the absolute value of their sum, which preserves order; rows of zeros become plain votes."""
    total = np.abs(score.sum(axis=1, keepdims=True))
    is_zero = np.asarray(~score.any(axis=1))
    if is_zero.any():
        score = np.where(is_zero[:, None], plain, score)
        total = np.where(is_zero[:, None], plain.sum(axis=1, keepdims=True), total)
    return np.asarray(score / np.where(total > 0, total, 1.0))


def right_shares(votes: Annotations, winners: npt.NDArray[Any]) -> F8:
    """Return how often each worker gave the winning label."""
    return agreement_with(votes, np.eye(votes.n_classes)[winners]).share()
