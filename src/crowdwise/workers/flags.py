"""Flag: one thing to know about one worker, with its strength, the evidence in words and the tasks behind it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..annotations import Annotations

# What a flag can be called, and what it means for people.
NAMES = {
    "constant": "says one class whatever the task",
    "random": "guesses: the labels do not follow the truth",
    "uninformative": "shares no signal with anybody (cross-covariance)",
    "adversarial": "right less often than guessing would be",
    "colluding": "gives the same wrong answers as others, beyond what independent errors explain",
    "copying": "answers as another worker does, beyond what independent errors explain",
    "outlier": "agrees with the others in a way that no independent worker would",
    "drift": "accuracy changed over time",
    "unknown": "too few labels to say anything",
    "coachable": "takes one class for another steadily, or is right far less often than the crowd: a word may help",
}
# Who bears one of these is left out by `drop_flagged` unless told otherwise: their labels tell nothing or mislead.
REMOVED = ("constant", "random", "uninformative", "colluding")
# Tasks named in a flag at most.
EXAMPLES = 50


@dataclass(frozen=True)
class Flag:
    """`probability` of the accusation, or `p_value` adjusted for the number of tests; `tasks` show it, most telling
    first; `partners` are the other workers it is about. An `unknown` flag has neither number."""

    worker: Any
    name: str
    probability: float | None = None
    p_value: float | None = None
    evidence: str = ""
    tasks: tuple[Any, ...] = ()
    partners: tuple[Any, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "tasks": list(self.tasks), "partners": list(self.partners)}


def examples(annotations: Annotations, tasks: npt.NDArray[Any]) -> tuple[Any, ...]:
    """The names of the first few of these tasks, each once."""
    first = np.sort(np.unique(tasks, return_index=True)[1])[:EXAMPLES]
    return tuple(annotations.tasks.gather(tasks[first]).to_list())


def flag_table(flags: Iterable[Flag]) -> pl.DataFrame:
    """One row a flag: worker, flag, probability, p_value, evidence, partners, tasks (both as text, by commas)."""
    flags = list(flags)
    return pl.DataFrame(
        {
            "worker": pl.Series([f.worker for f in flags], dtype=None if flags else pl.String),
            "flag": pl.Series([f.name for f in flags], dtype=pl.String),
            "probability": pl.Series([f.probability for f in flags], dtype=pl.Float64),
            "p_value": pl.Series([f.p_value for f in flags], dtype=pl.Float64),
            "evidence": pl.Series([f.evidence for f in flags], dtype=pl.String),
            "partners": pl.Series([", ".join(map(str, f.partners)) for f in flags], dtype=pl.String),
            "tasks": pl.Series([", ".join(map(str, f.tasks)) for f in flags], dtype=pl.String),
        }
    )
