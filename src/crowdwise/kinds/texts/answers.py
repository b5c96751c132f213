"""Answers that are free texts: a transcript, a translation, a caption."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, TextColumnCoder
from ...core.errors import DataError
from ...core.intake.coding import encode
from ...core.intake.columns import KNOWN_AS, NAMED, TAKEN, TIME_NAMES, by_plain_name, first_named
from ...core.vocabulary import lookup, union
from ...core.votes import Votes, frozen
from ...stats.ragged import starts
from .maths import Runs, edit_distance

# ----------------------------------------------------------------
# Words of a text, normalised for comparison and as written.

# A word consists of letters, digits and apostrophes; hyphens and other marks separate words.
WORD = re.compile(r"[\w'’]+")
# The same, with each other mark as a word.
WORD_OR_MARK = re.compile(r"[\w'’]+|[^\w\s]")


def plain_words(text: str) -> list[str]:
    """Split a text into words in lower case, without punctuation.

    >>> plain_words("Don't stop: well-known!")
    ["don't", 'stop', 'well', 'known']
    """
    return [word.replace("’", "'") for word in WORD.findall(text.lower())]


def words_and_marks(text: str) -> list[str]:
    """Split a text into words in lower case and punctuation marks."""
    return [word.replace("’", "'") for word in WORD_OR_MARK.findall(text.lower())]


def written_words(text: str) -> list[str]:
    """Split a text into words as written, each with the punctuation after it; aligned with `plain_words`."""
    matches = list(WORD.finditer(text))
    ends = [match.start() for match in matches[1:]] + [len(text)]
    begin = [0] + [match.start() for match in matches[1:]]
    return [text[a:b].strip() for a, b in zip(begin, ends, strict=True)] if matches else []


def join_words(parts: Iterable[str]) -> str:
    """Join written words to a text, with blanks except after hyphens and opening brackets."""
    out = ""
    for part in parts:
        out += part if not out or out.endswith(("-", "(", "[")) else f" {part}"
    return out


def word_runs(texts: Sequence[str], marks: bool = False) -> Runs:
    """Convert texts to runs of word codes."""
    cut = words_and_marks if marks else plain_words
    return runs_of([cut(text) for text in texts])


def letter_runs(texts: Sequence[str]) -> Runs:
    """Convert texts to runs of letters, with single blanks between words."""
    return runs_of([list(" ".join(plain_words(text))) for text in texts])


def runs_of(parts: Sequence[Sequence[str]]) -> Runs:
    """Convert lists of words to runs of word codes."""
    count = np.array([len(part) for part in parts], dtype=np.int64)
    flat = pl.Series([word for part in parts for word in part], dtype=pl.String)
    code = flat.rank("dense").to_numpy().astype(np.int64) if len(flat) else np.empty(0, dtype=np.int64)
    return Runs(starts(count), code)


@dataclass(frozen=True, eq=False)
class Texts(Answers):
    """Answers with one text each.

    Args:
        text: text[row] as a code into `texts`.
        texts: The distinct texts, sorted.
    """

    kind: ClassVar[str] = "texts"

    text: npt.NDArray[np.int64]
    texts: pl.Series

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", frozen(self.text))

    def __len__(self) -> int:
        return len(self.text)

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Return the answers of some rows."""
        return type(self)(self.text[rows], self.texts)

    def join(self, other: Self) -> Self:
        """Concatenate two sets of answers over the union of their texts."""
        texts = union(self.texts, other.texts)
        codes = [lookup(texts, answers.texts)[0].astype(np.int64)[answers.text] for answers in (self, other)]
        return type(self)(np.concatenate(codes), texts)

    def columns(self) -> dict[str, pl.Series]:
        """Return the texts as a column."""
        return {"output": self.texts.gather(self.text.tolist()).rename("output")}

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the codes as sort keys."""
        return (self.text,)

    @cached_property
    def word_runs(self) -> Runs:
        """The distinct texts as runs of words."""
        return word_runs(self.texts.to_list())

    @cached_property
    def mark_runs(self) -> Runs:
        """The distinct texts as runs of words and punctuation marks."""
        return word_runs(self.texts.to_list(), marks=True)


class TextCoder(TextColumnCoder):
    """Read a column of texts. Blank cells are missing answers."""

    def __init__(self, columns: dict[str, Any]) -> None:
        values = columns.pop("output")
        series = values if isinstance(values, pl.Series) else pl.Series(list(values), strict=False)
        if series.dtype.is_nested():
            raise DataError(f"column {series.name or 'output'!r} holds {series.dtype} values, not texts")
        super().__init__(series.cast(pl.String))

    def finish(self) -> Texts:
        """Return the coded texts."""
        return texts_of(self.texts.fill_null(""))


def texts_of(values: pl.Series) -> Texts:
    """Code a column of texts without missing values."""
    texts = values.unique().sort().rename("text")
    return Texts(lookup(texts, values)[0].astype(np.int64), texts)


def distance(answers: Texts, i: npt.NDArray[np.int64], j: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Edit distance in words between the answers in rows i and j, relative to the longer text."""
    return edit_distance(answers.word_runs, answers.text[np.asarray(i)], answers.text[np.asarray(j)])


# ----------------------------------------------------------------
# Reading texts: the columns of a file and votes from arrays.

NAMES = "output transcription transcript translation"
# A column of this name holds the answers only where all other columns are ids or metadata.
LAST = "text"


def detect_columns(header: Sequence[str]) -> Mapping[str, str] | None:
    """Find a column named output, transcription or similar, or text where all other columns are ids or metadata."""
    column = first_named(header, NAMES)
    if column is not None:
        return {"output": column}
    plain = by_plain_name(header)
    usual = {*KNOWN_AS["task"].split(), *KNOWN_AS["worker"].split(), *TIME_NAMES, *TAKEN, *NAMED}
    return {"output": plain[LAST]} if LAST in plain and set(plain) <= usual else None


def text_votes(
    task: Any,
    worker: Any,
    output: Any,
    *,
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    missing: Sequence[Any] = (),
    **numbers: Any,
) -> Votes[Texts]:
    """Build votes from columns of equal length.

    Args:
        task: Task of each answer.
        worker: Worker of each answer.
        output: Text of each answer; a blank text is a missing answer.
        duplicates: What to do when a worker answers a task twice: "error", "first", "last" or "keep".
        tasks: All tasks, where some may have no answer.
        workers: All workers, where some may have no answer.
        missing: Texts that mean "no answer".
        **numbers: Further columns per answer, such as `weight` or `time`.

    Returns:
        The votes.

    >>> text_votes([1, 1], ["ann", "bob"], ["the cat sat", "a cat sat"])
    Votes(2 texts, 1 tasks, 2 workers)
    """
    columns: dict[str, Any] = {"task": task, "worker": worker, "output": output, **numbers}
    coded = encode(columns, TextCoder, duplicates=duplicates, tasks=tasks, workers=workers, missing=missing)
    return Votes._of(coded)
