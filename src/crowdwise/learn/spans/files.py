"""Features of tokens from files: a row a token, those of a task one after the other in the order of its text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import DataError
from ...core.vocabulary import quote
from ..feeding.features import read_with


def read_tokens(path: str | Path) -> dict[str, Any]:
    """X, a list of arrays [token, features]; tasks, their names; places, start and end of every token, or None.

    An .npz holds `task` and `x` with a row a token, and `start` and `end` where spans count characters; a .parquet the
    same as columns.
    """
    tasks, x, extra = read_with(path, ("start", "end"))
    name = Path(path).name
    if tasks is None:
        raise DataError(f"{name}: features of tokens must say which task each is of; give .npz or .parquet with `task`")
    if x.ndim != 2:
        raise DataError(f"{name}: a token needs a row of numbers, got shape {x.shape[1:]} each")
    if len(extra) == 1:
        raise DataError(f"{name} has {next(iter(extra))} of the tokens alone; give start and end, or neither")
    first = np.concatenate([[0], np.flatnonzero((tasks != tasks.shift(1)).fill_null(True).to_numpy()[1:]) + 1])
    names = tasks.gather(first)
    twice = names.filter(names.is_duplicated())
    if len(twice):
        raise DataError(f"{name}: the tokens of task {quote(twice.unique(maintain_order=True))} do not stand together")
    places = np.stack([extra["start"], extra["end"]], axis=1) if extra else None
    return {
        "X": np.split(x, first[1:]),
        "tasks": pl.Series("task", names),
        "places": None if places is None else np.split(places, first[1:]),
    }
