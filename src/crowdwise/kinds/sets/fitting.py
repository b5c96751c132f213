"""What every method for label sets shares: checks, gold, the workers' picture, the Result."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import expit

from ...core.callback import Callback
from ...core.errors import DataError, LedgerWarning, ParameterError
from ...core.method import Method
from ...core.model import Model
from ...core.result import Result, versions
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...evaluation.calibration import Decided, checked, two_sided, wanted
from ...stats.gold_calibration import GoldCalibration
from ..classes.methods.infer import Policy, refuse_strangers
from .answers import Sets, known_of, set_truth
from .estimate import SetPosterior, SetWorkers
from .kind import as_sets
from .maths import SetModel, SetRows

F8 = npt.NDArray[np.float64]
I1 = npt.NDArray[np.int8]


@dataclass(frozen=True)
class SetSolution:
    """What a method works out itself: posterior[task, class], rate[class], and hits and alarms [worker, class]."""

    posterior: F8
    rate: F8
    hits: F8 | None = None
    alarms: F8 | None = None
    trace: F8 = field(default_factory=lambda: np.empty(0))
    stage: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_iter: int = 0
    converged: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SetAggregator(Method):
    """A method for label sets."""

    takes: ClassVar[str] = "sets"

    def fit(
        self,
        votes: Votes[Sets] | Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,  # noqa: ARG002
        callback: Callback | None = None,
        calibrate: bool | None = None,
    ) -> Result:
        """Sets, probabilities and workers' hits and false alarms of these votes, or of a table task, worker, labels.

        `gold` is the known set of some tasks (a mapping to lists, or a table task, labels), or a word on single classes
        (a table task, label, value): it stays put and teaches. `calibrate` corrects the confidence by gold; the default
        method does so unless it is False.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        votes = as_sets(votes)
        known = set_gold(gold, votes)
        found = self.solve(votes, rows_of(votes), known, callback)
        self.warn_unless_settled(found.converged, found.n_iter)
        result = self._result(votes, found, known)
        return checked(self, result, votes, gold) if wanted(self, gold, calibrate) else result

    @abstractmethod
    def solve(self, votes: Votes[Sets], rows: SetRows, gold: I1 | None, callback: Callback | None) -> SetSolution:
        """The method itself."""

    def _result(self, votes: Votes[Sets], found: SetSolution, gold: I1 | None) -> Result:
        rows = rows_of(votes)
        posterior = found.posterior if gold is None else np.where(gold >= 0, gold, found.posterior)
        asked = None if votes.answers.menu is None else rows.asked > 0
        return Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=SetPosterior(posterior, found.rate, votes.answers.classes, asked, getattr(self, "cut", 0.5)),
            picture=picture(rows, posterior, found.hits, found.alarms),
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=None if gold is None else np.asarray((gold >= 0).any(axis=1)),
            trace=found.trace,
            stage=found.stage,
            n_iter=found.n_iter,
            converged=found.converged,
            extra=found.extra,
            versions=versions(),
        )


def rows_of(votes: Votes[Sets]) -> SetRows:
    """The votes as arrays."""
    own = votes.answers
    return SetRows(
        votes.task,
        votes.worker,
        own.start,
        own.code,
        votes.n_tasks,
        votes.n_workers,
        len(own.classes),
        votes.weight,
        own.menu,
        own.menus,
    )


def set_gold(gold: Any, votes: Votes[Sets]) -> I1 | None:
    """gold[task, class]: 1 in the set, 0 not, -1 unknown; tasks that nobody answered are left out with a warning."""
    if gold is None:
        return None
    table = set_truth(gold, votes.answers.classes)
    tasks, names, known = table
    strange = [name for j, name in enumerate(names.to_list()[len(votes.answers.classes) :]) if known[:, j].size]
    if strange:
        raise DataError(f"gold names {quote(strange)}, which no worker was offered; read the votes with these classes")
    here = lookup(votes.tasks, tasks)[1]
    if not here.any():
        raise DataError(f"none of the {len(tasks)} gold tasks is among the annotated tasks ({quote(tasks)})")
    if not here.all():
        n = int((~here).sum())
        warnings.warn(f"{n} gold tasks have no answers and are left out", LedgerWarning, stacklevel=4)
    return known_of(table, votes.tasks, votes.answers.classes)


def picture(rows: SetRows, posterior: F8, hits: F8 | None, alarms: F8 | None) -> SetWorkers:
    """How the workers' answers stand to the posterior."""
    counts = SetModel(rows, None, tied=True).counts(posterior)
    right, true, wrong, false = (
        each[:, 0] for each in (counts.named_true, counts.true, counts.named_false, counts.false)
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
# Label sets as decisions: a set is right where it equals the known one, a class where it is in or out as known.

I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("sets", "equal to the known set", _sets, _right, _apply, probable=True, parts=_classes)


def _own(result: Result) -> SetPosterior:
    assert isinstance(result.estimate, SetPosterior)
    return result.estimate


def _sets(result: Result) -> tuple[I8, F8]:
    own = _own(result)
    return np.arange(len(own)), own.confidence


def _right(votes: Votes[Sets], result: Result, gold: Any) -> F8:
    own, known = _own(result), set_gold(gold, votes)
    assert known is not None
    asked = np.ones_like(own.member) if own.asked is None else own.asked
    whole = ((known >= 0) | ~asked).all(axis=1) & (known >= 0).any(axis=1)
    equal = ((known == own.member) | ~asked).all(axis=1)
    return np.where(whole, equal.astype(np.float64), np.nan)


def _classes(votes: Votes[Sets], result: Result, gold: Any) -> tuple[I8, F8, F8]:
    """Task, confidence and outcome of every class of a task that was offered."""
    own, known = _own(result), set_gold(gold, votes)
    assert known is not None
    asked = np.ones_like(own.member) if own.asked is None else own.asked
    task, code = np.nonzero(asked & (votes.labels_per_task > 0)[:, None])
    member, p, truth = (array[task, code] for array in (own.member, own.posterior, known))
    right = np.where(truth >= 0, (truth == member).astype(np.float64), np.nan)
    return task.astype(np.int64), np.where(member, p, 1 - p), right


def _apply(estimate: SetPosterior, learnt: GoldCalibration, kept: Mask, parts: GoldCalibration | None) -> SetPosterior:
    sure = np.where(kept, estimate.confidence, learnt.of(estimate.confidence))
    if parts is None:
        return replace(estimate, sure=sure)
    asked = np.ones_like(estimate.member) if estimate.asked is None else estimate.asked
    posterior = two_sided(estimate.posterior, parts, kept[:, None] | ~asked, estimate.cut)
    return replace(estimate, posterior=posterior, sure=sure)


# ----------------------------------------------------------------
# What a fit of label sets has learnt, ready to judge other answers of the same workers.

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
