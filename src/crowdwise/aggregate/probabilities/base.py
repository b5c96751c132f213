"""What every method for probabilities shares: checks, gold, the Result."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError, ParameterError
from ...core.intake.columns import pick
from ...core.intake.frames import to_polars
from ...core.result import Result, versions
from ...core.rules import Between
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import quote
from ...core.votes import Votes
from ...engine.em import Callback
from ...kinds.probabilities.estimate import ProbabilityEstimate, ProbabilityWorkers
from ...kinds.probabilities.votes import Probabilities, probability_votes, told_by
from ...maths.numbers.rows import Rows
from ...maths.probabilities.fit import CLIP, Fit
from ..decisions.checked import checked, wanted
from ..method import Method

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
