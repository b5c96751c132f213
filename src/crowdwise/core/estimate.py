"""Base classes of the estimates of tasks and workers that a Result holds, shows and stores, for any kind of answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

Arrays = Mapping[str, npt.NDArray[Any]]
# name -> (axes, type, range). Axes: n tasks, m workers, k the size of the vocabulary, * any number. Types: "f" floats,
# "i" integers, "b" booleans. Ranges: shares sum to one over the last axis, amounts are not negative, skills lie in 0..1
# or are NaN, finite values are neither infinite nor NaN, any is unrestricted.
Rules = Mapping[str, tuple[str, str, str]]


class StoredArrays(ABC):
    """Named arrays with rules that a loaded file must satisfy."""

    rules: ClassVar[Rules]
    needed: ClassVar[tuple[str, ...]] = ()
    # The vocabulary that the arrays refer to, if there is one; it is stored in a file of its own.
    vocabulary: ClassVar[str | None] = None

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the stored arrays by name."""
        return {name: getattr(self, name) for name in self.rules if getattr(self, name) is not None}

    def freeze(self) -> None:
        """Make the arrays read-only."""
        for array in self.arrays().values():
            array.setflags(write=False)

    @classmethod
    @abstractmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> Self:
        """Restore from the stored arrays, the vocabulary and the method's parameters."""


class Estimate(StoredArrays):
    """Estimates of all tasks."""

    kind: ClassVar[str]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def table(self, n_labels: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Return the columns of `to_table`, one row per task, including the number of its answers as n_labels."""

    def answer_columns(self) -> tuple[str, ...]:
        """Return the names of the answer's columns in files."""
        return ("label",)

    def to_check(self, tasks: pl.Series, picked: npt.NDArray[np.int64]) -> pl.DataFrame:
        """Return a table of tasks with empty answers, to be filled in and read as gold."""
        blank = pl.Series([None] * len(picked), dtype=pl.String)
        return pl.DataFrame({"task": tasks.gather(picked), **dict.fromkeys(self.answer_columns(), blank)})

    def coder_options(self) -> dict[str, Any]:
        """Return the coder options that read answers in the same way as those of the fit."""
        return {}

    def tables(self, tasks: pl.Series) -> dict[str, pl.DataFrame]:  # noqa: ARG002
        """Return further tables by their file names."""
        return {}

    # How messages describe the estimate of a task without answers.
    without_labels: ClassVar[str] = "average"

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

    @abstractmethod
    def table(self) -> dict[str, Any]:
        """Return the columns of `worker_table`, one row per worker."""
