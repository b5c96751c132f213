"""Known outlines of some pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.truth import place_gold, truth_table
from ...core.votes import Votes
from ...kinds.outlines.answers import OutlineCoder, Outlines


def outline_truth(truth: Any) -> tuple[pl.Series, Outlines]:
    """Any way to write down the outlines of pictures: the tasks, and their outlines."""
    if isinstance(truth, dict):
        texts = OutlineCoder({"outlines": list(truth.values())}).texts
        truth = pl.DataFrame({"task": pl.Series(list(truth)), "outlines": texts})
    table = truth_table(truth, ("outlines",), like=("label",))
    try:
        return table["task"], OutlineCoder({"outlines": table["outlines"]}).finish()
    except DataError as error:
        raise DataError(f"the truth: {error}") from None


def known(votes: Votes[Outlines], gold: Any) -> tuple[npt.NDArray[np.int64], Outlines]:
    """Codes of the known pictures, and their outlines."""
    names, outlines = outline_truth(gold)
    task, there = place_gold(names.to_frame("task"), votes.tasks)
    rows = np.flatnonzero(there)
    return task[rows].astype(np.int64), outlines.take(rows)
