"""Second pass over the votes: write the rows of a range of buckets, coded by the common vocabularies, as a part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.arrays import F8, I4
from ..core.intake.column import Column, damaged
from ..core.intake.repeats import Duplicates, describe_answers, resolve
from ..core.order import offsets, order_by
from .mapped import CELL, OFFSETS, TASKS, part_folder
from .shuffle import Written


@dataclass(frozen=True)
class Codes:
    """The common vocabularies, and for each chunk a table from its codes to the common ones."""

    workers: pl.Series
    classes: pl.Series
    worker_of: Sequence[I4]
    label_of: Sequence[I4]
    numbers: tuple[str, ...]
    text: bool  # whether tasks are text


@dataclass(frozen=True)
class PartFacts:
    """Sizes of a part, known without opening it."""

    rows: int
    tasks: int
    labelled: int  # tasks with a label of positive weight
    labelled_rows: int  # rows of these tasks
    most: int  # largest number of labels of a task
    dropped: Mapping[str, int] = field(default_factory=dict)
    lost: tuple[str, ...] = ()  # names with a replacement character

    def to_dict(self) -> dict[str, Any]:
        """Return the facts under their names in plan.json; `lost` is not stored."""
        facts = asdict(replace(self, lost=()))
        return {_STORED_NAMES.get(name, name): value for name, value in facts.items()}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> PartFacts:
        """Create from the facts in plan.json."""
        names = {stored_name: name for name, stored_name in _STORED_NAMES.items()}
        return PartFacts(**{**{names.get(name, name): value for name, value in stored.items()}, "lost": ()})


# Names in plan.json that differ from those of the fields.
_STORED_NAMES = {"labelled": "heard", "labelled_rows": "heard_rows"}


def write_part(
    number: int,
    folder: Path,
    chunks: Sequence[tuple[int, Written, int, int]],
    codes: Codes,
    duplicates: Duplicates,
) -> tuple[PartFacts, npt.NDArray[np.int64], F8]:
    """Write a part from (chunk number, chunk, first bucket, last bucket).

    Returns its facts, and the labels and the weight of each worker in it.
    """
    task, worker, label, numbers = _gathered(chunks, codes)
    unlabelled = _unlabelled_tasks(chunks, codes.text)
    column = Column.of(pl.concat([task, unlabelled]) if len(unlabelled) else task, "task")
    task_code, n, m = column.codes[: len(task)], len(column.vocabulary), len(codes.workers)
    order = order_by(task_code, n, worker, m)
    if order is not None:
        task_code, worker, label = task_code[order], worker[order], label[order]
        numbers = {name: values[order] for name, values in numbers.items()}

    def contradiction(rows: npt.NDArray[np.int64]) -> str:
        row = int(rows[0])
        labels = codes.classes.gather(np.unique(label[rows])).to_list()
        return describe_answers(column.vocabulary[int(task_code[row])], codes.workers[int(worker[row])], labels)

    rows, dropped = resolve(task_code, worker, (label,), numbers, duplicates, contradiction)
    if rows is not None:
        task_code, worker, label = task_code[rows], worker[rows], label[rows]
        numbers = {name: values[rows] for name, values in numbers.items()}
    part = part_folder(folder, number)
    part.mkdir()
    starts = offsets(task_code, n)
    np.save(part / OFFSETS, starts)
    np.save(part / CELL, worker * np.int32(len(codes.classes)) + label)
    for name, values in numbers.items():
        np.save(part / f"{name}.npy", values)
    pl.DataFrame({"value": column.vocabulary}).write_ipc(part / TASKS)
    weight = numbers.get("weight")
    n_labels = np.diff(starts)
    labelled = n_labels > 0 if weight is None else np.bincount(task_code, weights=weight, minlength=n) > 0
    facts = PartFacts(
        rows=len(task_code),
        tasks=n,
        labelled=int(labelled.sum()),
        labelled_rows=int(n_labels[labelled].sum()),
        most=int(n_labels.max(initial=0)),
        dropped=dropped,
        lost=tuple(damaged(column.vocabulary)),
    )
    labels_per_worker = np.bincount(worker, minlength=m)
    weight_per_worker = np.bincount(worker, weights=weight, minlength=m)
    return facts, labels_per_worker.astype(np.int64), weight_per_worker.astype(np.float64)


def _gathered(chunks: Sequence[tuple[int, Written, int, int]], codes: Codes) -> tuple[pl.Series, I4, I4, dict[str, F8]]:
    kind = pl.String if codes.text else pl.Int64
    task, worker, label = [pl.Series("task", [], dtype=kind)], [_NONE], [_NONE]
    numbers: dict[str, list[F8]] = {name: [np.empty(0)] for name in codes.numbers}
    for number, chunk, lo, hi in chunks:
        if chunk.bounds[hi] == chunk.bounds[lo]:
            continue
        rows = chunk.rows(lo, hi)
        task.append(rows["task"].cast(kind))
        worker.append(codes.worker_of[number][rows["worker"].to_numpy()])
        label.append(codes.label_of[number][rows["label"].to_numpy()])
        for name, values in numbers.items():
            values.append(rows[name].to_numpy())
    joined = {name: np.concatenate(values) for name, values in numbers.items()}
    return pl.concat(task), np.concatenate(worker), np.concatenate(label), joined


_NONE = np.empty(0, dtype=np.int32)


def _unlabelled_tasks(chunks: Sequence[tuple[int, Written, int, int]], text: bool) -> pl.Series:
    """Return the tasks of rows without a worker or a label."""
    kind = pl.String if text else pl.Int64
    some = [(chunk, lo, hi) for _, chunk, lo, hi in chunks if chunk.unlabelled[hi] > chunk.unlabelled[lo]]
    tasks = [chunk.unlabelled_tasks(lo, hi).cast(kind) for chunk, lo, hi in some]
    return pl.concat(tasks) if tasks else pl.Series("task", [], dtype=kind)
