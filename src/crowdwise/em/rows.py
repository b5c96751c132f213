"""Protocol of the rows of labels that the numerical code uses; `Annotations` implements it."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8, I4, I8


class LabelRows(Protocol):
    """Rows sorted by task, then worker: codes of task, worker and label, with a weight where they have one."""

    def __len__(self) -> int: ...

    @property
    def task(self) -> I4: ...  # noqa: D102
    @property
    def worker(self) -> I4: ...  # noqa: D102
    @property
    def label(self) -> I4: ...  # noqa: D102
    @property
    def weight(self) -> F8 | None: ...  # noqa: D102
    @property
    def cell(self) -> I4: ...  # noqa: D102
    @property
    def task_offsets(self) -> I8: ...  # noqa: D102
    @property
    def labels_per_task(self) -> I8: ...  # noqa: D102
    @property
    def n_tasks(self) -> int: ...  # noqa: D102
    @property
    def n_workers(self) -> int: ...  # noqa: D102
    @property
    def n_classes(self) -> int: ...  # noqa: D102

    def count_votes(self) -> F8:
        """Return votes[task, class] as a new array."""

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Return some of the rows."""


def row_weights(rows: LabelRows) -> F8:
    """Return the weight of each row, one by default."""
    return np.ones(len(rows)) if rows.weight is None else rows.weight
