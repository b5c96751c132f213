"""Votes of rankings as the maths takes them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...core.votes import Votes
from ...maths.rankings.rows import RankRows
from .answers import Rankings

I8 = npt.NDArray[np.int64]


def rows_of(votes: Votes[Rankings]) -> tuple[RankRows, I8]:
    """The rows over entries (items of tasks), and the item of each entry; the rest of a list is spelt out."""
    said = votes.answers
    k = max(len(said.items), 1)
    row = np.repeat(np.arange(len(votes)), said.size)
    key = votes.task[row].astype(np.int64) * k + said.item
    entries = np.unique(key)
    begin = np.searchsorted(entries, np.arange(votes.n_tasks + 1) * k)
    row, entry, level = row, np.searchsorted(entries, key), said.level.astype(np.int64)
    row, entry, level, rest = _with_rest(votes, row, entry, level, begin)
    size = np.bincount(row, minlength=len(votes))
    order = np.lexsort((entry, level, row))
    row, entry, level = row[order], entry[order], level[order]
    width = int(size.max(initial=1))
    place = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
    table = np.full((len(votes), width), -1, dtype=np.int64)
    levels = np.zeros((len(votes), width), dtype=np.int64)
    table[row, place], levels[row, place] = entry, level
    last = np.take_along_axis(levels, np.maximum(size - 1, 0)[:, None], axis=1)
    levels = np.where(np.arange(width) < size[:, None], levels, last)
    worker = votes.worker.astype(np.int64)
    rows = RankRows(
        table, levels, size, rest, votes.task.astype(np.int64), worker, votes.weight, begin, votes.n_workers
    )
    return rows, entries % k


def _with_rest(
    votes: Votes[Rankings], row: I8, entry: I8, level: I8, begin: I8
) -> tuple[I8, I8, I8, npt.NDArray[np.bool_]]:
    """Rows that end in `...` get the other items of their task at one last level."""
    rest = votes.answers.rest.copy()
    more_rows, more_entries, more_levels = [], [], []
    for r in np.flatnonzero(rest).tolist():
        t = int(votes.task[r])
        others = np.setdiff1d(np.arange(begin[t], begin[t + 1]), entry[row == r])
        if not len(others):
            rest[r] = False
            continue
        more_rows.append(np.full(len(others), r))
        more_entries.append(others)
        more_levels.append(np.full(len(others), int(level[row == r].max(initial=-1)) + 1))
    if not more_rows:
        return row, entry, level, rest
    return (
        np.concatenate([row, *more_rows]),
        np.concatenate([entry, *more_entries]),
        np.concatenate([level, *more_levels]),
        rest,
    )
