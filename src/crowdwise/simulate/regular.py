"""Random bipartite graphs with given degrees and no pair twice."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .distinct import Table

Counts = npt.NDArray[np.int64]

# Rows with repeats that are fixed one by one; more are fixed in bulk.
_FEW = 1000


def regular_rows(n_rows: int, size: int, degree: Counts, rng: np.random.Generator) -> Table:
    """For each row `size` different numbers, number w in degree[w] rows (at most n_rows); rows ascend.

    The places of all numbers are shuffled over the rows, then repeats within a row are swapped away.

    >>> np.bincount(regular_rows(6, 2, np.full(4, 3), np.random.default_rng(0)).ravel()).tolist()
    [3, 3, 3, 3]
    """
    if 2 * size > len(degree):
        # Nearly full rows have few good swaps: draw who is left out instead.
        out = np.ones((n_rows, len(degree)), dtype=bool)
        left_out = _shuffled(n_rows, len(degree) - size, n_rows - degree, rng)
        np.put_along_axis(out, left_out.astype(np.int64), False, axis=1)
        return np.nonzero(out)[1].astype(np.int32).reshape(n_rows, size)
    return _shuffled(n_rows, size, degree, rng)


def _shuffled(n_rows: int, size: int, degree: Counts, rng: np.random.Generator) -> Table:
    """Swap a repeated number against one of a random row where it is not, until no row has any number twice.

    A swap never adds a repeat; one that removes none still moves the rest about, so that tight tables do not lock.
    """
    places = np.repeat(np.arange(len(degree), dtype=np.int32), degree)
    table = np.sort(rng.permutation(places).reshape(n_rows, size), axis=1)
    bad = _bad(table, np.arange(n_rows))
    while len(bad) > _FEW:
        bad = _bad(table, np.union1d(bad, _swap_in_bulk(table, bad, rng)))
    for row in (table[i] for i in bad):
        while len(repeats := np.flatnonzero(row[1:] == row[:-1])):
            other = table[rng.integers(n_rows)]
            mine, theirs = rng.choice(repeats), rng.integers(size)
            if row[mine] not in other:
                row[mine], other[theirs] = other[theirs], row[mine]
                row.sort()
                other.sort()
    return table


def _bad(table: Table, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    part = table[rows]
    again: npt.NDArray[np.bool_] = (part[:, 1:] == part[:, :-1]).any(axis=1)
    return rows[again]


def _swap_in_bulk(table: Table, bad: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The same swap for many bad rows at once, each with a partner of its own; returns the partners."""
    first = rng.permutation(bad)[: len(table) // 2]
    free = np.ones(len(table), dtype=bool)
    free[first] = False
    second = rng.permutation(np.flatnonzero(free))[: len(first)]
    row, other = table[first], table[second]
    mine = (row[:, 1:] == row[:, :-1]).argmax(axis=1)
    theirs, each = rng.integers(table.shape[1], size=len(first)), np.arange(len(first))
    gone = row[each, mine]
    ok = np.flatnonzero((other != gone[:, None]).all(axis=1))
    row[ok, mine[ok]] = other[ok, theirs[ok]]
    other[ok, theirs[ok]] = gone[ok]
    table[first], table[second] = np.sort(row, axis=1), np.sort(other, axis=1)
    return second
