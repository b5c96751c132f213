"""What a fit says of the tasks and of the workers, for any kind of answer: what Result holds, shows and stores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

Arrays = Mapping[str, npt.NDArray[Any]]
# name -> axes (n tasks, m workers, k the size of the part's own vocabulary, * any number), "f" numbers, "i" whole
# numbers or "b" yes and no, and what they are: shares sum to one over the last axis, amounts are not negative, skills
# lie in 0..1 or are unknown, finite numbers exist, any may be anything.
Rules = Mapping[str, tuple[str, str, str]]


class Part(ABC):
    """Arrays with names, by rules that a stranger's file is held to."""

    rules: ClassVar[Rules]
    needed: ClassVar[tuple[str, ...]] = ()
    # The vocabulary that goes with the arrays, if there is one: a file of its own.
    vocabulary: ClassVar[str | None] = None

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What is stored, by name."""
        return {name: getattr(self, name) for name in self.rules if getattr(self, name) is not None}

    def freeze(self) -> None:
        """Nobody may write into the arrays."""
        for array in self.arrays().values():
            array.setflags(write=False)

    @classmethod
    @abstractmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> Self:
        """From what was stored: arrays, the vocabulary, and the method's parameters."""


class Estimate(Part):
    """What is believed of every task."""

    kind: ClassVar[str]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def table(self, n_labels: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Columns for people, a row a task; the number of its answers stands among them as n_labels."""

    def answer_columns(self) -> tuple[str, ...]:
        """The columns that answers of this kind have in files."""
        return ("label",)

    def to_check(self, tasks: pl.Series, picked: npt.NDArray[np.int64]) -> pl.DataFrame:
        """A file to fill in with the truth of these tasks, as gold is read: task, and the empty answer."""
        blank = pl.Series([None] * len(picked), dtype=pl.String)
        return pl.DataFrame({"task": tasks.gather(picked), **dict.fromkeys(self.answer_columns(), blank)})

    def coder_options(self) -> dict[str, Any]:
        """What a coder must be told to read answers just as those that this rests on."""
        return {}

    def tables(self, tasks: pl.Series) -> dict[str, pl.DataFrame]:  # noqa: ARG002
        """Further tables for people, by the names of their files."""
        return {}

    # What stands in the row of a task that nobody answered.
    without_labels: ClassVar[str] = "average"

    def facts(self) -> dict[str, Any]:
        """Plain values for machines."""
        return {}

    def size(self) -> str:
        """What to say after "by 12 workers", such as ", 3 classes"."""
        return ""

    @abstractmethod
    def summary(self) -> str:
        """The whole in a few words, such as: 3 classes, mean confidence 0.871."""


class WorkerPicture(Part):
    """What is known of every worker."""

    @abstractmethod
    def table(self) -> dict[str, Any]:
        """Columns for people, a row a worker."""
