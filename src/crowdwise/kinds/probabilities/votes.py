"""Probabilities as answers: how likely a worker thinks it is that a task is true (or happens)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.intake.coding import encode
from ...core.kind import Kind
from ...core.votes import Votes
from ..numbers.votes import NumberCoder, Numbers, fits

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


KIND = Kind(
    name="probabilities",
    people="probabilities",
    columns={"probability": NAMES},
    coder=ProbabilityCoder,
    default="pooled_probabilities",
    answers_word="probabilities",
    told_by=told_by,
    fits=fits,
    dtypes=(pl.Float64(), pl.Int64()),
    doors={
        "describe": "crowdwise.scoring.probabilities.told:describe",
        "estimate": "crowdwise.kinds.probabilities.estimate:ProbabilityEstimate",
        "picture": "crowdwise.kinds.probabilities.estimate:ProbabilityWorkers",
        "model": "crowdwise.aggregate.probabilities.model:model_of",
        "infer": "crowdwise.aggregate.probabilities.model:infer",
        "distance": distance,
        "said": "crowdwise.aggregate.probabilities.base:said",
        "known": "crowdwise.aggregate.probabilities.base:known",
        "evaluate": "crowdwise.scoring.probabilities.evaluate:evaluate",
        "compare": "crowdwise.scoring.alike.compare:compare_alike",
        "decisions": "crowdwise.aggregate.probabilities.decisions:decided",
        "calibrate": "crowdwise.aggregate.decisions.checked:calibrate",
        "trust": "crowdwise.scoring.decisions:trust",
        "sentences": "crowdwise.scoring.probabilities.told:sentences",
        "inspect": "crowdwise.scoring.probabilities.told:inspect",
        "show": "crowdwise.scoring.probabilities.told:show",
        "worker_rows": "crowdwise.workers.probabilities.study:worker_rows",
        "study": "crowdwise.workers.probabilities.study:study_probabilities",
        "flags": "crowdwise.workers.probabilities.study:flag_probabilities",
    },
)
