"""Free texts as answers: a transcript, a translation, a caption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder
from ...core.errors import DataError
from ...core.vocabulary import lookup, union
from ...core.votes import frozen
from ...maths.texts.runs import Runs, edit_distance
from .words import word_runs

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Texts(Answers):
    """text[row] as a code into the sorted `texts`, each of which stands there once."""

    kind: ClassVar[str] = "texts"

    text: npt.NDArray[np.int64]
    texts: pl.Series

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", frozen(self.text))

    def __len__(self) -> int:
        return len(self.text)

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The answers of these rows."""
        return type(self)(self.text[rows], self.texts)

    def join(self, other: Self) -> Self:
        """Both, over the texts of both."""
        texts = union(self.texts, other.texts)
        codes = [lookup(texts, each.texts)[0].astype(np.int64)[each.text] for each in (self, other)]
        return type(self)(np.concatenate(codes), texts)

    def columns(self) -> dict[str, pl.Series]:
        """The texts."""
        return {"output": self.texts.gather(self.text.tolist()).rename("output")}

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """The codes."""
        return (self.text,)

    @cached_property
    def word_runs(self) -> Runs:
        """Every distinct text as a run of words."""
        return word_runs(self.texts.to_list())

    @cached_property
    def mark_runs(self) -> Runs:
        """The same with punctuation as words."""
        return word_runs(self.texts.to_list(), marks=True)


class TextCoder(Coder):
    """A column of texts; blank cells are no answers."""

    def __init__(self, columns: dict[str, Any]) -> None:
        values = columns.pop("output")
        series = values if isinstance(values, pl.Series) else pl.Series(list(values), strict=False)
        if series.dtype.is_nested():
            raise DataError(f"column {series.name or 'output'!r} holds {series.dtype} values, not texts")
        self.values = series.cast(pl.String)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows without a text."""
        gone = (self.values.is_null() | (self.values.str.strip_chars() == "").fill_null(True)).to_numpy()
        return gone if gone.any() else None

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Take these for no text."""
        hit = self.values.str.strip_chars().is_in(list(names)).fill_null(False)
        seen = set(self.values.filter(hit).str.strip_chars().unique().to_list())
        self.values = self.values.set(hit, None)
        return seen

    def finish(self) -> Texts:
        """The texts as codes."""
        return texts_of(self.values.fill_null(""))


def texts_of(values: pl.Series) -> Texts:
    """Answers from a column without gaps."""
    texts = values.unique().sort().rename("text")
    return Texts(lookup(texts, values)[0].astype(np.int64), texts)


def distance(answers: Texts, i: npt.NDArray[np.int64], j: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Words to change over the words of the longer text."""
    return edit_distance(answers.word_runs, answers.text[np.asarray(i)], answers.text[np.asarray(j)])
