"""Units: the pieces that a text is cut into (words, or what lies between the ends of all spans), and every row's say.

A row says of every unit of its task: 0 outside, 1 + 2·tag where a span begins, 2 + 2·tag inside one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .rows import FARTHEST, I8, SpanRows, ranges, starts

I4 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Units:
    """Units of task t are offsets[t] .. offsets[t + 1] of start and end (exclusive), in the order of the text."""

    offsets: I8
    start: I8
    end: I8

    def __len__(self) -> int:
        return len(self.start)

    @property
    def task(self) -> I8:
        """The task of every unit."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @property
    def length(self) -> I8:
        """How much of the text each is."""
        return self.end - self.start


@dataclass(frozen=True, eq=False)
class Cells:
    """What rows say of the units of their tasks: those of row r are offsets[r] .. offsets[r + 1] of label."""

    offsets: I8
    unit: I8
    row: I8
    label: I4

    @property
    def tag(self) -> I4:
        """0 outside, 1 + tag inside."""
        return ((self.label + 1) // 2).astype(np.int32)

    @property
    def begins(self) -> npt.NDArray[np.bool_]:
        """Where a span of the row begins."""
        return np.asarray(self.label % 2 == 1)


def between_ends(rows: SpanRows, task: I8, n_tasks: int, extent: I8) -> Units:
    """Units between all ends of a task's spans, from 0 to its extent: no row ends inside one."""
    of = task[rows.row]
    keys = np.concatenate([of * FARTHEST + rows.start, of * FARTHEST + rows.end])
    every = np.arange(n_tasks) * FARTHEST
    keys = np.unique(np.concatenate([keys, every, every + np.maximum(extent, 0)]))
    where, place = keys // FARTHEST, keys % FARTHEST
    same = np.diff(where) == 0
    count = np.bincount(where[:-1][same], minlength=n_tasks)
    return Units(starts(count), place[:-1][same], place[1:][same])


def merged(a: Units, b: Units, take_b: npt.NDArray[np.bool_]) -> Units:
    """Units of `b` for the tasks in the mask, of `a` for the others."""
    n_a, n_b = np.diff(a.offsets), np.diff(b.offsets)
    count = np.where(take_b, n_b, n_a)
    first = np.where(take_b, len(a) + b.offsets[:-1], a.offsets[:-1])
    pick = ranges(first, count)
    both = [np.concatenate([x, y])[pick] for x, y in ((a.start, b.start), (a.end, b.end))]
    return Units(starts(count), both[0], both[1])


def covered(rows: SpanRows, task: I8, units: Units) -> tuple[I8, I8]:
    """First unit of every span and the one after its last: those with their middle in it, or the one it begins in."""
    of = task[rows.row]
    middle = units.task * FARTHEST + units.start + units.end - 1
    first = np.searchsorted(middle, of * FARTHEST + 2 * rows.start)
    last = np.searchsorted(middle, of * FARTHEST + 2 * rows.end - 1, side="right")
    thin = last <= first
    if thin.any():
        begin = units.task * FARTHEST + units.start
        at = np.searchsorted(begin, of[thin] * FARTHEST + rows.start[thin], side="right") - 1
        at = np.clip(at, units.offsets[of[thin]], np.maximum(units.offsets[of[thin] + 1] - 1, units.offsets[of[thin]]))
        first[thin] = at
        last[thin] = np.minimum(at + 1, units.offsets[of[thin] + 1])
    return first, last


def cells(rows: SpanRows, task: I8, units: Units) -> Cells:
    """What every row says of every unit of its task; where two spans of a row claim a unit, the later one has it."""
    count = np.diff(units.offsets)[task]
    offsets = starts(count)
    unit = ranges(units.offsets[:-1][task], count)
    row = np.repeat(np.arange(len(rows)), count)
    label = np.zeros(offsets[-1], dtype=np.int32)
    first, last = covered(rows, task, units)
    span_row = rows.row
    place = offsets[:-1][span_row] - units.offsets[:-1][task[span_row]]
    n = last - first
    label[ranges(first + place, n)] = np.repeat(2 + 2 * rows.tag, n)
    some = n > 0
    label[(first + place)[some]] = 1 + 2 * rows.tag[some]
    return Cells(offsets, unit, row, label)
