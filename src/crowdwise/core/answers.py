"""Base classes of the answers of a set of votes, and of the coders that read them; each kind of answer has its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy.typing as npt
import polars as pl

from .arrays import Mask

Rows = npt.NDArray[Any]


class Answers(ABC):
    """One answer per row, in the order of the rows; immutable. `kind` is the name of the kind of answers."""

    kind: ClassVar[str]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, rows: Rows) -> Self:
        """Return the answers of these rows, in this order."""

    @abstractmethod
    def join(self, other: Self) -> Self:
        """Append the answers of another set, whose vocabularies may differ."""

    @abstractmethod
    def columns(self) -> dict[str, pl.Series]:
        """Return the user's values as columns, named as in files."""

    @abstractmethod
    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """Return arrays that identify answers: two answers are equal if all of these are."""

    def words(self, rows: Rows) -> list[Any]:
        """Return the distinct answers of these rows as plain values, for messages."""
        table = pl.DataFrame(self.take(rows).columns()).unique().sort(pl.all())
        return table.to_series().to_list() if table.width == 1 else [tuple(row) for row in table.iter_rows()]


class Coder(ABC):
    """Converts columns of a file to `Answers`. `null` marks rows without an answer (None: every row has one)."""

    null: Mask | None = None

    @abstractmethod
    def __len__(self) -> int: ...

    def leave_out(self, names: Sequence[str]) -> set[str]:  # noqa: ARG002
        """Treat these values as missing answers; return those that occurred."""
        return set()

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:  # noqa: ARG002
        """Return which rows to keep (None: all) and count the others in `dropped`; raise where dropping is an error."""
        return None

    @abstractmethod
    def finish(self) -> Answers:
        """Return the answers of all rows; those of rows in `null` are arbitrary."""

    def notes(self, answers: Answers) -> tuple[str, ...]:  # noqa: ARG002
        """Return notes for the user about the answers that were used."""
        return ()


class TextColumnCoder(Coder):
    """Coder of one column of texts. Blank cells are missing answers."""

    def __init__(self, texts: pl.Series) -> None:
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows without an answer; None if there are none."""
        is_blank = (self.texts.str.strip_chars() == "").fill_null(True).to_numpy()
        return is_blank if is_blank.any() else None

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Treat these texts as missing answers and return those that occurred."""
        texts = self.texts.str.strip_chars()
        is_missing = texts.is_in(list(names)).fill_null(False)
        self.texts = self.texts.set(is_missing, None)
        return set(texts.filter(is_missing).unique().to_list())
