"""The votes beside their result: what `workers` and `report` need when they are given a run folder."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from ..annotations import Annotations
from ..errors import DataError
from ..result import Result

FILE = "votes.parquet"


def save_votes(annotations: Annotations, folder: Path) -> None:
    """Write the votes, with the user's own ids, into the folder of a run."""
    try:
        annotations.to_frame().write_parquet(folder / FILE)
    except OSError as error:
        raise DataError(f"{folder} cannot be written ({error.strerror})") from error


def load_votes(folder: Path, result: Result) -> Annotations:
    """The votes that the result in this folder was fitted on."""
    if not (folder / FILE).is_file():
        raise DataError(f"{folder} holds a result but not its votes ({FILE}); name the file of votes instead")
    try:
        frame = pl.read_parquet(folder / FILE)
        votes = Annotations.from_arrays(
            *(frame[name] for name in ("task", "worker", "label")),
            weight=frame["weight"] if "weight" in frame.columns else None,
            time=frame["time"] if "time" in frame.columns else None,
            tasks=result.tasks,
            workers=result.workers,
            classes=result.classes,
            duplicates="keep",
        )
    except (OSError, KeyError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{folder / FILE} is damaged ({' '.join(str(error).split())[:200]})") from error
    return votes
