"""NumberCrowd: the numbers that a crowd gave, as tensors in standard units, in the order of the features' rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor

from ...core.errors import DataError
from ...core.vocabulary import as_series
from ...core.votes import Votes
from ...kinds.numbers.votes import Numbers, number_votes
from ..feeding.crowd import Rows, in_rows
from ..feeding.data import FeatureError

F8 = npt.NDArray[np.float64]
# An answer further from the task's median than this many usual distances, those between tasks included, is pulled to
# it: one slip of the keyboard (1e6 among numbers of order 1) would otherwise be all that a squared error sees.
FURTHEST = 8.0


@dataclass(frozen=True, eq=False)
class Units:
    """The crowd's own units: value = centre + scale · (what the net says), each by part."""

    centre: F8
    scale: F8

    @classmethod
    def of(cls, votes: Votes[Numbers]) -> Units:
        """Mean and standard deviation of the answers; numbers that are all equal have scale 1."""
        value, weight = votes.answers.value, votes.weight
        if not len(value):
            return cls(np.zeros(value.shape[1]), np.ones(value.shape[1]))
        centre = np.average(value, axis=0, weights=weight)
        spread = np.sqrt(np.average((value - centre) ** 2, axis=0, weights=weight))
        return cls(centre, np.where(spread > 1e-9 * np.abs(value).max(axis=0), spread, 1.0))

    def inward(self, value: F8) -> F8:
        """Standard units."""
        found: F8 = (value - self.centre) / self.scale
        return found

    def outward(self, value: F8) -> F8:
        """The crowd's units again."""
        found: F8 = self.centre + self.scale * value
        return found


@dataclass(frozen=True, eq=False)
class NumberCrowd(Rows):
    """Answers to `n_tasks` tasks as task, worker, label[row, part], weight, sorted by task; a task may have none."""

    n_tasks: int
    n_workers: int
    task: Tensor
    worker: Tensor
    label: Tensor
    weight: Tensor
    offset: Tensor

    @property
    def n_outputs(self) -> int:
        """One number a part of the answer."""
        return int(self.label.shape[1])

    @classmethod
    def of(cls, votes: Votes[Numbers], tasks: pl.Series | None = None, units: Units | None = None) -> Self:
        """The votes as tensors, in `units` (by default their own); `tasks` names the rows of the features."""
        value = votes.answers.value if units is None else units.inward(votes.answers.value)
        order, n_tasks, of, by, weight, offset = in_rows(votes, tasks)
        said = torch.from_numpy(np.ascontiguousarray(value[order], dtype=np.float32))
        return cls(n_tasks, votes.n_workers, of, by, said, weight, offset)

    @classmethod
    def shape(cls, n_workers: int, n_parts: int, n_tasks: int = 0) -> Self:
        """A crowd that has said nothing."""
        none, offset = torch.empty(0, dtype=torch.int64), torch.zeros(n_tasks + 1, dtype=torch.int64)
        return cls(n_tasks, n_workers, none, none, torch.empty(0, n_parts), torch.empty(0), offset)


def numbers_for(y: Any, tasks: Any, n: int) -> tuple[Votes[Numbers], pl.Series]:
    """Votes and the names of the features' rows; rows that weigh nothing are left out."""
    if isinstance(y, Votes):
        if not isinstance(y.answers, Numbers):
            raise FeatureError(
                f"y holds {y.kind.people}; CrowdRegressor learns from numbers, CrowdClassifier from classes"
            )
        votes, names = y, y.tasks if tasks is None else as_series(tasks, "task")
        if tasks is None and len(names) != n:
            raise DataError(
                f"there are {n:,} rows of features for {len(names):,} tasks; say with tasks= which row is which"
            )
    else:
        names = pl.Series("task", np.arange(n) if tasks is None else tasks)
        votes = _from_matrix(y, names, n)
    if len(names) != n:
        raise DataError(f"tasks= names {len(names):,} tasks, X has {n:,} rows")
    if votes.weight is not None:
        votes = votes.take(votes.weight > 0)
    return votes, names


def _from_matrix(y: Any, names: pl.Series, n: int) -> Votes[Numbers]:
    """A wide matrix, one column a worker (missing: nan), or one number a row."""
    if y is None:
        raise FeatureError("CrowdRegressor requires y to be passed, but the target y is None; give what the crowd said")
    try:
        matrix = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y, dtype=np.float64)
    except (TypeError, ValueError):
        raise FeatureError("y must be numbers, one column a worker; a missing one is nan") from None
    if matrix.ndim not in (1, 2) or len(matrix) != n or len(names) != n:
        raise FeatureError(f"y has shape {matrix.shape} and X has {n:,} rows; one row a task is needed")
    if np.isinf(matrix).any() or (matrix.ndim == 1 and np.isnan(matrix).any()):
        raise FeatureError("y contains NaN or infinity; a missing number is nan only in a matrix, one column a worker")
    wide = matrix if matrix.ndim == 2 else matrix[:, None]
    task, worker = np.nonzero(~np.isnan(wide))
    return number_votes(names.gather(task), worker, wide[task, worker], tasks=names, workers=range(wide.shape[1]))


def pulled_in(votes: Votes[Numbers]) -> Votes[Numbers]:
    """The votes with answers no further than FURTHEST usual distances from the median of their task."""
    value = np.array(votes.answers.value)
    for part in range(value.shape[1] if len(value) else 0):
        table = pl.DataFrame({"task": votes.task, "value": value[:, part]})
        middle = table.select(pl.col("value").median().over("task")).to_series().to_numpy()
        away = value[:, part] - middle
        reach = FURTHEST * max(_usual(away), _usual(value[:, part] - np.median(value[:, part])))
        value[:, part] = np.where(np.abs(away) > reach, middle + np.clip(away, -reach, reach), value[:, part])
    return replace(votes, answers=Numbers(value, votes.answers.parts))


def _usual(away: F8) -> float:
    """The median distance of those who are away at all."""
    some = np.abs(away[away != 0])
    return float(np.median(some)) if len(some) else 0.0
