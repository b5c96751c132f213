"""Parts of annotations on disk as memory-mapped arrays.

    part-00000/offsets.npy   rows of task i are offsets[i] .. offsets[i + 1]
               cell.npy      worker * n_classes + label of every row
               weight.npy    (time, duration, confidence) if the votes have them
               tasks.arrow   names of the tasks, sorted

A pass reads offsets and cells only; codes of tasks, workers and labels are computed on access.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.arrays import I4
from ..core.errors import DataError
from ..core.faults import FAULTS, first_line
from ..core.intake.coding import NUMBERS
from ..core.ledger import Ledger
from ..em.sources import Sizes
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.answers import Classes

# Smaller files (bytes) are read at once.
SMALL = 4096
OFFSETS, CELL, TASKS = "offsets.npy", "cell.npy", "tasks.arrow"


def part_folder(folder: str | Path, number: int) -> Path:
    """Return the folder of a part."""
    return Path(folder) / f"part-{number:05d}"


class Mapped(Annotations):
    """A part on disk as annotations, whose columns are read on access."""

    @classmethod
    def open(cls, folder: Path, workers: Path, classes: pl.Series, n_workers: int, order: I4 | None) -> Mapped:
        """Open the part in a folder."""
        self = object.__new__(cls)
        offsets, cell = _mapped(folder / OFFSETS), _mapped(folder / CELL)
        if len(offsets) == 0 or int(offsets[-1]) != len(cell):
            raise DataError(f"{folder / CELL} is damaged: it has {len(cell):,} rows; plan again")
        numbers = {name: _mapped(folder / f"{name}.npy") for name in NUMBERS if (folder / f"{name}.npy").exists()}
        vars(self).update(
            dict.fromkeys(NUMBERS),
            about_rows=None,
            about_workers=None,
            about_tasks=None,
            links=None,
            ledger=Ledger(len(cell), len(cell)),
            task_offsets=offsets,
            cell=cell,
            **numbers,
            _place=(folder, workers, classes, n_workers, order),
        )
        return self

    def __getattr__(self, name: str) -> Any:
        """Compute codes and names on first access."""
        location = vars(self).get("_place")
        if location is None:
            raise AttributeError(name)
        folder, workers, classes, _, order = location
        k = np.int32(len(classes))
        if name == "task":
            value: Any = np.repeat(np.arange(self.n_tasks, dtype=np.int32), np.diff(self.task_offsets))
        elif name == "worker":
            value = self.cell // k
        elif name == "answers":
            value = Classes(self.cell % k, classes, order)
        elif name == "tasks":
            value = _names(folder / TASKS).rename("task")
        elif name == "workers":
            value = _worker_names(str(workers))
        else:
            raise AttributeError(name)
        vars(self)[name] = value
        return value

    def __dir__(self) -> list[str]:
        """Include the columns that are read on access."""
        return sorted({*super().__dir__(), *Annotations.__dataclass_fields__})

    def __len__(self) -> int:
        return len(self.cell)

    @property
    def n_tasks(self) -> int:
        """Number of tasks, including those without answers."""
        return len(self.task_offsets) - 1

    @property
    def n_workers(self) -> int:
        """Number of workers of all parts."""
        return int(vars(self)["_place"][3])

    @property
    def n_classes(self) -> int:
        """Number of classes of all parts."""
        return len(vars(self)["_place"][2])

    @property
    def classes(self) -> pl.Series:
        """The classes of all parts."""
        classes: pl.Series = vars(self)["_place"][2]
        return classes

    def plain(self) -> Annotations:
        """Return the same annotations in memory."""
        numbers: dict[str, Any] = {name: np.array(values) for name, values in self.numbers.items()}
        return Annotations(
            task=self.task, worker=self.worker, answers=self.answers, tasks=self.tasks, workers=self.workers,
            ledger=self.ledger, **numbers,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class OnDisk:
    """Parts in a folder, as a source that is small to send: its receiver opens the parts.

    `gold` holds for each part codes of tasks and their known classes.
    """

    folder: str
    rows: int
    tasks: tuple[int, ...]
    n_workers: int
    class_names: tuple[Any, ...]
    order: I4 | None = None
    gold: tuple[tuple[npt.NDArray[np.int64], I4], ...] | None = None
    stays: bool = False

    @property
    def sizes(self) -> Sizes:
        """Numbers of rows, workers and tasks."""
        return Sizes(self.rows, self.n_workers, self.tasks)

    def part(self, number: int) -> Annotations:
        """Return a part."""
        return self.mapped_part(number)

    def gold_codes(self, number: int) -> I4 | None:
        """Return the known class of each task of a part, n_classes if unknown; None without gold."""
        if self.gold is None:
            return None
        at, label = self.gold[number]
        gold = np.full(self.tasks[number], len(self.class_names), dtype=np.int32)
        gold[at] = label
        return gold

    def mapped_part(self, number: int) -> Mapped:
        """Return a part with all its tasks and workers."""
        folder = part_folder(self.folder, number)
        workers = Path(self.folder) / "workers.parquet"
        return Mapped.open(folder, workers, self.classes, self.n_workers, self.order)

    @cached_property
    def classes(self) -> pl.Series:
        """The classes of all parts."""
        return pl.Series("label", list(self.class_names))


def _mapped(path: Path) -> npt.NDArray[Any]:
    try:
        large = path.stat().st_size > SMALL
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r" if large else None, allow_pickle=False)
        return array
    except FileNotFoundError:
        raise DataError(f"{path} has vanished; plan again") from None
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} is damaged ({first_line(error)}); plan again") from None


def _names(path: Path) -> pl.Series:
    try:
        return pl.read_ipc(path).to_series()
    except FAULTS as error:
        raise DataError(f"{path} is damaged ({first_line(error)}); plan again") from None


@lru_cache(maxsize=2)
def _worker_names(path: str) -> pl.Series:
    return pl.read_parquet(path)["value"].rename("worker")
