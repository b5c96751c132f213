"""crowd-kit's MajorityVote: one vote each, or votes weighted by given skills."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ....kinds.classes.annotations import Annotations
from ....kinds.classes.methods.voting import agreeing
from .base import BaseClassificationAggregator
from .table import F8, columns_of, read
from .utils import add_skills_to_data


@dataclass(eq=False)
class MajorityVote(BaseClassificationAggregator):
    """Vote shares, optionally weighted by `skills` at fit; what to do about workers without a skill is
    `on_missing_skill`: "error", "ignore" (their labels do not count) or "value" (they get `default_skill`).

    A tie goes to the class that comes first in sorted order, so that the order of the rows decides nothing. This is
    crowd-kit's rule too, but under pandas 3 its plain votes go to the class that appears first in the data.
    Unlike crowd-kit: a task whose voters all weigh nothing is a plain vote (not a row of NaN), and negative weights
    cannot turn the order of the classes around.

    >>> import pandas as pd
    >>> votes = pd.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": ["x", "x", "y"]})
    >>> MajorityVote().fit_predict_proba(votes).round(3).to_dict()
    {'x': {1: 0.667}, 'y': {1: 0.333}}
    """

    default_skill: float | None = None
    on_missing_skill: str = "error"
    skills_: Any = field(init=False, repr=False)
    probas_: Any = field(init=False, repr=False)

    def fit(self, data: Any, skills: Any = None) -> MajorityVote:
        """`data` with task, worker, label; `skills` a Series by worker."""
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
    """Weighted votes of one set of rows, counted again and again under new weights.

    Sums are taken in extended precision and rounded once, so that neither row order nor rounding decides a near tie
    otherwise than crowd-kit's compensated sums do.
    """

    def __init__(self, votes: Annotations) -> None:
        self.votes = votes
        flat = votes.task.astype(np.int64) * votes.n_classes + votes.label
        order = np.argsort(flat, kind="stable")
        self.worker = votes.worker[order]
        self.start = np.flatnonzero(np.diff(flat[order], prepend=-1))
        self.cell = flat[order][self.start]

    def scores(self, weight: F8) -> F8:
        """score[task, class]."""
        out = np.zeros(self.votes.n_tasks * self.votes.n_classes)
        if len(self.cell):
            exact = weight.astype(np.longdouble)[self.worker]
            out[self.cell] = np.add.reduceat(exact, self.start).astype(np.float64)
        return out.reshape(self.votes.n_tasks, self.votes.n_classes)


def proportions(score: F8, plain: F8) -> F8:
    """Rows divided by the size of their sum, which keeps their order; rows of zeros become plain votes."""
    total = np.abs(score.sum(axis=1, keepdims=True))
    silent = np.asarray(~score.any(axis=1))
    if silent.any():
        score = np.where(silent[:, None], plain, score)
        total = np.where(silent[:, None], plain.sum(axis=1, keepdims=True), total)
    return np.asarray(score / np.where(total > 0, total, 1.0))


def right_shares(votes: Annotations, winners: npt.NDArray[Any]) -> F8:
    """How often each worker said what won."""
    return agreeing(votes, np.eye(votes.n_classes)[winners]).share()
