"""The second pass: the rows of one bucket from all pieces, coded by the vocabularies of all, sorted, on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.intake.column import HALF, Column
from ..core.intake.repeats import Duplicates, resolve, told
from ..core.order import offsets, order_by
from .mapped import CELL, OFFSETS, TASKS, part_folder
from .shuffle import Written

I4 = npt.NDArray[np.int32]
F8 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Codes:
    """What the codes of the pieces mean: vocabularies of all, and where the codes of each piece move to."""

    workers: pl.Series
    classes: pl.Series
    worker_of: Sequence[I4]
    label_of: Sequence[I4]
    numbers: tuple[str, ...]
    text: bool  # whether tasks are text


@dataclass(frozen=True)
class PartFacts:
    """What is known of a part without opening it."""

    rows: int
    tasks: int
    heard: int  # tasks with a label that counts
    heard_rows: int  # rows of these tasks
    most: int  # the most labels that a task has
    dropped: Mapping[str, int] = field(default_factory=dict)
    lost: tuple[str, ...] = ()  # names with a character that is lost


def write_part(
    number: int,
    folder: Path,
    pieces: Sequence[tuple[int, Written, int, int]],
    codes: Codes,
    duplicates: Duplicates,
) -> tuple[PartFacts, npt.NDArray[np.int64], F8]:
    """Write a part from (piece number, piece, first bucket, last bucket); labels and weight of each worker in it."""
    task, worker, label, numbers = _gathered(pieces, codes)
    silent = _silent(pieces, codes.text)
    column = Column.of(pl.concat([task, silent]) if len(silent) else task, "task")
    at, n, m = column.codes[: len(task)], len(column.vocabulary), len(codes.workers)
    order = order_by(at, n, worker, m)
    if order is not None:
        at, worker, label = at[order], worker[order], label[order]
        numbers = {name: values[order] for name, values in numbers.items()}

    def tell(rows: npt.NDArray[np.int64]) -> str:
        row = int(rows[0])
        said = codes.classes.gather(np.unique(label[rows])).to_list()
        return told(column.vocabulary[int(at[row])], codes.workers[int(worker[row])], said)

    kept, dropped = resolve(at, worker, (label,), numbers, duplicates, tell)
    if kept is not None:
        at, worker, label = at[kept], worker[kept], label[kept]
        numbers = {name: values[kept] for name, values in numbers.items()}
    home = part_folder(folder, number)
    home.mkdir()
    starts = offsets(at, n)
    np.save(home / OFFSETS, starts)
    np.save(home / CELL, worker * np.int32(len(codes.classes)) + label)
    for name, values in numbers.items():
        np.save(home / f"{name}.npy", values)
    pl.DataFrame({"value": column.vocabulary}).write_ipc(home / TASKS)
    weight = numbers.get("weight")
    each = np.diff(starts)
    heard = each > 0 if weight is None else np.bincount(at, weights=weight, minlength=n) > 0
    facts = PartFacts(
        rows=len(at),
        tasks=n,
        heard=int(heard.sum()),
        heard_rows=int(each[heard].sum()),
        most=int(each.max(initial=0)),
        dropped=dropped,
        lost=_lost(column.vocabulary),
    )
    said = np.bincount(worker, minlength=m)
    heavy = np.bincount(worker, weights=weight, minlength=m)
    return facts, said.astype(np.int64), heavy.astype(np.float64)


def _gathered(pieces: Sequence[tuple[int, Written, int, int]], codes: Codes) -> tuple[pl.Series, I4, I4, dict[str, F8]]:
    kind = pl.String if codes.text else pl.Int64
    task, worker, label = [pl.Series("task", [], dtype=kind)], [_NONE], [_NONE]
    numbers: dict[str, list[F8]] = {name: [np.empty(0)] for name in codes.numbers}
    for number, piece, lo, hi in pieces:
        if piece.bounds[hi] == piece.bounds[lo]:
            continue
        rows = piece.rows(lo, hi)
        task.append(rows["task"].cast(kind))
        worker.append(codes.worker_of[number][rows["worker"].to_numpy()])
        label.append(codes.label_of[number][rows["label"].to_numpy()])
        for name, values in numbers.items():
            values.append(rows[name].to_numpy())
    joined = {name: np.concatenate(values) for name, values in numbers.items()}
    return pl.concat(task), np.concatenate(worker), np.concatenate(label), joined


_NONE = np.empty(0, dtype=np.int32)


def _silent(pieces: Sequence[tuple[int, Written, int, int]], text: bool) -> pl.Series:
    """Tasks that a row without a worker or a label names."""
    kind = pl.String if text else pl.Int64
    some = [(piece, lo, hi) for _, piece, lo, hi in pieces if piece.silent[hi] > piece.silent[lo]]
    found = [piece.silent_tasks(lo, hi).cast(kind) for piece, lo, hi in some]
    return pl.concat(found) if found else pl.Series("task", [], dtype=kind)


def _lost(names: pl.Series) -> tuple[str, ...]:
    if names.dtype != pl.String:
        return ()
    found: list[Any] = names.filter(names.str.contains(HALF, literal=True)).to_list()
    return tuple(found)
