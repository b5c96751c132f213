"""Spans of rows in flat arrays, and what they have in common: all by sorting and searching, no loop over rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

I8 = npt.NDArray[np.int64]
F8 = npt.NDArray[np.float64]
# Positions beyond this are no positions in a text.
FARTHEST = 2**40


@dataclass(frozen=True, eq=False)
class SpanRows:
    """The spans of row r are offsets[r] .. offsets[r + 1] of start, end (exclusive) and tag, in this order sorted.

    In one row no two spans of one tag overlap; they may touch, and spans of different tags may overlap.
    """

    offsets: I8
    start: I8
    end: I8
    tag: I8

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def row(self) -> I8:
        """The row of every span."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def take(self, rows: I8) -> SpanRows:
        """The spans of these rows, in this order."""
        count = np.diff(self.offsets)[rows]
        pick = ranges(self.offsets[:-1][rows], count)
        return SpanRows(starts(count), self.start[pick], self.end[pick], self.tag[pick])

    def only(self, tag: int) -> SpanRows:
        """The same rows with the spans of one tag."""
        keep = self.tag == tag
        count = np.bincount(self.row[keep], minlength=len(self))
        return SpanRows(starts(count), self.start[keep], self.end[keep], self.tag[keep])


def starts(count: I8) -> I8:
    """Offsets of runs of these lengths: 0, c0, c0 + c1, ..."""
    return np.concatenate([[0], np.cumsum(count)]).astype(np.int64)


def ranges(first: I8, count: I8) -> I8:
    """first[0], first[0] + 1, ... (count[0] of them), then those of first[1], and so on."""
    if not len(count):
        return np.empty(0, dtype=np.int64)
    begins = starts(count)
    return np.repeat(np.asarray(first, dtype=np.int64) - begins[:-1], count) + np.arange(begins[-1])


def span_rows(row: I8, start: I8, end: I8, tag: I8, n_rows: int) -> tuple[SpanRows, int]:
    """Spans in any order as rows; those of one row and tag that overlap become one. How many vanished by that?"""
    order = np.lexsort((end, start, tag, row))
    row, start, end, tag = (np.asarray(each, dtype=np.int64)[order] for each in (row, start, end, tag))
    if len(row):
        group = np.concatenate([[0], np.cumsum((np.diff(row) != 0) | (np.diff(tag) != 0))])
        furthest = np.maximum.accumulate(group * FARTHEST + end) - group * FARTHEST
        fresh = np.concatenate([[True], (np.diff(group) != 0) | (start[1:] >= furthest[:-1])])
        last = np.concatenate([fresh[1:], [True]])
        joined = int(len(row) - fresh.sum())
        row, start, end, tag = row[fresh], start[fresh], furthest[last], tag[fresh]
        order = np.lexsort((tag, end, start, row))
        row, start, end, tag = row[order], start[order], end[order], tag[order]
    else:
        joined = 0
    return SpanRows(starts(np.bincount(row, minlength=n_rows)), start, end, tag), joined


def summed(group: npt.NDArray[Any], values: F8, n: int) -> F8:
    """The sum of the values of each group."""
    return np.asarray(np.bincount(group, weights=values, minlength=n), dtype=np.float64)


def nested(rows: SpanRows) -> npt.NDArray[np.bool_]:
    """Rows in which spans of different tags overlap."""
    row = rows.row
    out = np.zeros(len(rows), dtype=bool)
    if len(row) > 1:
        furthest = np.maximum.accumulate(row * FARTHEST + rows.end) - row * FARTHEST
        hit = (np.diff(row) == 0) & (rows.start[1:] < furthest[:-1])
        out[row[1:][hit]] = True
    return out


def totals(rows: SpanRows) -> F8:
    """How much of the text each row marks, a place with two tags counted twice."""
    return summed(rows.row, (rows.end - rows.start).astype(np.float64), len(rows))


def crossed(a: SpanRows, b: SpanRows) -> tuple[I8, I8, I8, I8]:
    """Every pair of a span of row r of `a` and a span of row r of `b` that share a tag: (row, place in a, place in b,
    how much of the text is in both), only where that is more than nothing."""
    n_a, n_b = np.diff(a.offsets), np.diff(b.offsets)
    row = np.repeat(np.arange(len(a)), n_a * n_b)
    mine = np.repeat(np.arange(len(a.start)), np.repeat(n_b, n_a))
    theirs = ranges(np.repeat(b.offsets[:-1], n_a), np.repeat(n_b, n_a))
    both = np.minimum(a.end[mine], b.end[theirs]) - np.maximum(a.start[mine], b.start[theirs])
    use = (both > 0) & (a.tag[mine] == b.tag[theirs])
    return row[use], mine[use], theirs[use], both[use]


def shared(a: SpanRows, b: SpanRows) -> F8:
    """How much of the text row r of both marks with the same tag."""
    row, _, _, both = crossed(a, b)
    return summed(row, both.astype(np.float64), len(a))


def apart(rows: SpanRows, i: I8, j: I8, block: int = 200_000) -> F8:
    """1 - F1 of what rows i and j mark, tags included; 0 where both mark nothing."""
    out = np.empty(len(i))
    size = totals(rows)
    for lo in range(0, len(i), block):
        a, b = i[lo : lo + block], j[lo : lo + block]
        total = size[a] + size[b]
        both = 2 * shared(rows.take(a), rows.take(b))
        out[lo : lo + block] = 1 - np.divide(both, total, out=np.ones(len(a)), where=total > 0)
    return out
