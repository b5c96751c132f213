"""The votes beside their result: what `workers` and `report` need when they are given a run folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from ..core.errors import DataError, unwritable
from ..core.intake.columns import VOTE
from ..core.result import Result
from ..kinds.classes import Annotations
from .parquet import NAMES, read_columns
from .sources import printable

FILE = "votes.parquet"


def save_votes(annotations: Annotations, folder: Path) -> None:
    """Write the votes, with the user's own ids, into the folder of a run."""
    try:
        annotations.to_frame().write_parquet(folder / FILE)
    except OSError as error:
        raise unwritable(folder, error) from error


def load_votes(folder: Path, result: Result) -> Annotations:
    """The votes that the result in this folder was fitted on."""
    if not (folder / FILE).is_file():
        raise DataError(f"{folder} holds a result but not its votes ({FILE}); name the file of votes instead")
    kinds = dict.fromkeys(VOTE, NAMES) | dict.fromkeys(("weight", "time"), (pl.Float64(), pl.Int64()))
    try:
        frame = read_columns(folder / FILE, kinds)
        missing = [name for name in VOTE if name not in frame.columns]
        if missing:
            raise DataError(f"the column {missing[0]} is missing")
        votes = Annotations.from_arrays(
            *(frame[name] for name in VOTE),
            weight=frame["weight"] if "weight" in frame.columns else None,
            time=frame["time"] if "time" in frame.columns else None,
            tasks=result.tasks,
            workers=result.workers,
            classes=result.classes,
            duplicates="keep",
        )
        if not np.array_equal(votes.labels_per_task > 0, result.labels_per_task > 0):
            raise DataError("its tasks are not those of the result")
    except DataError as error:
        raise DataError(f"{printable(str(folder / FILE))} is damaged ({error})") from error
    return votes
