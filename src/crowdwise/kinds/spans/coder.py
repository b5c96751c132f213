"""From columns of spans, as JSON or as lists, to codes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder
from ...core.errors import DataError
from ...core.vocabulary import quote, sorted_vocabulary
from ...maths.spans.rows import FARTHEST, nested, span_rows
from .answers import NO_TAG, Spans

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
