"""Annotations whose rows lie elsewhere: sizes and vocabularies are here, the rows in the parts of a source.

A method that goes over its rows by `run.spread` alone takes an outline as it takes annotations in memory. One that asks
for the rows themselves is told that they are not here, instead of finding none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError
from ..core.ledger import Ledger
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.answers import Classes
from .sources import Source

if TYPE_CHECKING:
    from ..core.vocabulary import Codes

# What only rows can answer.
ROWS = frozenset(
    [
        "task",
        "worker",
        "label",
        "weight",
        "time",
        "duration",
        "confidence",
        "about_rows",
        "cell",
        "votes",
        "task_offsets",
        "worker_order",
        "worker_offsets",
        "labels_per_task",
        "count_votes",
        "take",
    ]
)


class Outline(Annotations):
    """Annotations without their rows, which `source` has in parts; tasks are numbered through the parts."""

    source: Source[Annotations]

    def __init__(
        self,
        source: Source[Annotations],
        workers: pl.Series,
        classes: pl.Series,
        labels_per_worker: npt.NDArray[np.int64],
        *,
        order: Codes | None = None,
        single: bool = False,
        ledger: Ledger | None = None,
    ) -> None:
        vars(self).update(
            source=source,
            workers=workers,
            tasks=pl.Series("task", [], dtype=pl.String),
            answers=Classes(np.empty(0, dtype=np.int32), classes, order),
            labels_per_worker=labels_per_worker,
            ledger=ledger or Ledger(0, 0),
            about_workers=None,
            _single=single,
        )

    def __getattribute__(self, name: str) -> Any:
        if name in ROWS:
            raise DataError(
                f"these annotations lie in parts on disk, and this method asks for all of them at once ({name}); "
                "take a method that works in parts, such as dawid_skene, or read them into memory"
            )
        return super().__getattribute__(name)

    def __len__(self) -> int:
        return self.source.sizes.rows

    @property
    def n_tasks(self) -> int:
        """Tasks of all parts."""
        return self.source.sizes.n_tasks

    @property
    def single_label(self) -> bool:
        """Whether no task has more than one answer."""
        return bool(vars(self)["_single"])
