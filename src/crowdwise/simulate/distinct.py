"""Distinct random workers for every task, in bulk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
Table = npt.NDArray[np.int32]

# Rounds of redrawing before the stragglers are raced, and cells of a random table held at a time.
_ROUNDS = 30
_CELLS = 4_000_000


def distinct_rows(n_rows: int, size: int, chance: F8, rng: np.random.Generator) -> Table:
    """For each row `size` different numbers below len(chance), drawn one after the other by chance; rows ascend.

    Numbers are drawn with replacement and repeats are drawn again, which is the same as drawing until enough
    different ones came up. Where that takes long (nearly everybody is wanted, or few have all the chance), the
    missing ones are raced for, which draws from the same distribution at a cost of len(chance) per row.

    >>> distinct_rows(2, 3, np.full(3, 1 / 3), np.random.default_rng(0)).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    if 4 * size > len(chance):
        return _race(np.empty((n_rows, 0), dtype=np.int32), size, chance, rng)
    edges = np.cumsum(chance / chance.sum())
    out = np.sort(_throw(edges, (n_rows, size), rng), axis=1)
    todo = np.flatnonzero(_repeats(out).any(axis=1))
    for _ in range(_ROUNDS):
        if not len(todo):
            return out
        rows = out[todo]
        again = _repeats(rows)
        rows[again] = _throw(edges, (int(again.sum()),), rng)
        rows.sort(axis=1)
        out[todo] = rows
        todo = todo[_repeats(rows).any(axis=1)]
    out[todo] = _race(out[todo], size, chance, rng)
    return out


def _repeats(rows: Table) -> npt.NDArray[np.bool_]:
    """Which entries of ascending rows equal the one before."""
    again = np.zeros(rows.shape, dtype=bool)
    np.equal(rows[:, 1:], rows[:, :-1], out=again[:, 1:])
    return again


def _throw(edges: F8, shape: tuple[int, ...], rng: np.random.Generator) -> Table:
    spot = np.searchsorted(edges, rng.random(shape), side="right")
    return np.minimum(spot, len(edges) - 1).astype(np.int32)  # the last edge may round to just below one


def _race(kept: Table, size: int, chance: F8, rng: np.random.Generator) -> Table:
    """Exponential clocks of speed `chance`, the first `size` win; those of `kept` have won already."""
    out = np.empty((len(kept), size), dtype=np.int32)
    step = max(1, _CELLS // len(chance))
    for lo in range(0, len(kept), step):
        held = kept[lo : lo + step]
        clock = rng.exponential(size=(len(held), len(chance))) / chance
        np.put_along_axis(clock, held.astype(np.int64), -1.0, axis=1)
        out[lo : lo + step] = np.argpartition(clock, size - 1, axis=1)[:, :size]
    out.sort(axis=1)
    return out
