"""Answers that are probabilities: how likely a worker thinks it is that a task is true or will happen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.arrays import F8
from ...core.errors import DataError
from ...core.intake.coding import encode
from ...core.intake.columns import first_named
from ...core.votes import Votes
from ..numbers.answers import NumberCoder, Numbers

NAMES = "probability prob chance credence forecast"


class Probabilities(Numbers):
    """Answers with one probability each, between 0 and 1."""

    kind: ClassVar[str] = "probabilities"

    @property
    def names(self) -> tuple[str, ...]:
        """Name of the column in files."""
        return ("probability",)

    @property
    def probability(self) -> F8:
        """probability[row]."""
        return self.value[:, 0]


class ProbabilityCoder(NumberCoder):
    """Read a column of numbers from 0 to 1. Empty cells are missing answers."""

    def __init__(self, columns: dict[str, Any]) -> None:
        columns["value"] = columns.pop("probability")
        super().__init__(columns, low=0.0, high=1.0)
        self.texts = [text.rename("probability") for text in self.texts]

    def admit(self, keep: Any, dropped: dict[str, int]) -> Any:
        """Admit all rows; values outside 0 to 1 raise DataError, with a hint where they look like percentages."""
        value = self._numbers()[0].drop_nulls()
        if len(value) and 1 < float(value.max()) <= 100 and float(value.min()) >= 0:  # type: ignore[arg-type]
            raise DataError(
                f"the probabilities go up to {float(value.max()):g}: are they percentages? Divide them by 100"  # type: ignore[arg-type]
            )
        return super().admit(keep, dropped)

    def finish(self) -> Probabilities:
        """Return the coded probabilities."""
        return Probabilities(super().finish().value)


def detect_columns(header: Sequence[str]) -> Mapping[str, str] | None:
    """Find a column named probability or similar."""
    column = first_named(header, NAMES)
    return None if column is None else {"probability": column}


def probability_votes(task: Any, worker: Any, probability: Any, **more: Any) -> Votes[Probabilities]:
    """Build votes from columns of equal length.

    Args:
        task: Task of each answer.
        worker: Worker of each answer.
        probability: Probability of each answer, from 0 to 1.
        **more: `duplicates`, `tasks`, `workers` and `missing` as in `number_votes`; anything else is a further column
            per answer, such as `weight` or `time`.

    Returns:
        The votes.

    >>> probability_votes([1, 1, 2], ["ann", "bob", "ann"], [0.9, 0.6, 0.2])
    Votes(3 probabilities, 2 tasks, 2 workers)
    """
    policies = {name: more.pop(name) for name in ("duplicates", "tasks", "workers", "missing") if name in more}
    columns = {"task": task, "worker": worker, "probability": probability, **more}
    return Votes._of(encode(columns, ProbabilityCoder, **policies))


def distance(answers: Probabilities, i: npt.NDArray[Any], j: npt.NDArray[Any]) -> F8:
    """Return the absolute difference of the answers in rows i and j."""
    return np.asarray(np.abs(answers.probability[i] - answers.probability[j]))
