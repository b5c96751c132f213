"""What every method for probabilities shares: checks, gold, the Result."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core import method_registry as registry
from ...core.callback import Callback
from ...core.errors import DataError, ParameterError
from ...core.intake.columns import pick
from ...core.intake.frames import to_polars
from ...core.method import Method
from ...core.model import Model
from ...core.params import Between
from ...core.result import Result, versions
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...evaluation.calibration import Decided, checked, two_sided, wanted
from ...stats.gold_calibration import GoldCalibration
from ..classes.methods.infer import Policy, refuse_strangers
from ..numbers.maths.rows import Rows
from .estimate import ProbabilityEstimate, ProbabilityWorkers
from .kind import Probabilities, probability_votes, told_by
from .maths import CLIP, Fit

F8 = npt.NDArray[np.float64]
# What outcomes are called.
YES, NO = ("1", "1.0", "true", "yes", "y"), ("0", "0.0", "false", "no", "n")


@dataclass(frozen=True, kw_only=True)
class ProbabilityAggregator(Method):
    """A method for probabilities. Answers nearer to 0 or 1 than `clip` are taken for it where log odds are used."""

    takes: ClassVar[str] = "probabilities"
    clip: Annotated[float, Between(1e-6, 0.25)] = CLIP

    def fit(
        self,
        votes: Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,  # noqa: ARG002
        callback: Callback | None = None,  # noqa: ARG002
        calibrate: bool | None = None,
    ) -> Result:
        """How likely each task is, of votes or of a table task, worker, probability. `gold`: known outcomes, 0 or 1.

        `calibrate` corrects the probabilities by gold; the default method does so unless it is False.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        votes = as_probabilities(votes)
        outcomes = probability_gold(gold, votes)
        rows = rows_of(votes)
        found = self.solve(rows, outcomes)
        self.warn_unless_settled(found.converged, found.n_iter)
        probability = found.probability
        if outcomes is not None:
            probability = np.where(np.isnan(outcomes), probability, outcomes)
        result = Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=ProbabilityEstimate(probability),
            picture=ProbabilityWorkers(found.shift, found.gap, found.spread, found.weight),
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=None if outcomes is None else np.asarray(~np.isnan(outcomes)),
            trace=found.trace,
            stage=np.asarray(found.stage, dtype=np.int64),
            n_iter=found.n_iter,
            converged=found.converged,
            extra={"design": found.design, "share": found.share, **self.learnt(rows, outcomes)},
            versions=versions(),
        )
        return checked(self, result, votes, gold) if wanted(self, gold, calibrate) else result

    @abstractmethod
    def solve(self, rows: Rows, gold: F8 | None) -> Fit:
        """The method itself."""

    @abstractmethod
    def judge(self, rows: Rows, fit: Fit) -> F8:
        """What other rows of the same workers say, under what was learnt."""

    def learnt(self, rows: Rows, gold: F8 | None) -> dict[str, Any]:  # noqa: ARG002
        """What else has to be kept."""
        return {}


def rows_of(votes: Votes[Probabilities]) -> Rows:
    """The rows as arrays, those of weight 0 left out."""
    value = np.ascontiguousarray(votes.answers.probability)
    return Rows(votes.task, votes.worker, value, votes.weight, votes.n_tasks, votes.n_workers).present()


def as_probabilities(votes: Any) -> Votes[Probabilities]:
    """Votes as they are, a table task, worker, probability as votes; anything else is told how to be read."""
    if isinstance(votes, Votes):
        if isinstance(votes.answers, Probabilities):
            return votes
        raise DataError(
            f"probabilities are needed, got {votes.kind.people}; read the file with kind='probabilities' "
            "(--kind probabilities), or take a method for these"
        )
    frame = to_polars(votes)
    wanted = ("task", "worker", "probability")
    picked, _ = pick(frame, dict(told_by(frame.columns) or {}), "the frame", (), wanted)
    return probability_votes(picked.pop("task"), picked.pop("worker"), picked.pop("probability"), **picked)


def outcome_table(truth: Any) -> pl.DataFrame:
    """Any way to write down outcomes as a table task, outcome (0 or 1)."""
    table = truth_table(truth, ("outcome",), like=("label", "truth", "probability", "value"))
    said = [str(value).strip().lower() for value in table["outcome"].to_list()]
    text = pl.Series("outcome", said, dtype=pl.String)
    bad = ~(text.is_in(YES) | text.is_in(NO))
    if bad.any():
        row = int(bad.arg_true()[0])
        raise DataError(
            f"the outcome of task {quote([table['task'][row]])} is {quote([said[row]])}; outcomes are 1 or 0, yes or no"
        )
    return table.with_columns(text.is_in(YES).cast(pl.Float64).alias("outcome"))


def probability_gold(gold: Any, votes: Votes[Probabilities]) -> F8 | None:
    """gold[task], NaN where it is not known."""
    if gold is None:
        return None
    table = outcome_table(gold)
    task, here = place_gold(table, votes.tasks)
    out = np.full(votes.n_tasks, np.nan)
    out[task[here]] = table["outcome"].to_numpy()[here]
    return out


def said(votes: Votes[Probabilities], result: Result) -> Probabilities:  # noqa: ARG001
    """The estimates as one answer a task."""
    assert isinstance(result.estimate, ProbabilityEstimate)
    return Probabilities(result.estimate.probability)


def known(votes: Votes[Probabilities], gold: Any) -> tuple[npt.NDArray[np.int64], Probabilities]:
    """Codes of known tasks and their outcomes."""
    outcomes = probability_gold(gold, votes)
    assert outcomes is not None
    tasks = np.flatnonzero(~np.isnan(outcomes))
    return tasks, Probabilities(outcomes[tasks])


# ----------------------------------------------------------------
# Likely or not as a decision: right where the known outcome is on the same side of one half.

I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("likelier outcomes", "what happened", _outcomes, _right, _apply, probable=True)


def _own(result: Result) -> ProbabilityEstimate:
    assert isinstance(result.estimate, ProbabilityEstimate)
    return result.estimate


def _outcomes(result: Result) -> tuple[I8, F8]:
    p = _own(result).probability
    return np.arange(len(p)), np.maximum(p, 1 - p)


def _right(votes: Votes[Probabilities], result: Result, gold: Any) -> F8:
    outcome, p = probability_gold(gold, votes), _own(result).probability
    assert outcome is not None
    hit = np.where(np.abs(p - 0.5) < 1e-12, 0.5, ((p > 0.5) == (outcome > 0.5)).astype(np.float64))
    return np.where(np.isnan(outcome), np.nan, hit)


def _apply(estimate: ProbabilityEstimate, learnt: GoldCalibration, kept: Mask, parts: Any) -> ProbabilityEstimate:
    del parts
    return replace(estimate, probability=two_sided(estimate.probability, learnt, kept))


# ----------------------------------------------------------------
# What a fit of probabilities has learnt, ready to judge other answers of the same workers.

_OWN = ("shift", "gap", "spread", "weight")


@dataclass(frozen=True, eq=False)
class ProbabilityModel(Model[Votes[Probabilities]]):
    """A method and what it learnt; votes have the workers of the fit, by code."""

    method: ProbabilityAggregator
    fit: Fit

    def posterior(self, votes: Votes[Probabilities]) -> F8:
        """The probability of every task."""
        return self.method.judge(rows_of(votes), self.fit)


def model_of(result: Result) -> ProbabilityModel:
    """The model behind a result."""
    picture: Any = result.picture
    own: dict[str, Any] = {name: getattr(picture, name) for name in _OWN}
    facts: dict[str, Any] = {
        name: float(result.extra.get(name, usual)) for name, usual in (("design", 1.0), ("share", 0.5))
    }
    method = registry.method(result.method, **dict(result.params))
    return ProbabilityModel(method, Fit(np.empty(0), **own, **facts))


def infer(result: Result, votes: Votes[Probabilities], unknown_workers: Policy) -> Result:
    """What the same workers' answers say of other tasks."""
    old, here = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, here, unknown_workers)
    model = model_of(result)
    heard = np.maximum(result.labels_per_worker, 1e-9)
    own: dict[str, Any] = {}
    for name in _OWN:
        values = getattr(model.fit, name)
        usual = float(np.average(values, weights=heard)) if len(values) else 0.0
        own[name] = np.where(here, values[old] if len(values) else usual, usual)
    fit = replace(model.fit, **own)
    return replace(
        result,
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=ProbabilityEstimate(ProbabilityModel(model.method, fit).posterior(votes)),
        picture=ProbabilityWorkers(**own),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        gold=None,
    )
