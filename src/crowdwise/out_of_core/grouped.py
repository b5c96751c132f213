"""Files whose rows are grouped by task: cut between tasks, and checked, instead of shuffled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError
from ..core.vocabulary import as_series, quote
from ..stats.hashing import name_hash
from .chunks import RowChunk
from .mapped import TASKS, part_folder

# Number of ranges in which the hashes of all tasks are compared, one after the other.
RANGES = 16


def cut_by_task(chunks: Iterable[RowChunk]) -> Iterator[RowChunk]:
    """Yield the chunks of a file, cut between tasks."""
    pending: RowChunk | None = None
    for chunk in chunks:
        if pending is not None:
            chunk = _joined(pending, chunk)
        task = as_series(chunk.columns["task"], "task")
        other = (task != task[-1]).fill_null(True).arg_true()
        cut = int(other[-1]) + 1 if len(other) else 0
        if cut:
            yield _slice(chunk, 0, cut)
        pending = _slice(chunk, cut, len(task))
    if pending is not None:
        yield pending


def _slice(chunk: RowChunk, lo: int, hi: int) -> RowChunk:
    columns = {name: values[lo:hi] for name, values in chunk.columns.items()}
    return replace(chunk, columns=columns, notes=chunk.notes if lo == 0 else ())


def _joined(one: RowChunk, two: RowChunk) -> RowChunk:
    columns = {name: _below(one.columns[name], two.columns[name]) for name in one.columns if name in two.columns}
    return replace(two, columns=columns, notes=(*one.notes, *two.notes))


def _below(one: Any, two: Any) -> Any:
    if isinstance(one, pl.Series):
        return pl.concat([one, two.cast(one.dtype)])
    return np.concatenate([one, two])


def check_grouped(folder: Path, parts: int) -> None:
    """Raise if a task is in two parts."""
    hashes = [np.sort(name_hash(_tasks(folder, number))) for number in range(parts)]
    edges = np.linspace(0, 2.0**64, RANGES + 1)[1:-1].astype(np.uint64)
    cuts = [
        np.concatenate([[0], np.searchsorted(sorted_hashes, edges), [len(sorted_hashes)]]) for sorted_hashes in hashes
    ]
    for at in range(RANGES):
        some = np.concatenate(
            [sorted_hashes[cut[at] : cut[at + 1]] for sorted_hashes, cut in zip(hashes, cuts, strict=True)]
        )
        some.sort()
        repeated = some[1:][some[1:] == some[:-1]]
        if len(repeated):
            raise DataError(
                f"{len(repeated):,} tasks have rows in several places (such as {_named(folder, parts, repeated)}), so "
                "the files are not grouped by task; leave --grouped out"
            )


def _tasks(folder: Path, number: int) -> pl.Series:
    return pl.read_ipc(part_folder(folder, number) / TASKS).to_series()


def _named(folder: Path, parts: int, hashes: npt.NDArray[np.uint64]) -> str:
    for number in range(parts):
        names = _tasks(folder, number)
        hit = np.flatnonzero(np.isin(name_hash(names), hashes[:1]))
        if len(hit):
            return quote([names[int(hit[0])]])
    return "?"
