"""How sure scores are: the inverse of the information about them, island by island, the level of each left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .rows import PairRows

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
# Islands of more items get their variances from two terms of a series instead of an inverse.
LARGEST = 2000
# Cells of matrices that are inverted at once.
_CELLS = 20_000_000


@dataclass(frozen=True, eq=False)
class Block:
    """Islands of one size: members[island, place] (codes of items), covariance[island, place, place], or only the
    variance[island, place] of islands that are too large."""

    members: I8
    covariance: F8 | None
    variance: F8


@dataclass(frozen=True, eq=False)
class Cross:
    """What a row tells of its score difference and its worker's parameter together, and of that parameter alone
    (by worker, prior included)."""

    both: F8
    own: F8


def blocks(rows: PairRows, info: F8, ridge: F8 | float, cross: list[Cross]) -> list[Block]:
    """The covariance of the scores where row e tells info[e] of its difference and workers' parameters are estimated
    too (each of them by itself)."""
    from scipy.sparse import coo_array, csr_array

    k = rows.n_items
    i, j = rows.left.astype(np.int64), rows.right.astype(np.int64)
    at = (np.concatenate([i, j, i, j, np.arange(k)]), np.concatenate([i, j, j, i, np.arange(k)]))
    values = np.concatenate([info, info, -info, -info, np.broadcast_to(np.asarray(ridge, dtype=np.float64), k)])
    found = coo_array((values, at), shape=(k, k)).tocsr()
    small = np.bincount(rows.component, minlength=1).max(initial=0) <= LARGEST
    for one in cross if small else []:
        both = coo_array(
            (
                np.concatenate([one.both, -one.both]),
                (np.concatenate([i, j]), np.concatenate([rows.worker, rows.worker])),
            ),
            shape=(k, rows.n_workers),
        ).tocsr()
        scaled = csr_array(both.multiply(1 / np.sqrt(np.maximum(one.own, 1e-12))[None, :]))
        found = found - (scaled @ scaled.T).multiply(_same(rows.component, scaled @ scaled.T))
    return [
        block for size in np.unique(np.bincount(rows.component)) for block in _of_size(found, rows.component, int(size))
    ]


def _same(component: I8, like: object) -> object:
    """1 where both items lie on one island: workers who visit several tie them together only weakly."""
    from scipy.sparse import coo_array

    one = coo_array(like)  # type: ignore[call-overload]
    row, col = one.coords
    return coo_array(((component[row] == component[col]).astype(np.float64), (row, col)), shape=one.shape).tocsr()


def _of_size(found: object, component: I8, size: int) -> list[Block]:
    from scipy.sparse import coo_array

    counts = np.bincount(component)
    islands = np.flatnonzero(counts == size)
    if not size:
        return []
    order = np.argsort(component, kind="stable")
    begin = np.concatenate([[0], np.cumsum(counts)])[:-1]
    members = order[begin[islands][:, None] + np.arange(size)]
    cells = coo_array(found)  # type: ignore[call-overload]
    row, col = cells.coords
    place, which = np.empty(len(component), dtype=np.int64), np.full(len(component), -1, dtype=np.int64)
    place[members] = np.arange(size)
    which[members] = np.arange(len(islands))[:, None]
    here = (which[row] >= 0) & (which[row] == which[col])
    row, col, value = row[here], col[here], cells.data[here]
    if size > LARGEST:
        return [_series(members, which[row], place[row], place[col], value, size)]
    out = []
    step = max(1, _CELLS // size**2)
    for lo in range(0, len(islands), step):
        some = (which[row] >= lo) & (which[row] < lo + step)
        table = np.zeros((min(step, len(islands) - lo), size, size))
        np.add.at(table, (which[row[some]] - lo, place[row[some]], place[col[some]]), value[some])
        out.append(_inverted(members[lo : lo + step], table))
    return out


def _inverted(members: I8, table: F8) -> Block:
    size = table.shape[1]
    full: F8 = np.asarray(np.linalg.inv(table), dtype=np.float64)
    full -= full.mean(axis=1, keepdims=True)
    full -= full.mean(axis=2, keepdims=True)  # the level of an island is a convention
    variance = np.maximum(np.diagonal(full, axis1=1, axis2=2), 0.0)
    return Block(members, full if size > 1 else np.zeros_like(full), variance)


def _series(members: I8, which: I8, one: I8, two: I8, value: F8, size: int) -> Block:
    """1/h_ii + sum_j h_ij² / (h_ii² h_jj): close where every item has many opponents."""
    n = len(members)
    diagonal = np.zeros((n, size))
    on = one == two
    np.add.at(diagonal, (which[on], one[on]), value[on])
    more = np.zeros((n, size))
    np.add.at(more, (which[~on], one[~on]), value[~on] ** 2 / diagonal[which[~on], two[~on]])
    return Block(members, None, 1 / diagonal + more / diagonal**2)
