"""Base classes of the estimates of tasks and workers that a Result holds, shows and stores, for any kind of answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from inspect import get_annotations
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from .arrays import I8, Mask
from .registry import get

Arrays = Mapping[str, npt.NDArray[Any]]
# name -> (axes, type, range), as in `Axes`. Types: "f" floats, "i" integers, "b" booleans.
Rules = Mapping[str, tuple[str, str, str]]


class Axes:
    """Marks a field of an estimate as an array of the run folder: `Annotated[F8, Axes("nk", "shares")]`.

    The type of the array follows from the annotation; a field that may be None need not be in the folder.

    Args:
        axes: n tasks, m workers, k the size of the vocabulary, * any number.
        values: "shares" sum to one over the last axis, "amounts" are not negative, "skills" lie in 0..1 or are NaN,
            "finite" values are neither infinite nor NaN, "any" is unrestricted.
    """

    def __init__(self, axes: str, values: Literal["shares", "amounts", "skills", "finite", "any"] = "any") -> None:
        self.axes, self.values = axes, values


class StoredArrays:
    """Named arrays with rules that a loaded file must satisfy, read from the annotations of the fields."""

    rules: ClassVar[Rules] = {}
    needed: ClassVar[tuple[str, ...]] = ()
    # The field with the vocabulary that the arrays refer to, if there is one; it is stored in a file of its own.
    vocabulary: ClassVar[str | None] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "rules" in vars(cls):  # written out, for arrays that are not fields
            return
        for name, hint in get_annotations(cls, eval_str=True).items():
            for part in (hint, *get_args(hint)):  # Annotated, or Annotated | None
                stored = next((m for m in getattr(part, "__metadata__", ()) if isinstance(m, Axes)), None)
                if stored is not None:
                    cls.rules = {**cls.rules, name: (stored.axes, _kind_of(get_args(part)[0]), stored.values)}
                    cls.needed += (name,) if part is hint else ()

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the stored arrays by name."""
        return {name: getattr(self, name) for name in self.rules if getattr(self, name) is not None}

    def freeze(self) -> None:
        """Make the arrays read-only."""
        for array in self.arrays().values():
            array.setflags(write=False)

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> Self:  # noqa: ARG003
        """Restore from the stored arrays, the vocabulary and the method's parameters."""
        fields: dict[str, Any] = {name: arrays[name] for name in cls.rules if name in arrays}
        if cls.vocabulary is not None:
            fields[cls.vocabulary] = names
        restored = cls(**fields)
        restored.check()
        return restored

    def check(self) -> None:
        """Raise DataError or ValueError if restored arrays contradict each other: the files may have been edited."""


def _kind_of(array_type: Any) -> str:
    """Return "f", "i" or "b" for a type such as NDArray[np.float64]; floats if it does not say."""
    types = get_args(array_type)
    return np.dtype(get_args(types[1])[0]).kind if types else "f"


class Estimate(StoredArrays, ABC):
    """Estimates of all tasks."""

    kind: ClassVar[str]
    # How messages describe the estimate of a task without answers.
    without_labels: ClassVar[str] = "average"

    def __len__(self) -> int:
        """Return the number of tasks: the length of the first array over tasks."""
        return len(getattr(self, next(name for name, (axes, _, _) in self.rules.items() if axes.startswith("n"))))

    @abstractmethod
    def table(self, n_labels: I8) -> dict[str, Any]:
        """Return the columns of `to_table`, one row per task, including the number of its answers as n_labels."""

    def answer_columns(self) -> tuple[str, ...]:
        """Return the names of the answer's columns in files."""
        return tuple(get(self.kind).columns)

    def to_check(self, tasks: pl.Series, picked: I8) -> pl.DataFrame:
        """Return a table of tasks with empty answers, to be filled in and read as gold."""
        blank = pl.Series([None] * len(picked), dtype=pl.String)
        return pl.DataFrame({"task": tasks.gather(picked), **dict.fromkeys(self.answer_columns(), blank)})

    def coder_options(self) -> dict[str, Any]:
        """Return the coder options that read answers in the same way as those of the fit."""
        return {}

    def tables(self, tasks: pl.Series) -> dict[str, pl.DataFrame]:  # noqa: ARG002
        """Return further tables by their file names."""
        return {}

    def facts(self) -> dict[str, Any]:
        """Return plain values for machine-readable output."""
        return {}

    def size(self) -> str:
        """Return the text that follows "by 12 workers", such as ", 3 classes"."""
        return ""

    @abstractmethod
    def summary(self) -> str:
        """Return a short summary, such as: 3 classes, mean confidence 0.871."""


class WorkerSummary(StoredArrays):
    """Estimates of all workers."""

    def table(self) -> dict[str, Any]:
        """Return the columns of `worker_table`, one row per worker: by default all arrays, NaN as null."""
        columns = {name: pl.Series(values) for name, values in self.arrays().items() if values.ndim == 1}
        return {name: column.fill_nan(None) if column.dtype.is_float() else column for name, column in columns.items()}

    def select(self, codes: npt.NDArray[Any], is_known: Mask, **unknown: float) -> Self:
        """Return the summary of other workers, given their codes in this one and which of them are in it.

        Args:
            codes: Code of each worker in this summary.
            is_known: Which of the workers are in this summary.
            unknown: Value of an array for the others; by default NaN for floats and 0 for integers.
        """
        from dataclasses import replace

        selected = {}
        for name, values in self.arrays().items():
            fill = unknown.get(name, np.nan if values.dtype.kind == "f" else 0)
            mask = is_known.reshape(-1, *[1] * (values.ndim - 1))
            rows = values[codes] if len(values) else np.full((len(codes), *values.shape[1:]), fill)
            selected[name] = np.where(mask, rows, fill)
        return replace(self, **selected)  # type: ignore[type-var]
