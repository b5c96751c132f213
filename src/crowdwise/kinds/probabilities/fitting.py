"""Base class of the methods for probabilities, gold outcomes, and the model behind a result."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from ...core import method_registry as registry
from ...core.arrays import F8, I8, Mask
from ...core.errors import DataError
from ...core.method import FitOptions, FitOutput, Method
from ...core.model import Model
from ...core.params import Between
from ...core.result import Result, UnknownWorkers
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import quote
from ...core.votes import Votes
from ...evaluation.calibration import DecisionHooks, two_sided
from ...stats.gold_calibration import GoldCalibration
from ..numbers.maths.rows import NumberRows
from .answers import Probabilities
from .estimate import ProbabilityEstimate, ProbabilityWorkers
from .maths import CLIP, ProbabilityFit

# Accepted spellings of outcomes.
YES, NO = ("1", "1.0", "true", "yes", "y"), ("0", "0.0", "false", "no", "n")


@dataclass(frozen=True, kw_only=True)
class ProbabilityAggregator(Method):
    """Base class of the methods for probabilities.

    `fit` takes votes or a table task, worker, probability. Gold are known outcomes (0 or 1) of some tasks. Calibration
    corrects the probabilities.

    Args:
        clip: Where log odds are used, answers are clipped to `clip` and 1 - `clip`.
    """

    takes: ClassVar[str] = "probabilities"
    clip: Annotated[float, Between(1e-6, 0.25)] = CLIP

    def fit_votes(self, votes: Votes[Probabilities], gold: Any, options: FitOptions) -> FitOutput:  # noqa: ARG002
        """Fit the method; gold outcomes replace the estimates of their tasks."""
        outcomes = probability_gold(gold, votes)
        rows = rows_of(votes)
        fit = self.solve(rows, outcomes)
        probability = fit.probability if outcomes is None else np.where(np.isnan(outcomes), fit.probability, outcomes)
        return FitOutput(
            estimate=ProbabilityEstimate(probability),
            worker_summary=ProbabilityWorkers(fit.shift, fit.gap, fit.spread, fit.weight),
            gold=None if outcomes is None else np.asarray(~np.isnan(outcomes)),
            trace=fit.trace,
            stage=np.asarray(fit.stage, dtype=np.int64),
            n_iter=fit.n_iter,
            converged=fit.converged,
            extra={"design": fit.design, "share": fit.share, **self.extra_parameters(rows, outcomes)},
        )

    @abstractmethod
    def solve(self, rows: NumberRows, gold: F8 | None) -> ProbabilityFit:
        """Fit the method."""

    @abstractmethod
    def posterior(self, rows: NumberRows, fit: ProbabilityFit) -> F8:
        """Estimate tasks from other rows of the same workers under a fit."""

    def extra_parameters(self, rows: NumberRows, gold: F8 | None) -> dict[str, Any]:  # noqa: ARG002
        """Return further parameters to store in the result."""
        return {}


def rows_of(votes: Votes[Probabilities]) -> NumberRows:
    """Return the rows of positive weight as arrays."""
    value = np.ascontiguousarray(votes.answers.probability)
    return NumberRows(votes.task, votes.worker, value, votes.weight, votes.n_tasks, votes.n_workers).present()


def outcome_table(truth: Any) -> pl.DataFrame:
    """Convert outcomes in any accepted form to a table task, outcome (0 or 1)."""
    table = truth_table(truth, ("outcome",), aliases=("label", "truth", "probability", "value"))
    values = [str(value).strip().lower() for value in table["outcome"].to_list()]
    text = pl.Series("outcome", values, dtype=pl.String)
    bad = ~(text.is_in(YES) | text.is_in(NO))
    if bad.any():
        row = int(bad.arg_true()[0])
        raise DataError(
            f"the outcome of task {quote([table['task'][row]])} is {quote([values[row]])}; outcomes are 1 or 0, "
            "yes or no"
        )
    return table.with_columns(text.is_in(YES).cast(pl.Float64).alias("outcome"))


def probability_gold(gold: Any, votes: Votes[Probabilities]) -> F8 | None:
    """Return gold[task], NaN where unknown."""
    if gold is None:
        return None
    table = outcome_table(gold)
    task, matched = place_gold(table, votes.tasks)
    out = np.full(votes.n_tasks, np.nan)
    out[task[matched]] = table["outcome"].to_numpy()[matched]
    return out


def estimated_answers(votes: Votes[Probabilities], result: Result) -> Probabilities:  # noqa: ARG001
    """Return the estimates as answers, one per task."""
    assert isinstance(result.estimate, ProbabilityEstimate)
    return Probabilities(result.estimate.probability)


def gold_answers(votes: Votes[Probabilities], gold: Any) -> tuple[I8, Probabilities]:
    """Return the codes of the gold tasks and their outcomes as answers."""
    outcomes = probability_gold(gold, votes)
    assert outcomes is not None
    tasks = np.flatnonzero(~np.isnan(outcomes))
    return tasks, Probabilities(outcomes[tasks])


# ----------------------------------------------------------------
# Decisions: a task is likely or not. A decision is right where the outcome is on the same side of 1/2.


def decisions() -> DecisionHooks:
    """Return the decisions that calibration works on."""
    return DecisionHooks("likelier outcomes", "what happened", _outcomes, _right, _apply, probable=True)


def _outcomes(result: Result) -> tuple[I8, F8]:
    p = result.estimate_as(ProbabilityEstimate).probability
    return np.arange(len(p)), np.maximum(p, 1 - p)


def _right(votes: Votes[Probabilities], result: Result, gold: Any) -> F8:
    outcome, p = probability_gold(gold, votes), result.estimate_as(ProbabilityEstimate).probability
    assert outcome is not None
    hit = np.where(np.abs(p - 0.5) < 1e-12, 0.5, ((p > 0.5) == (outcome > 0.5)).astype(np.float64))
    return np.where(np.isnan(outcome), np.nan, hit)


def _apply(estimate: ProbabilityEstimate, calibration: GoldCalibration, keep: Mask, parts: Any) -> ProbabilityEstimate:
    del parts
    return replace(estimate, probability=two_sided(estimate.probability, calibration, keep))


# ----------------------------------------------------------------
# The model behind a result, which estimates other tasks from answers of the same workers.

_WORKER_FIELDS = ("shift", "gap", "spread", "weight")


@dataclass(frozen=True, eq=False)
class ProbabilityModel(Model[Votes[Probabilities]]):
    """A method and its fitted parameters. Worker codes of votes are those of the fit."""

    method: ProbabilityAggregator
    fit: ProbabilityFit

    def posterior(self, votes: Votes[Probabilities]) -> F8:
        """Probability of each task."""
        return self.method.posterior(rows_of(votes), self.fit)


def model_of(result: Result) -> ProbabilityModel:
    """Restore the model behind a result."""
    summary: Any = result.worker_summary
    worker_fields: dict[str, Any] = {name: getattr(summary, name) for name in _WORKER_FIELDS}
    facts: dict[str, Any] = {
        name: float(result.extra.get(name, usual)) for name, usual in (("design", 1.0), ("share", 0.5))
    }
    method = registry.method(result.method, **dict(result.params))
    return ProbabilityModel(method, ProbabilityFit(np.empty(0), **worker_fields, **facts))


def infer(result: Result, votes: Votes[Probabilities], unknown_workers: UnknownWorkers) -> Result:
    """Estimate other tasks from answers of the same workers, without fitting again."""
    codes, is_known = result.worker_codes(votes.workers, unknown_workers)
    model = model_of(result)
    worker_fields: dict[str, Any] = {
        name: result.worker_values(getattr(model.fit, name), codes, is_known, empty=0.0) for name in _WORKER_FIELDS
    }
    fit = replace(model.fit, **worker_fields)
    estimate = ProbabilityEstimate(ProbabilityModel(model.method, fit).posterior(votes))
    return result.for_votes(votes, estimate, ProbabilityWorkers(**worker_fields), extra=result.extra)
