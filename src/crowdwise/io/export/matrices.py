"""Write votes as wide tables: one row per task, one column per worker, in blocks, since the table may be huge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ..csv.cells import to_csv
from .rows import answer_of, frame_of

if TYPE_CHECKING:
    from ...core.vocabulary import Codes
    from ...core.votes import Votes
    from ...kinds.classes.annotations import Annotations
    from ..reading import Reading

MOST_CELLS = 2**31
_BLOCK = 1024


def write_wide(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write CSV with the answers; --format wide reads it."""
    votes = reading.annotations
    answers = frame_of(votes)["label"]
    cells = answers.unique(maintain_order=True)
    codes = answers.cast(pl.Enum(cells)).to_physical().to_numpy().astype(np.int32)
    notes = () if answer_of(votes) == "label" else (f"read it with --format wide --kind {votes.kind.name}",)
    return _write(votes, codes, path, "task", np.array([*cells, None], dtype=object)) + notes


def write_cleanlab(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write CSV with class numbers 0..K-1, as cleanlab's functions need."""
    votes = reading.annotations
    numbers, notes = class_numbers(votes)
    return _write(votes, votes.label, path, "", np.array([*map(str, numbers), None], dtype=object)) + notes


def write_snorkel(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write a .npy file of integers, with -1 for missing labels."""
    votes = reading.annotations
    numbers, notes = class_numbers(votes)
    table = np.array([*numbers, -1], dtype=np.int32)
    shape = (votes.n_tasks, votes.n_workers)
    _refuse(votes)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": np.dtype(np.int32).str, "fortran_order": False, "shape": shape}
        )
        for codes in _blocks(votes, votes.label, votes.n_classes):
            file.write(np.ascontiguousarray(table[codes]).tobytes())
    return (*notes, "tasks and workers are numbered in the order of their names")


def class_numbers(votes: Annotations) -> tuple[list[int], tuple[str, ...]]:
    """Return a number 0..K-1 for each class (the class itself if the classes are these numbers), and notes."""
    names = votes.classes.cast(pl.String).to_list()
    if sorted(names) == sorted(map(str, range(len(names)))):
        return [int(name) for name in names], ()
    shown = ", ".join(f"{i} = {name}" for i, name in enumerate(names[:20]))
    return list(range(len(names))), (f"classes are numbered: {shown}{', ...' if len(names) > 20 else ''}",)


def _write(votes: Votes[Any], answer_codes: Codes, path: Path, corner: str, cells: npt.NDArray[Any]) -> tuple[str, ...]:
    _refuse(votes)
    names = votes.workers.cast(pl.String).to_list()
    tasks = votes.tasks.cast(pl.String)
    if corner in names:
        raise DataError(f"a worker is called {corner!r}, like the column of the tasks; choose another format")
    with path.open("w", encoding="utf-8", newline="") as file:
        for block, codes in enumerate(_blocks(votes, answer_codes, len(cells) - 1)):
            columns = {corner: tasks[block * _BLOCK : block * _BLOCK + len(codes)]}
            columns |= {name: pl.Series(cells[codes[:, w]].tolist(), dtype=pl.String) for w, name in enumerate(names)}
            text = to_csv(pl.DataFrame(columns))
            file.write(text if block == 0 else text.split("\n", _header_lines(names))[-1])
    return ()


def _header_lines(names: list[str]) -> int:
    return 1 + sum(name.count("\n") for name in names)


def _blocks(votes: Votes[Any], codes: Codes, empty_code: int) -> Iterator[npt.NDArray[np.int32]]:
    """Yield codes[task, worker] for blocks of tasks, with `empty_code` for missing answers."""
    for lo in range(0, votes.n_tasks, _BLOCK):
        hi = min(lo + _BLOCK, votes.n_tasks)
        rows = slice(votes.task_offsets[lo], votes.task_offsets[hi])
        block = np.full((hi - lo, votes.n_workers), empty_code, dtype=np.int32)
        block[votes.task[rows] - lo, votes.worker[rows]] = codes[rows]
        yield block


def _refuse(votes: Votes[Any]) -> None:
    is_repeat = (np.diff(votes.task) == 0) & (np.diff(votes.worker) == 0)
    if is_repeat.any():
        raise DataError("a wide table has one cell for a task and a worker; choose --duplicates first or last")
    if votes.n_tasks * votes.n_workers > MOST_CELLS:
        raise DataError(
            f"{votes.n_tasks:,} tasks × {votes.n_workers:,} workers are too many cells for a wide table; choose csv"
        )
