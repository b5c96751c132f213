"""Answers: what the rows of a set of votes say. A kind of answer brings a class of these and a way to read them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[Any]


class Answers(ABC):
    """One answer a row, in the order of the rows; never changed once made. `kind` is the name of their kind."""

    kind: ClassVar[str]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, rows: Rows) -> Self:
        """The answers of these rows, in this order."""

    @abstractmethod
    def join(self, other: Self) -> Self:
        """These answers and then those of another set, whose vocabularies may differ."""

    @abstractmethod
    def columns(self) -> dict[str, pl.Series]:
        """The user's own values again, by the names that files give them."""

    @abstractmethod
    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """Arrays by which rows are compared: two answers are the same where all of these are."""

    def words(self, rows: Rows) -> list[Any]:
        """What these rows say, each answer once, for a message to people."""
        table = pl.DataFrame(self.take(rows).columns()).unique().sort(pl.all())
        return table.to_series().to_list() if table.width == 1 else [tuple(row) for row in table.iter_rows()]


class Coder(ABC):
    """Answers on their way from columns of a file to `Answers`. `null` marks rows without one (None: none is)."""

    null: Mask | None = None

    @abstractmethod
    def __len__(self) -> int: ...

    def leave_out(self, names: Sequence[str]) -> set[str]:  # noqa: ARG002
        """Take these values for no answer at all; returns those that occurred."""
        return set()

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:  # noqa: ARG002
        """Which rows may stay (None: all), the others counted in `dropped`; raises where that is an error."""
        return None

    @abstractmethod
    def finish(self) -> Answers:
        """The answers of all rows; what rows in `null` get does not matter."""

    def notes(self, answers: Answers) -> tuple[str, ...]:  # noqa: ARG002
        """What people should know of the answers that were used."""
        return ()
