"""Spans as answers: which parts of a text a worker marked, with tags or without."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder
from ...core.errors import DataError
from ...core.side_tables import column_by
from ...core.vocabulary import lookup, quote, sorted_vocabulary, union
from ...core.votes import Votes, frozen
from .maths import FARTHEST, I8, SpanRows, Units, nested, span_rows, starts

# The tag of spans that have none.
NO_TAG = ""


@dataclass(frozen=True, eq=False)
class Spans(Answers):
    """The spans of every row (see `SpanRows`), their tags as codes into the sorted `tags` ("" where there are none).

    Positions count code points of the text from 0 (or its tokens); the end is exclusive.
    """

    kind: ClassVar[str] = "spans"

    rows: SpanRows
    tags: pl.Series

    def __post_init__(self) -> None:
        for name in ("offsets", "start", "end", "tag"):
            object.__setattr__(self.rows, name, frozen(getattr(self.rows, name)))

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The answers of these rows."""
        pick = np.flatnonzero(rows) if rows.dtype == bool else rows
        return type(self)(self.rows.take(pick), self.tags)

    def join(self, other: Self) -> Self:
        """Both, over the tags of both."""
        tags = union(self.tags, other.tags)
        a, b = self.with_tags(tags).rows, other.with_tags(tags).rows
        count = np.concatenate([np.diff(a.offsets), np.diff(b.offsets)])
        both = (np.concatenate([getattr(a, name), getattr(b, name)]) for name in ("start", "end", "tag"))
        return type(self)(SpanRows(starts(count), *both), tags)

    def with_tags(self, tags: pl.Series) -> Self:
        """The same spans over a vocabulary that holds all their tags."""
        if len(tags) == len(self.tags) and bool((tags == self.tags).all()):
            return self
        code = lookup(tags, self.tags)[0].astype(np.int64)
        rows = self.rows
        return type(self)(SpanRows(rows.offsets, rows.start, rows.end, code[rows.tag]), tags)

    @cached_property
    def texts(self) -> list[str]:
        """Every answer as JSON: [[start, end], ...] or [[start, end, tag], ...]."""
        return as_json(self.rows, self.tags)

    def columns(self) -> dict[str, pl.Series]:
        """The spans as JSON."""
        return {"spans": pl.Series("spans", self.texts, dtype=pl.String)}

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """Numbers that are equal where the answers are."""
        return (pl.Series(self.texts, dtype=pl.String).rank("dense").to_numpy().astype(np.int64),)


def as_json(rows: SpanRows, tags: pl.Series) -> list[str]:
    """The spans of each row as a JSON list; a tag "" is left out."""
    names = [json.dumps(str(tag), ensure_ascii=False) for tag in tags]
    spans = [
        f"[{s}, {e}]" if tags[t] == NO_TAG else f"[{s}, {e}, {names[t]}]"
        for s, e, t in zip(rows.start.tolist(), rows.end.tolist(), rows.tag.tolist(), strict=True)
    ]
    at = rows.offsets.tolist()
    return [f"[{', '.join(spans[lo:hi])}]" for lo, hi in itertools.pairwise(at)]


# ---------------------------------------------------------------- From columns of spans, as JSON or as lists, to codes

Mask = npt.NDArray[np.bool_]
HOW = 'write [[start, end], ...], [[start, end, "tag"], ...] or [{"start": 0, "end": 5, "label": "tag"}, ...]'
TAG_KEYS = ("label", "labels", "tag", "entity", "type")
Span = tuple[int, int, str]


class SpanCoder(Coder):
    """A column `spans`: JSON text or lists. An empty list is an answer that marks nothing; an empty cell is none."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.values = plain_values(columns.pop("spans"))
        self.joined = 0

    def __len__(self) -> int:
        return len(self.values)

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows without an answer."""
        gone = np.array([_is_nothing(value) for value in self.values], dtype=bool)
        return gone if gone.any() else None

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Take these texts for no answer."""
        seen: set[str] = set()
        wanted = set(names)
        for i, value in enumerate(self.values):
            if isinstance(value, str) and value.strip() in wanted:
                seen.add(value.strip())
                self.values[i] = None
        return seen

    def finish(self) -> Spans:
        """The spans; those of one answer and tag that overlap are joined."""
        found = spans_of(self.values, "row")
        self.joined = found[1]
        return found[0]

    def notes(self, answers: Answers) -> tuple[str, ...]:
        """How many spans were joined, and where tags overlap."""
        assert isinstance(answers, Spans)
        out: tuple[str, ...] = ()
        if self.joined:
            out += (f"{self.joined:,} spans overlapped another of the same answer and tag and are joined with it",)
        n = int(nested(answers.rows).sum())
        if n:
            out += (f"in {n:,} answers spans of different tags overlap: every tag is judged by itself",)
        return out


def spans_of(values: Iterable[Any], what: str, names: Sequence[Any] | None = None) -> tuple[Spans, int]:
    """Answers from JSON or lists, and how many spans were joined; `what` a value is called where one is wrong."""
    row: list[int] = []
    flat: list[Span] = []
    n = 0
    for i, value in enumerate(values):
        n = i + 1
        if _is_nothing(value):
            continue
        try:
            spans = parse(value)
        except ValueError as error:
            called = f"{what} {i + 1}" if names is None else f"{what} {quote([names[i]])}"
            raise DataError(f"{called}: {error}") from None
        row += [i] * len(spans)
        flat += spans
    tags = sorted_vocabulary([tag for _, _, tag in flat] or [NO_TAG], "tag")
    code = {tag: k for k, tag in enumerate(tags.to_list())}
    start, end = (np.array([each[j] for each in flat], dtype=np.int64) for j in (0, 1))
    tag = np.array([code[each[2]] for each in flat], dtype=np.int64)
    rows, joined = span_rows(np.array(row, dtype=np.int64), start, end, tag, n)
    return Spans(rows, tags), joined


def parse(value: Any) -> list[Span]:
    """One answer; raises ValueError in words."""
    shown = quote([value])
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError(f"{shown} is no list of spans; {HOW}") from None
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list | tuple):
        raise ValueError(f"{shown} is no list of spans; {HOW}")
    if len(value) in (2, 3) and all(isinstance(v, Integral) and not isinstance(v, bool) for v in value[:2]):
        value = [value]  # one span without the outer list
    return [span for each in value for span in _spans(each)]


def _spans(each: Any) -> list[Span]:
    if isinstance(each, dict):
        tag = next((each[key] for key in TAG_KEYS if each.get(key) is not None), None)
        start, end = each.get("start"), each.get("end")
    elif isinstance(each, list | tuple) and len(each) in (2, 3):
        start, end = each[0], each[1]
        tag = each[2] if len(each) == 3 else None
    else:
        raise ValueError(f"{quote([each])} is no span; {HOW}")
    start, end = _whole(start, each), _whole(end, each)
    if not start < end:
        raise ValueError(f"the span {quote([each])} has no length; the end is exclusive, so it must be above the start")
    tags = tag if isinstance(tag, list | tuple) else [tag]
    return [(start, end, NO_TAG if one is None else str(one)) for one in tags or [None]]


def _whole(value: Any, span: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < FARTHEST // 4:
        raise ValueError(f"the span {quote([span])} does not begin and end at whole numbers from 0 up; {HOW}")
    return int(value)


def plain_values(values: Any) -> list[Any]:
    """A column as Python values: text, lists, mappings or None."""
    if isinstance(values, pl.Series):
        return values.to_list()
    if isinstance(values, np.ndarray):
        return list(values.tolist())
    return list(values)


def _is_nothing(value: Any) -> bool:
    return (
        value is None or (isinstance(value, str) and not value.strip()) or (isinstance(value, float) and value != value)
    )


# ----------------------------------------------------------------
# The plain tokeniser: words (letters, digits, underscores) and every other mark that is no blank, each a token.

WORD = re.compile(r"\w+|[^\w\s]")
# A word and the blank after it, in characters, where no text is known.
USUAL_WORD = 6


def words_of(text: str) -> list[tuple[int, int]]:
    """Where the words of a text begin and end.

    >>> words_of("Dr. Ann-Lee")
    [(0, 2), (2, 3), (4, 7), (7, 8), (8, 11)]
    """
    return [found.span() for found in WORD.finditer(text)]


def texts_of(votes: Votes[Any]) -> list[str | None]:
    """The text of every task, None where it is not known (see votes.about)."""
    column = column_by(votes.about_tasks, "text", votes.tasks)
    return [None] * votes.n_tasks if column is None else [None if x is None else str(x) for x in column.to_list()]


def word_units(votes: Votes[Any]) -> tuple[Units, npt.NDArray[np.bool_]]:
    """Every word of every known text, and which tasks have one; tasks that count tokens have a unit a token."""
    tokens = column_by(votes.about_tasks, "tokens", votes.tasks)
    many = [None] * votes.n_tasks if tokens is None else tokens.cast(pl.Int64, strict=False).to_list()
    count = np.zeros(votes.n_tasks, dtype=np.int64)
    known = np.zeros(votes.n_tasks, dtype=bool)
    ends: list[tuple[int, int]] = []
    for i, (text, n) in enumerate(zip(texts_of(votes), many, strict=True)):
        found = [(j, j + 1) for j in range(n)] if n is not None else [] if text is None else words_of(text)
        known[i] = text is not None or n is not None
        count[i] = len(found)
        ends += found
    flat = np.array(ends, dtype=np.int64).reshape(-1, 2)
    return Units(starts(count), flat[:, 0].copy(), flat[:, 1].copy()), known


def extents(votes: Votes[Any]) -> I8:
    """How long each task's text is, 0 where it is not known."""
    return np.array([0 if text is None else len(text) for text in texts_of(votes)], dtype=np.int64)
