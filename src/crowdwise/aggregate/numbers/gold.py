"""Known values of some tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import quote
from ...core.votes import Votes
from ...kinds.numbers.votes import Numbers

F8 = npt.NDArray[np.float64]


def number_truth(truth: Any, parts: tuple[str, ...]) -> pl.DataFrame:
    """Any way to write down truths as a table task, value[_<part>]..., as numbers."""
    names = [f"value_{part}" if part else "value" for part in parts]
    table = truth_table(truth, names, like=("value", "label"))
    for name in names:
        numbers = table[name].cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
        bad = table.filter(numbers.is_null() | ~numbers.is_finite().fill_null(False))
        if len(bad):
            raise DataError(
                f"the truth of task {quote([bad['task'][0]])} is {quote([bad[name][0]])}, which is no number"
            )
        table = table.with_columns(numbers.alias(name))
    return table


def number_gold(gold: Any, votes: Votes[Numbers]) -> F8 | None:
    """gold[task, part], NaN where it is not known; tasks that nobody answered are left out with a warning."""
    if gold is None:
        return None
    parts = votes.answers.parts
    table = number_truth(gold, parts)
    task, known = place_gold(table, votes.tasks)
    out = np.full((votes.n_tasks, len(parts)), np.nan)
    out[task[known]] = table.drop("task").to_numpy()[known]
    return out
