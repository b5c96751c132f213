"""Base class of the methods for label sets: input checks, gold, worker summary, calibration and inference."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import expit

from ...core.arrays import F8, I8, Mask
from ...core.callback import Callback
from ...core.errors import DataError, LedgerWarning
from ...core.faults import caller_level
from ...core.method import FitOptions, FitOutput, Method
from ...core.model import Model
from ...core.result import FitTrace, Result, UnknownWorkers
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...evaluation.calibration import DecisionHooks, two_sided
from ...stats.gold_calibration import GoldCalibration
from .answers import Sets, align_truth, set_truth
from .estimate import SetPosterior, SetWorkers
from .maths import SetModel, SetRows

I1 = npt.NDArray[np.int8]


@dataclass(frozen=True)
class SetSolution(FitTrace):
    """Output of a method: posterior[task, class], rate[class], and hits and alarms [worker, class] if it fits them."""

    posterior: F8
    rate: F8
    hits: F8 | None = None
    alarms: F8 | None = None


@dataclass(frozen=True, kw_only=True)
class SetAggregator(Method):
    """Base class of the methods for label sets.

    `fit` takes votes or a table task, worker, labels. Gold are known sets of some tasks: a mapping to lists, a table
    task, labels, or a table task, label, value for single classes.
    """

    takes: ClassVar[str] = "sets"

    def fit_votes(self, votes: Votes[Sets], gold: Any, options: FitOptions) -> FitOutput:
        """Estimate the probability of each class; gold replaces the estimates."""
        gold_classes, rows = set_gold(gold, votes), rows_of(votes)
        solution = self.solve(votes, rows, gold_classes, options.callback)
        posterior = (
            solution.posterior
            if gold_classes is None
            else np.where(gold_classes >= 0, gold_classes, solution.posterior)
        )
        offered = None if votes.answers.menu is None else rows.offered_in_task > 0
        return FitOutput(
            estimate=SetPosterior(posterior, solution.rate, votes.answers.classes, offered, getattr(self, "cut", 0.5)),
            worker_summary=summarize_workers(rows, posterior, solution.hits, solution.alarms),
            gold=None if gold_classes is None else np.asarray((gold_classes >= 0).any(axis=1)),
            **solution.trace_fields(),
        )

    @abstractmethod
    def solve(self, votes: Votes[Sets], rows: SetRows, gold: I1 | None, callback: Callback | None) -> SetSolution:
        """Estimate the posterior and, if the method fits them, the rates of the workers."""


def rows_of(votes: Votes[Sets]) -> SetRows:
    """Return the votes as arrays."""
    answers = votes.answers
    return SetRows(
        votes.task,
        votes.worker,
        answers.start,
        answers.code,
        votes.n_tasks,
        votes.n_workers,
        len(answers.classes),
        votes.weight,
        answers.menu,
        answers.menus,
    )


def set_gold(gold: Any, votes: Votes[Sets]) -> I1 | None:
    """Return gold[task, class]: 1 in the set, 0 not in the set, -1 unknown.

    Gold tasks without answers are dropped with a warning.
    """
    if gold is None:
        return None
    table = set_truth(gold, votes.answers.classes)
    tasks, names, truth = table
    unknown = [name for j, name in enumerate(names.to_list()[len(votes.answers.classes) :]) if truth[:, j].size]
    if unknown:
        raise DataError(f"gold names {quote(unknown)}, which no worker was offered; read the votes with these classes")
    has_votes = lookup(votes.tasks, tasks)[1]
    if not has_votes.any():
        raise DataError(f"none of the {len(tasks)} gold tasks is among the tasks with answers ({quote(tasks)})")
    if not has_votes.all():
        n = int((~has_votes).sum())
        warnings.warn(f"{n} gold tasks have no answers and are ignored", LedgerWarning, stacklevel=caller_level())
    return align_truth(table, votes.tasks, votes.answers.classes)


def summarize_workers(rows: SetRows, posterior: F8, hits: F8 | None, alarms: F8 | None) -> SetWorkers:
    """Compare the workers' answers with the posterior."""
    counts = SetModel(rows, None, tied=True).counts(posterior)
    right, true, wrong, false = (
        table[:, 0] for table in (counts.named_true, counts.true, counts.named_false, counts.false)
    )
    answers = np.bincount(rows.worker, weights=rows.weight, minlength=rows.n_workers)

    def share(a: F8, b: F8) -> F8:
        return np.where(b > 0, np.clip(a / np.where(b > 0, b, 1.0), 0.0, 1.0), np.nan)

    return SetWorkers(
        recall=share(right, true),
        precision=share(right, right + wrong),
        f1=share(2 * right, right + wrong + true),
        false_alarms=share(wrong, false),
        named=np.where(answers > 0, (right + wrong) / np.where(answers > 0, answers, 1.0), np.nan),
        hits=hits,
        alarms=alarms,
    )


# ----------------------------------------------------------------
# Estimates and gold as answers, to measure distances between them.


def estimated_answers(votes: Votes[Sets], result: Result) -> Sets:
    """Return the estimated sets as one answer per task."""
    estimate = result.estimate_as(SetPosterior)
    row, code = np.nonzero(estimate.member)
    start = np.searchsorted(row, np.arange(len(estimate) + 1))
    assert len(estimate) == votes.n_tasks
    return Sets(start.astype(np.int64), code.astype(np.int32), estimate.classes)


def gold_answers(votes: Votes[Sets], gold: Any) -> tuple[np.ndarray[Any, Any], Sets]:
    """Return the codes of the tasks whose whole set is known, and their sets."""
    table = set_gold(gold, votes)
    assert table is not None
    tasks = np.flatnonzero((table >= 0).all(axis=1))
    row, code = np.nonzero(table[tasks] == 1)
    start = np.searchsorted(row, np.arange(len(tasks) + 1)).astype(np.int64)
    return tasks, Sets(start, code.astype(np.int32), votes.answers.classes)


# ----------------------------------------------------------------
# Label sets as decisions: a set is correct if it equals the gold set, a class if it is in or out as in gold.


def decisions() -> DecisionHooks:
    """Return how label sets are judged right or wrong."""
    return DecisionHooks("sets", "equal to the known set", _sets, _right, _apply, probable=True, parts=_classes)


def _sets(result: Result) -> tuple[I8, F8]:
    estimate = result.estimate_as(SetPosterior)
    return np.arange(len(estimate)), estimate.confidence


def _right(votes: Votes[Sets], result: Result, gold: Any) -> F8:
    estimate, truth = result.estimate_as(SetPosterior), set_gold(gold, votes)
    assert truth is not None
    offered = np.ones_like(estimate.member) if estimate.asked is None else estimate.asked
    is_complete = ((truth >= 0) | ~offered).all(axis=1) & (truth >= 0).any(axis=1)
    equal = ((truth == estimate.member) | ~offered).all(axis=1)
    return np.where(is_complete, equal.astype(np.float64), np.nan)


def _classes(votes: Votes[Sets], result: Result, gold: Any) -> tuple[I8, F8, F8]:
    """Return task, confidence and outcome of each offered class of each task."""
    estimate, gold_table = result.estimate_as(SetPosterior), set_gold(gold, votes)
    assert gold_table is not None
    offered = np.ones_like(estimate.member) if estimate.asked is None else estimate.asked
    task, code = np.nonzero(offered & (votes.labels_per_task > 0)[:, None])
    member, p, truth = (array[task, code] for array in (estimate.member, estimate.posterior, gold_table))
    right = np.where(truth >= 0, (truth == member).astype(np.float64), np.nan)
    return task.astype(np.int64), np.where(member, p, 1 - p), right


def _apply(
    estimate: SetPosterior, calibration: GoldCalibration, keep: Mask, parts: GoldCalibration | None
) -> SetPosterior:
    sure = np.where(keep, estimate.confidence, calibration.of(estimate.confidence))
    if parts is None:
        return replace(estimate, sure=sure)
    offered = np.ones_like(estimate.member) if estimate.asked is None else estimate.asked
    posterior = two_sided(estimate.posterior, parts, keep[:, None] | ~offered, estimate.cut)
    return replace(estimate, posterior=posterior, sure=sure)


# ----------------------------------------------------------------
# Sets of new tasks by the same workers, with all estimates held fixed.

# Rates are clipped to stay this far from 0 and 1.
EDGE = 1e-9


@dataclass(frozen=True, eq=False)
class SetPredictor(Model[Votes[Sets]]):
    """Fitted model: rate[class], and hits and alarms [worker, class]. Without these it predicts shares of answers."""

    rate: F8
    hits: F8 | None
    alarms: F8 | None

    def posterior(self, votes: Votes[Sets]) -> F8:
        """Return posterior[task, class]."""
        rows = rows_of(votes)
        if self.hits is None or self.alarms is None:
            return np.asarray(np.where(rows.offered_in_task > 0, rows.shares(), self.rate))
        return np.asarray(expit(self._odds(rows)))

    def without_own(self, votes: Votes[Sets]) -> F8:
        """Return posterior[row, class] of each row's task from all answers but the row's own."""
        rows = rows_of(votes)
        is_named = np.zeros((len(votes), rows.n_classes))
        is_named[votes.answers.row, votes.answers.code] = 1.0
        offered: Any = 1.0 if rows.menu is None or rows.menus is None else rows.menus[rows.menu]
        weight = np.ones(len(votes)) if votes.weight is None else votes.weight
        if self.hits is None or self.alarms is None:
            n_offered = rows.offered_in_task[votes.task] - weight[:, None] * offered
            named = rows.named_in_task[votes.task] - weight[:, None] * is_named
            return np.where(n_offered > 1e-12, named / np.where(n_offered > 1e-12, n_offered, 1.0), self.rate)
        hits, alarms = (np.clip(rates, EDGE, 1 - EDGE)[votes.worker] for rates in (self.hits, self.alarms))
        evidence = np.where(is_named > 0, np.log(hits / alarms), np.log1p(-hits) - np.log1p(-alarms))
        return np.asarray(expit(self._odds(rows)[votes.task] - weight[:, None] * evidence * offered))

    def _odds(self, rows: SetRows) -> F8:
        assert self.hits is not None
        assert self.alarms is not None
        rate = np.clip(self.rate, EDGE, 1 - EDGE)
        hits, alarms = (np.clip(rates, EDGE, 1 - EDGE) for rates in (self.hits, self.alarms))
        return rows.log_odds(hits, alarms) + np.log(rate) - np.log1p(-rate)


def model_of(result: Result) -> SetPredictor:
    """Return the fitted model of a result."""
    estimate, summary = result.estimate_as(SetPosterior), result.worker_summary
    assert isinstance(summary, SetWorkers)
    return SetPredictor(estimate.rate, summary.hits, summary.alarms)


def infer(result: Result, votes: Votes[Sets], unknown_workers: UnknownWorkers) -> Result:
    """Estimate the label sets of new tasks by the fitted workers of a result."""
    estimate = result.estimate_as(SetPosterior)
    has_class = lookup(estimate.classes.cast(pl.String), votes.answers.classes.cast(pl.String))[1]
    if not has_class.all():
        new = votes.answers.classes.filter(~pl.Series(has_class))
        raise DataError(f"{result.method} was fitted without the classes {quote(new)}; fit again with them")
    old, is_known = result.worker_codes(votes.workers, unknown_workers)
    model = result.model
    assert isinstance(model, SetPredictor)
    recoded = replace(votes, answers=_recode(votes.answers, estimate.classes))
    hits, alarms = (
        None if rates is None else result.worker_values(rates, old, is_known) for rates in (model.hits, model.alarms)
    )
    posterior = SetPredictor(model.rate, hits, alarms).posterior(recoded)
    rows = rows_of(recoded)
    offered = None if rows.menu is None else rows.offered_in_task > 0
    workers = summarize_workers(rows, posterior, hits, alarms)
    estimates = SetPosterior(posterior, estimate.rate, estimate.classes, offered, estimate.cut)
    return result.for_votes(votes, estimates, workers)


def _recode(answers: Sets, classes: pl.Series) -> Sets:
    """Return the same answers with codes into the classes of the fit."""
    code = lookup(classes.cast(pl.String), answers.classes.cast(pl.String))[0]
    menus = None
    if answers.menus is not None:
        menus = np.zeros((len(answers.menus), len(classes)), dtype=bool)
        menus[:, code] = answers.menus
    codes = code[answers.code] if len(code) else answers.code
    return Sets(answers.start, codes.astype(np.int32), classes, answers.menu, menus)
