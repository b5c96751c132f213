"""A plan: votes of many files as parts on disk, with their sizes and vocabularies.

    plan.json            files, options, sizes, ledger; written last
    workers.parquet      all workers, sorted; classes.parquet all classes
    per_worker.npz       labels, weight, and rows without a label of each worker
    part-00000/ ...      the parts (out_of_core/mapped.py)

The number of parts depends only on the numbers of rows, workers and classes, and the part of a task only on its name,
so that sums over parts are the same to the last bit on every machine. A plan is reused as long as its files and
options are the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError
from ..core.faults import first_line
from ..core.ledger import Ledger
from ..io.npz import FAULTS, read_npz
from ..io.result_files import read_json
from ..stats.hashing import fingerprint_of, sorted_blocks
from .files import File
from .mapped import OnDisk
from .options import PartitionOptions
from .parts import PartFacts

# For each part the codes of its gold tasks, and their classes.
PlacedGold = tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]], ...]
FORMAT = 1
MARKER, PER_WORKER = "plan.json", "per_worker.npz"


@dataclass(frozen=True, eq=False)
class PartitionPlan:
    """Votes in parts on disk."""

    folder: Path
    files: tuple[File, ...]
    options: Mapping[str, Any]
    ledger: Ledger
    parts: tuple[PartFacts, ...]
    order: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        return (
            f"PartitionPlan({self.n_rows:,} annotations, {self.n_tasks:,} tasks, {len(self.workers):,} workers, "
            f"{len(self.classes)} classes in {len(self.parts)} parts)"
        )

    @property
    def n_rows(self) -> int:
        """Rows in all parts."""
        return sum(part.rows for part in self.parts)

    @property
    def n_tasks(self) -> int:
        """Tasks of all parts, including those without labels."""
        return sum(part.tasks for part in self.parts)

    @cached_property
    def workers(self) -> pl.Series:
        """All workers."""
        return pl.read_parquet(self.folder / "workers.parquet")["value"].rename("worker")

    @cached_property
    def classes(self) -> pl.Series:
        """All classes."""
        return pl.read_parquet(self.folder / "classes.parquet")["value"].rename("label")

    @cached_property
    def per_worker(self) -> dict[str, npt.NDArray[Any]]:
        """labels, weight, unusable of each worker."""
        try:
            return read_npz(self.folder / PER_WORKER, list)
        except FAULTS as error:
            raise DataError(f"{self.folder / PER_WORKER} is damaged ({first_line(error)}); plan again") from None

    @cached_property
    def source(self) -> OnDisk:
        """The parts as a source for fits."""
        order = None if self.order is None else np.array(self.order, dtype=np.int32)
        tasks = tuple(part.tasks for part in self.parts)
        return OnDisk(str(self.folder), self.n_rows, tasks, len(self.workers), tuple(self.classes.to_list()), order)

    @property
    def single_label(self) -> bool:
        """Whether no task has more than one label."""
        return max(part.most for part in self.parts) <= 1

    def fingerprint(self) -> str:
        """Return a hash of the names of all tasks, the same as that of votes in memory."""
        return fingerprint_of(sorted_blocks(lambda: (self.source.mapped_part(i).tasks for i in range(len(self.parts)))))

    def save(self) -> None:
        """Write the marker, which completes the plan."""
        record = {
            "format": FORMAT,
            "files": [asdict(file) for file in self.files],
            "wish": dict(self.options),
            "ledger": self.ledger.to_dict(),
            "parts": [part.to_dict() for part in self.parts],
            "order": self.order,
        }
        new = self.folder / f".{MARKER}.new"
        new.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        new.rename(self.folder / MARKER)

    @staticmethod
    def load(folder: Path) -> PartitionPlan:
        """Load a plan from its folder."""
        if not (folder / MARKER).is_file():
            raise DataError(f"{folder} holds no complete plan: {MARKER} is missing")
        record = read_json(folder / MARKER)
        try:
            if record["format"] != FORMAT:
                raise ValueError(f"format {record['format']!r}")
            ledger = {**record["ledger"]}
            ledger.pop("rows_dropped")
            return PartitionPlan(
                folder,
                tuple(File(**file) for file in record["files"]),
                record["wish"],
                Ledger(**{**ledger, "notes": tuple(ledger["notes"])}),
                tuple(PartFacts.from_dict(part) for part in record["parts"]),
                None if record["order"] is None else tuple(record["order"]),
            )
        except (KeyError, TypeError, ValueError, AssertionError) as error:
            raise DataError(f"{folder / MARKER} is damaged ({first_line(error)}); plan again") from None

    def is_current(self, files: list[File], options: PartitionOptions) -> bool:
        """Whether the plan was made from the same unchanged files with the same options."""
        return list(self.files) == files and dict(self.options) == options.to_dict()
