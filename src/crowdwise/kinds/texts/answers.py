"""Free texts as answers: a transcript, a translation, a caption."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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
from .maths import Runs, edit_distance

# ----------------------------------------------------------------
# Words of a text as they are compared, and as they are written.

# A word: letters, digits and apostrophes; hyphens and other marks part words.
WORD = re.compile(r"[\w'’]+")
# The same, and every other mark as a word of its own.
WORD_OR_MARK = re.compile(r"[\w'’]+|[^\w\s]")


def plain_words(text: str) -> list[str]:
    """The words in lower case, without marks.

    >>> plain_words("Don't stop: well-known!")
    ["don't", 'stop', 'well', 'known']
    """
    return [word.replace("’", "'") for word in WORD.findall(text.lower())]


def words_and_marks(text: str) -> list[str]:
    """The words in lower case, and marks as words."""
    return [word.replace("’", "'") for word in WORD_OR_MARK.findall(text.lower())]


def written(text: str) -> list[str]:
    """The words as they were written, each with the marks behind it, one for each of `plain_words`."""
    found = list(WORD.finditer(text))
    ends = [each.start() for each in found[1:]] + [len(text)]
    begin = [0] + [each.start() for each in found[1:]]
    return [text[a:b].strip() for a, b in zip(begin, ends, strict=True)] if found else []


def put_together(parts: Iterable[str]) -> str:
    """Written words as a text: a blank between them, none behind a hyphen or an opening bracket."""
    out = ""
    for part in parts:
        out += part if not out or out.endswith(("-", "(", "[")) else f" {part}"
    return out


def word_runs(texts: Sequence[str], marks: bool = False) -> Runs:
    """Texts as runs of word numbers."""
    cut = words_and_marks if marks else plain_words
    return runs_of([cut(text) for text in texts])


def letter_runs(texts: Sequence[str]) -> Runs:
    """Texts as runs of letters, words parted by single blanks."""
    return runs_of([list(" ".join(plain_words(text))) for text in texts])


def runs_of(parts: Sequence[Sequence[str]]) -> Runs:
    """Lists of words as runs of numbers."""
    count = np.array([len(part) for part in parts], dtype=np.int64)
    flat = pl.Series([word for part in parts for word in part], dtype=pl.String)
    code = flat.rank("dense").to_numpy().astype(np.int64) if len(flat) else np.empty(0, dtype=np.int64)
    return Runs(np.concatenate([[0], np.cumsum(count)]).astype(np.int64), code)


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
