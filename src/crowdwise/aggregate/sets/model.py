"""What a fit of label sets has learnt, ready to judge other answers of the same workers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import expit

from ...core.errors import DataError
from ...core.model import Model
from ...core.result import Result
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...kinds.sets.answers import Sets
from ...kinds.sets.estimate import SetPosterior, SetWorkers
from ...maths.sets.rows import SetRows
from ..strangers import Policy, refuse_strangers
from .base import picture, rows_of

F8 = npt.NDArray[np.float64]
EDGE = 1e-9


@dataclass(frozen=True, eq=False)
class SetJudge(Model[Votes[Sets]]):
    """rate[class], and hits and alarms [worker, class], where the method learns them (else shares are taken)."""

    rate: F8
    hits: F8 | None
    alarms: F8 | None

    def posterior(self, votes: Votes[Sets]) -> F8:
        """posterior[task, class]."""
        rows = rows_of(votes)
        if self.hits is None or self.alarms is None:
            return np.asarray(np.where(rows.asked > 0, rows.shares(), self.rate))
        return np.asarray(expit(self._odds(rows)))

    def without_own(self, votes: Votes[Sets]) -> F8:
        """posterior[row, class] of each row's task, by everybody else."""
        rows = rows_of(votes)
        own = np.zeros((len(votes), rows.n_classes))
        own[votes.answers.row, votes.answers.code] = 1.0
        offered: Any = 1.0 if rows.menu is None or rows.menus is None else rows.menus[rows.menu]
        weight = np.ones(len(votes)) if votes.weight is None else votes.weight
        if self.hits is None or self.alarms is None:
            left = rows.asked[votes.task] - weight[:, None] * offered
            named = rows.votes[votes.task] - weight[:, None] * own
            return np.where(left > 1e-12, named / np.where(left > 1e-12, left, 1.0), self.rate)
        hits, alarms = (np.clip(each, EDGE, 1 - EDGE)[votes.worker] for each in (self.hits, self.alarms))
        said = np.where(own > 0, np.log(hits / alarms), np.log1p(-hits) - np.log1p(-alarms))
        return np.asarray(expit(self._odds(rows)[votes.task] - weight[:, None] * said * offered))

    def _odds(self, rows: SetRows) -> F8:
        assert self.hits is not None
        assert self.alarms is not None
        rate = np.clip(self.rate, EDGE, 1 - EDGE)
        hits, alarms = (np.clip(each, EDGE, 1 - EDGE) for each in (self.hits, self.alarms))
        return rows.log_odds(hits, alarms) + np.log(rate) - np.log1p(-rate)


def model_of(result: Result) -> SetJudge:
    """The model behind a result."""
    estimate, own = result.estimate, result.picture
    assert isinstance(estimate, SetPosterior)
    assert isinstance(own, SetWorkers)
    return SetJudge(estimate.rate, own.hits, own.alarms)


def infer(result: Result, votes: Votes[Sets], unknown_workers: Policy) -> Result:
    """What the same workers' answers say of other tasks."""
    estimate = result.estimate
    assert isinstance(estimate, SetPosterior)
    strange = lookup(estimate.classes.cast(pl.String), votes.answers.classes.cast(pl.String))[1]
    if not strange.all():
        new = votes.answers.classes.filter(~pl.Series(strange))
        raise DataError(f"{result.method} has never seen the classes {quote(new)}; fit again with them")
    old, known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, known, unknown_workers)
    model = result.model
    assert isinstance(model, SetJudge)
    judged = replace(votes, answers=_over(votes.answers, estimate.classes))
    hits, alarms = (_for_these(each, old, known, result.labels_per_worker) for each in (model.hits, model.alarms))
    posterior = SetJudge(model.rate, hits, alarms).posterior(judged)
    rows = rows_of(judged)
    asked = None if rows.menu is None else rows.asked > 0
    return replace(
        result,
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=SetPosterior(posterior, estimate.rate, estimate.classes, asked, estimate.cut),
        picture=picture(rows, posterior, hits, alarms),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        gold=None,
        extra={},
    )


def _over(answers: Sets, classes: pl.Series) -> Sets:
    """The same answers over the classes of the fit."""
    code = lookup(classes.cast(pl.String), answers.classes.cast(pl.String))[0]
    menus = None
    if answers.menus is not None:
        menus = np.zeros((len(answers.menus), len(classes)), dtype=bool)
        menus[:, code] = answers.menus
    own = code[answers.code] if len(code) else answers.code
    return Sets(answers.start, own.astype(np.int32), classes, answers.menu, menus)


def _for_these(table: F8 | None, old: Any, known: Any, labels: Any) -> F8 | None:
    """The rows of these workers; those whom the fit does not know are the average of the others by their answers."""
    if table is None:
        return None
    average = (
        np.average(table, axis=0, weights=np.maximum(labels, 1e-9)) if len(table) else np.full(table.shape[1], 0.5)
    )
    return np.where(known[:, None], table[old] if len(table) else average, average)
