"""Spans as answers: which parts of a text a worker marked, with tags or without."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers
from ...core.vocabulary import lookup, union
from ...core.votes import frozen
from ...maths.spans.rows import SpanRows, starts

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
