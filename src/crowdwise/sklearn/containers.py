"""Input and output containers: numpy, pandas or polars; a wide matrix of tasks × workers, or a long table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8
from ..core.errors import DataError
from ..kinds.classes.annotations import Annotations


class InputError(DataError, ValueError):
    """A DataError that is also a ValueError, which scikit-learn's users expect."""


@dataclass(frozen=True)
class WideMatrix:
    """Filled cells of a wide matrix: their row (task), column (worker) and value (label)."""

    task: npt.NDArray[np.int64]
    worker: npt.NDArray[np.int64]
    value: npt.NDArray[Any]
    shape: tuple[int, int]

    @classmethod
    def of(cls, matrix: npt.NDArray[Any], missing: Any) -> WideMatrix:
        """Return the filled cells: those that are neither None, NaN nor `missing`."""
        is_missing = _missing_cells(matrix)
        if missing is not None and (isinstance(missing, str) == (matrix.dtype.kind in "US") or matrix.dtype == object):
            is_missing |= np.asarray(matrix == missing, dtype=bool)
        task, worker = np.nonzero(~is_missing)
        return cls(task, worker, matrix[task, worker], (matrix.shape[0], matrix.shape[1]))

    def classes(self) -> npt.NDArray[Any]:
        """Return the distinct values, sorted."""
        if not len(self.value):
            raise InputError("X holds no labels: every cell is empty")
        try:
            return np.unique(self.value)
        except TypeError:
            kinds = sorted({type(v).__name__ for v in self.value})
            raise InputError(f"X mixes labels of the types {', '.join(kinds)}; convert them to one type") from None

    def annotations(self, classes: npt.NDArray[Any]) -> Annotations:
        """Return the cells as annotations of these classes; a value that is not a class is an error."""
        code = np.minimum(np.searchsorted(classes, self.value), len(classes) - 1)
        is_unseen = classes[code] != self.value
        if is_unseen.any():
            first = self.value[is_unseen][:1].tolist()[0]
            raise InputError(f"X holds the label {first!r}, which was not seen in fit; fit again")
        n, m = self.shape
        return Annotations.from_arrays(
            self.task, self.worker, code, tasks=range(n), workers=range(m), classes=range(len(classes))
        )


def _missing_cells(matrix: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if matrix.dtype.kind == "f":
        return np.asarray(np.isnan(matrix))
    if matrix.dtype != object:
        return np.zeros(matrix.shape, dtype=bool)
    # pandas' NA cannot be compared, so it is recognised by the name of its type.
    flat = [v is None or type(v).__name__ == "NAType" or (isinstance(v, float) and v != v) for v in matrix.ravel()]
    return np.array(flat, dtype=bool).reshape(matrix.shape)


def library(x: Any) -> str:
    """Return "pandas", "polars", or "numpy" for everything else."""
    name = type(x).__module__.partition(".")[0]
    return name if name in ("pandas", "polars") and hasattr(x, "columns") else "numpy"


def is_long(x: Any) -> bool:
    """Return whether x is a table with columns task, worker and label."""
    return library(x) != "numpy" and {"task", "worker", "label"} <= set(x.columns)


def to_container(values: npt.NDArray[Any], x: Any, tasks: Any) -> Any:
    """Return one value per task in the container type of x; `tasks` names them if x is a long table."""
    kind = library(x)
    if kind == "pandas":
        import pandas as pd

        index = x.index if tasks is None else pd.Index(tasks.to_list(), name="task")
        return pd.Series(values, index=index, name="label")
    if kind == "polars":
        import polars as pl

        series = pl.Series("label", values.tolist() if values.dtype == object else values)
        return series if tasks is None else pl.DataFrame([tasks.rename("task"), series])
    return values


def proba_to_container(posterior: F8, x: Any, classes: npt.NDArray[Any], tasks: Any) -> Any:
    """Return a table with one row per task and one column per class, in the container type of x."""
    kind = library(x)
    if kind == "pandas":
        import pandas as pd

        index = x.index if tasks is None else pd.Index(tasks.to_list(), name="task")
        return pd.DataFrame(posterior, index=index, columns=classes)
    if kind == "polars":
        import polars as pl

        frame = pl.DataFrame({str(name): posterior[:, code] for code, name in enumerate(classes.tolist())})
        return frame if tasks is None else frame.insert_column(0, tasks.rename("task"))
    return posterior
