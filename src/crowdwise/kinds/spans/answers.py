"""Spans as answers: the parts of a text that a worker marked, each with an optional tag."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder
from ...core.arrays import I8, Mask
from ...core.errors import DataError
from ...core.intake.coding import encode
from ...core.intake.columns import first_named
from ...core.side_tables import column_by
from ...core.vocabulary import lookup, quote, sorted_vocabulary, union
from ...core.votes import Votes, frozen
from ...stats.ragged import starts
from .maths import FARTHEST, SpanRows, TextUnits, f1_distance, has_overlapping_tags, span_rows

# The tag of spans without a tag.
NO_TAG = ""
# Names of the column of spans in files, best first.
NAMES = "spans entities"


@dataclass(frozen=True, eq=False)
class Spans(Answers):
    """The spans of each answer.

    Positions count code points of the text (or tokens) from 0; the end is exclusive.

    Args:
        rows: The spans of each row, with tags as codes into `tags`.
        tags: Names of the tags, sorted. Spans without a tag have the tag "".
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
        """Return the answers of these rows."""
        pick = np.flatnonzero(rows) if rows.dtype == bool else rows
        return type(self)(self.rows.take(pick), self.tags)

    def join(self, other: Self) -> Self:
        """Return the rows of both, over the union of their tags."""
        tags = union(self.tags, other.tags)
        a, b = self.with_tags(tags).rows, other.with_tags(tags).rows
        count = np.concatenate([np.diff(a.offsets), np.diff(b.offsets)])
        arrays = (np.concatenate([getattr(a, name), getattr(b, name)]) for name in ("start", "end", "tag"))
        return type(self)(SpanRows(starts(count), *arrays), tags)

    def with_tags(self, tags: pl.Series) -> Self:
        """Return the same spans with codes into another vocabulary, which must contain all their tags."""
        if len(tags) == len(self.tags) and bool((tags == self.tags).all()):
            return self
        code = lookup(tags, self.tags)[0].astype(np.int64)
        rows = self.rows
        return type(self)(SpanRows(rows.offsets, rows.start, rows.end, code[rows.tag]), tags)

    @cached_property
    def texts(self) -> list[str]:
        """Each answer as JSON: [[start, end], ...] or [[start, end, tag], ...]."""
        return as_json(self.rows, self.tags)

    def columns(self) -> dict[str, pl.Series]:
        """Return the spans as JSON."""
        return {"spans": pl.Series("spans", self.texts, dtype=pl.String)}

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """Return a key that is equal for equal answers."""
        return (pl.Series(self.texts, dtype=pl.String).rank("dense").to_numpy().astype(np.int64),)


def as_json(rows: SpanRows, tags: pl.Series) -> list[str]:
    """Return the spans of each row as a JSON list; the tag "" is omitted."""
    names = [json.dumps(str(tag), ensure_ascii=False) for tag in tags]
    spans = [
        f"[{s}, {e}]" if tags[t] == NO_TAG else f"[{s}, {e}, {names[t]}]"
        for s, e, t in zip(rows.start.tolist(), rows.end.tolist(), rows.tag.tolist(), strict=True)
    ]
    at = rows.offsets.tolist()
    return [f"[{', '.join(spans[lo:hi])}]" for lo, hi in itertools.pairwise(at)]


# ---------------------------------------------------------------- Reading columns of spans, as JSON or lists

USAGE = 'write [[start, end], ...], [[start, end, "tag"], ...] or [{"start": 0, "end": 5, "label": "tag"}, ...]'
TAG_KEYS = ("label", "labels", "tag", "entity", "type")
Span = tuple[int, int, str]


class SpanCoder(Coder):
    """Read a column `spans` of JSON texts or lists. An empty list marks nothing; an empty cell is a missing answer."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.values = plain_values(columns.pop("spans"))
        self.joined = 0

    def __len__(self) -> int:
        return len(self.values)

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows without an answer; None if there are none."""
        is_null = np.array([_is_missing(value) for value in self.values], dtype=bool)
        return is_null if is_null.any() else None

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Treat these texts as missing answers and return those that occurred."""
        removed: set[str] = set()
        texts = set(names)
        for i, value in enumerate(self.values):
            if isinstance(value, str) and value.strip() in texts:
                removed.add(value.strip())
                self.values[i] = None
        return removed

    def finish(self) -> Spans:
        """Return the spans. Overlapping spans of one answer and tag are merged and counted."""
        spans, self.joined = spans_of(self.values, "row")
        return spans

    def notes(self, answers: Answers) -> tuple[str, ...]:
        """Return notes about merged spans and overlapping tags."""
        assert isinstance(answers, Spans)
        out: tuple[str, ...] = ()
        if self.joined:
            out += (f"{self.joined:,} spans overlapped another of the same answer and tag and were merged with it",)
        n = int(has_overlapping_tags(answers.rows).sum())
        if n:
            out += (f"in {n:,} answers spans of different tags overlap; each tag is estimated separately",)
        return out


def spans_of(values: Iterable[Any], what: str, names: Sequence[Any] | None = None) -> tuple[Spans, int]:
    """Return answers from JSON or lists, and the number of merged spans; error messages call a value `what`."""
    row: list[int] = []
    flat: list[Span] = []
    n = 0
    for i, value in enumerate(values):
        n = i + 1
        if _is_missing(value):
            continue
        try:
            spans = parse(value)
        except ValueError as error:
            place = f"{what} {i + 1}" if names is None else f"{what} {quote([names[i]])}"
            raise DataError(f"{place}: {error}") from None
        row += [i] * len(spans)
        flat += spans
    tags = sorted_vocabulary([tag for _, _, tag in flat] or [NO_TAG], "tag")
    code = {tag: k for k, tag in enumerate(tags.to_list())}
    start, end = (np.array([span[j] for span in flat], dtype=np.int64) for j in (0, 1))
    tag = np.array([code[span[2]] for span in flat], dtype=np.int64)
    rows, joined = span_rows(np.array(row, dtype=np.int64), start, end, tag, n)
    return Spans(rows, tags), joined


def parse(value: Any) -> list[Span]:
    """Return the spans of one answer. Raises ValueError if it cannot be parsed."""
    shown = quote([value])
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError(f"{shown} is not a list of spans; {USAGE}") from None
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list | tuple):
        raise ValueError(f"{shown} is not a list of spans; {USAGE}")
    if len(value) in (2, 3) and all(isinstance(v, Integral) and not isinstance(v, bool) for v in value[:2]):
        value = [value]  # one span without the outer list
    return [span for entry in value for span in _spans(entry)]


def _spans(entry: Any) -> list[Span]:
    if isinstance(entry, dict):
        tag = next((entry[key] for key in TAG_KEYS if entry.get(key) is not None), None)
        start, end = entry.get("start"), entry.get("end")
    elif isinstance(entry, list | tuple) and len(entry) in (2, 3):
        start, end = entry[0], entry[1]
        tag = entry[2] if len(entry) == 3 else None
    else:
        raise ValueError(f"{quote([entry])} is not a span; {USAGE}")
    start, end = _whole(start, entry), _whole(end, entry)
    if not start < end:
        raise ValueError(f"the span {quote([entry])} has no length; the end is exclusive and must be above the start")
    tags = tag if isinstance(tag, list | tuple) else [tag]
    return [(start, end, NO_TAG if one is None else str(one)) for one in tags or [None]]


def _whole(value: Any, span: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < FARTHEST // 4:
        raise ValueError(f"the span {quote([span])} does not start and end at whole numbers of at least 0; {USAGE}")
    return int(value)


def plain_values(values: Any) -> list[Any]:
    """Return a column as Python values: text, lists, mappings or None."""
    if isinstance(values, pl.Series):
        return values.to_list()
    if isinstance(values, np.ndarray):
        return list(values.tolist())
    return list(values)


def _is_missing(value: Any) -> bool:
    return (
        value is None or (isinstance(value, str) and not value.strip()) or (isinstance(value, float) and value != value)
    )


def detect_columns(header: Sequence[str]) -> Mapping[str, str] | None:
    """Return the column called spans or entities, or None."""
    column = first_named(header, NAMES)
    return None if column is None else {"spans": column}


def explain_detection(answers: pl.Series) -> str:
    """Return the reason to read the answers as spans, or "" if they are not all lists of [start, end] or [..., tag]."""
    sample = [value for value in answers.drop_nulls().head(500).to_list() if value not in ("", "[]", [])]
    try:
        spans = [parse(value) for value in sample]
    except ValueError:
        return ""
    return "lists of [start, end], as in " + str(sample[0])[:40] if spans and all(spans) else ""


def span_votes(
    task: Any,
    worker: Any,
    spans: Any,
    *,
    texts: Any = None,
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    missing: Sequence[Any] = (),
    **numbers: Any,
) -> Votes[Spans]:
    """Return votes from equally long columns.

    Args:
        task: The task of each answer.
        worker: The worker who gave each answer.
        spans: The spans of each answer: a list (or JSON) of [start, end] or [start, end, tag]. The end is exclusive.
        texts: The texts of the tasks, as a mapping or a table with the columns task, text.
        duplicates: What to do when a worker answers a task twice: "error", "first", "last" or "keep".
        tasks: All tasks, if some have no answers.
        workers: All workers, if some gave no answers.
        missing: Texts that mean "no answer".
        **numbers: Further columns per answer, such as `weight` or `time`.

    Returns:
        The votes.
    >>> span_votes([1, 1], ["ann", "bob"], [[[0, 3, "PER"]], [[0, 7, "PER"]]], texts={1: "Ann Lee sings"})
    Votes(2 lists of spans, 1 tasks, 2 workers)
    """
    columns: dict[str, Any] = {"task": task, "worker": worker, "spans": spans, **numbers}
    coded = encode(columns, SpanCoder, duplicates=duplicates, tasks=tasks, workers=workers, missing=missing)
    votes: Votes[Spans] = Votes._of(coded)
    if texts is None:
        return votes
    table = pl.DataFrame({"task": list(texts), "text": list(texts.values())}) if isinstance(texts, Mapping) else texts
    return votes.about(tasks=table)


def distance(answers: Spans, i: npt.NDArray[np.int64], j: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return 1 - F1 of the text that answers i and j mark with the same tag; 0 if both mark nothing."""
    return f1_distance(answers.rows, np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64))


# ----------------------------------------------------------------
# A simple tokenizer: words (letters, digits, underscores), and every other non-blank character by itself.

WORD = re.compile(r"\w+|[^\w\s]")
# Assumed length of a word and the blank after it, in characters, if the text is not known.
WORD_LENGTH = 6


def words_of(text: str) -> list[tuple[int, int]]:
    """Return start and end of each word of a text.

    >>> words_of("Dr. Ann-Lee")
    [(0, 2), (2, 3), (4, 7), (7, 8), (8, 11)]
    """
    return [word.span() for word in WORD.finditer(text)]


def texts_of(votes: Votes[Any]) -> list[str | None]:
    """Return the text of each task, or None if it is not known (see `votes.about`)."""
    column = column_by(votes.about_tasks, "text", votes.tasks)
    return [None] * votes.n_tasks if column is None else [None if x is None else str(x) for x in column.to_list()]


def word_units(votes: Votes[Any]) -> tuple[TextUnits, npt.NDArray[np.bool_]]:
    """Return the words (or tokens, if only their number is known) of all texts, and which tasks have them."""
    tokens = column_by(votes.about_tasks, "tokens", votes.tasks)
    n_tokens = [None] * votes.n_tasks if tokens is None else tokens.cast(pl.Int64, strict=False).to_list()
    count = np.zeros(votes.n_tasks, dtype=np.int64)
    has_units = np.zeros(votes.n_tasks, dtype=bool)
    ends: list[tuple[int, int]] = []
    for i, (text, n) in enumerate(zip(texts_of(votes), n_tokens, strict=True)):
        units = [(j, j + 1) for j in range(n)] if n is not None else [] if text is None else words_of(text)
        has_units[i] = text is not None or n is not None
        count[i] = len(units)
        ends += units
    flat = np.array(ends, dtype=np.int64).reshape(-1, 2)
    return TextUnits(starts(count), flat[:, 0].copy(), flat[:, 1].copy()), has_units


def extents(votes: Votes[Any]) -> I8:
    """Return the length of each task's text, 0 if it is not known."""
    return np.array([0 if text is None else len(text) for text in texts_of(votes)], dtype=np.int64)
