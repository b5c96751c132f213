"""Words of a text as they are compared, and as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from ...maths.texts.runs import Runs

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
