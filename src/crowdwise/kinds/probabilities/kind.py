"""Probabilities as answers: how likely a worker thinks it is that a task is true (or happens)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.intake.coding import encode
from ...core.kind import Kind
from ...core.votes import Votes
from ..hooks import DecidedHooks
from ..numbers.kind import NumberCoder, Numbers, fits

if TYPE_CHECKING:
    from ...core.estimate import Estimate, WorkerPicture
    from ...core.model import Model
    from ...core.result import Result
    from ...evaluation.calibration import Decided
    from ...evaluation.scores import Table
    from ...workers.flags import Flag
    from ...workers.studied import Studied

F8 = npt.NDArray[np.float64]
NAMES = "probability prob chance credence forecast"


class Probabilities(Numbers):
    """probability[row], 0 to 1."""

    kind: ClassVar[str] = "probabilities"

    @property
    def names(self) -> tuple[str, ...]:
        """The column's name in files."""
        return ("probability",)

    @property
    def probability(self) -> F8:
        """One number a row."""
        return self.value[:, 0]


class ProbabilityCoder(NumberCoder):
    """A column of numbers from 0 to 1; an empty cell is no answer."""

    def __init__(self, columns: dict[str, Any]) -> None:
        columns["value"] = columns.pop("probability")
        super().__init__(columns, low=0.0, high=1.0)
        self.texts = [text.rename("probability") for text in self.texts]

    def admit(self, keep: Any, dropped: dict[str, int]) -> Any:
        """All rows; what is no probability is refused, percentages with advice."""
        value = self._numbers()[0].drop_nulls()
        if len(value) and 1 < float(value.max()) <= 100 and float(value.min()) >= 0:  # type: ignore[arg-type]
            raise DataError(
                f"the probabilities go up to {float(value.max()):g}: are they percentages? Divide them by 100"  # type: ignore[arg-type]
            )
        return super().admit(keep, dropped)

    def finish(self) -> Probabilities:
        """The probabilities."""
        return Probabilities(super().finish().value)


def told_by(header: Sequence[str]) -> Mapping[str, str] | None:
    """A column that is called probability or the like."""
    plain = {name.strip().lower().replace(" ", "_"): name for name in header}
    found = next((plain[name] for name in NAMES.split() if name in plain), None)
    return None if found is None else {"probability": found}


def probability_votes(task: Any, worker: Any, probability: Any, **more: Any) -> Votes[Probabilities]:
    """Votes from equally long columns.

    >>> probability_votes([1, 1, 2], ["ann", "bob", "ann"], [0.9, 0.6, 0.2])
    Votes(3 probabilities, 2 tasks, 2 workers)
    """
    policies = {name: more.pop(name) for name in ("duplicates", "tasks", "workers", "missing") if name in more}
    columns = {"task": task, "worker": worker, "probability": probability, **more}
    return Votes._of(encode(columns, ProbabilityCoder, **policies))


def distance(answers: Probabilities, i: npt.NDArray[Any], j: npt.NDArray[Any]) -> F8:
    """How far two answers are apart."""
    return np.asarray(np.abs(answers.probability[i] - answers.probability[j]))


class ProbabilityHooks(DecidedHooks):
    """What the other packages do for probabilities."""

    display_name = "probabilities"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerPicture]]:
        from .estimate import ProbabilityEstimate, ProbabilityWorkers

        return ProbabilityEstimate, ProbabilityWorkers

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:
        from .scoring import describe

        return describe(votes)

    def model(self, result: Result) -> Model[Any] | None:
        from .fitting import model_of

        return model_of(result)

    def infer(self, result: Result, votes: Votes[Any], unknown_workers: Any) -> Result:
        from .fitting import infer

        return infer(result, votes, unknown_workers)

    def evaluate(self, result: Result | pl.DataFrame, truth: Any, **options: Any) -> Any:
        from .scoring import evaluate

        return self.call(evaluate, result, truth, **options)

    def decisions(self) -> Decided:
        from .fitting import decided

        return decided()

    def sentences(self, votes: Votes[Any], result: Result) -> list[str]:
        from .scoring import sentences

        return sentences(votes, result)

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from .workers import worker_rows

        return worker_rows(result, limit)

    def show(self, result: Result) -> tuple[str, list[Table]]:
        from .scoring import show

        return show(result)

    def inspect(self, facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:
        from .scoring import inspect

        return inspect(facts, limit)

    def study(self, votes: Votes[Any], result: Result, **options: Any) -> Studied:
        from .workers import study_probabilities

        return self.call(study_probabilities, votes, result, **options)

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        from .workers import flag_probabilities

        return flag_probabilities(votes, result)

    def distance(self, answers: Any, i: Any, j: Any) -> F8:
        return distance(answers, i, j)

    def estimated_answers(self, votes: Votes[Any], result: Result) -> Any:
        from .fitting import said

        return said(votes, result)

    def gold_answers(self, votes: Votes[Any], gold: Any) -> tuple[Any, Any]:
        from .fitting import known

        return known(votes, gold)


KIND = Kind(
    name="probabilities",
    hooks=ProbabilityHooks(),
    columns={"probability": NAMES},
    coder=ProbabilityCoder,
    default="pooled_probabilities",
    answers_word="probabilities",
    told_by=told_by,
    fits=fits,
    dtypes=(pl.Float64(), pl.Int64()),
)
