"""Votes on every unit, and how far each worker goes with the others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..ties import STREAM, winners
from .rows import F8, I8, summed
from .units import Cells, Units

# Rows' worth of the crowd's own figures that stand beside each worker's in their F1.
PSEUDO = 1.0
_BLOCK = 1_000_000


def shares(cells: Cells, weight: F8, n_units: int, n_tags: int) -> F8:
    """share[unit, 0 outside / 1 + tag]: of the weight of all who answered its task; nobody's weight is outside."""
    k = n_tags + 1
    cell = cells.unit * k + cells.tag
    total = summed(cell, weight[cells.row], n_units * k).reshape(n_units, k)
    size = total.sum(axis=1, keepdims=True)
    out = np.divide(total, size, out=np.zeros_like(total), where=size > 0)
    out[size[:, 0] <= 0, 0] = 1.0
    return np.asarray(out)


def splits(cells: Cells, weight: F8, n_units: int) -> F8:
    """Of those who mark a unit, the share for whom a span begins there."""
    inside = cells.label > 0
    w = weight[cells.row[inside]]
    marked = summed(cells.unit[inside], w, n_units)
    begun = summed(cells.unit[inside], w * cells.begins[inside], n_units)
    return np.asarray(np.divide(begun, marked, out=np.zeros(n_units), where=marked > 0))


def own_and_others(cells: Cells, weight: F8, units: Units, n_tags: int, known: I8 | None = None) -> tuple[F8, F8, F8]:
    """(both, own, others)[row]: what a row marks that the others mark too, what it marks, what the others mark.

    The others' mark is their vote: the units that more than half of their weight marks, and its most frequent tag.
    Where known[unit] is not -1, the truth stands in their place.
    """
    k, n = n_tags + 1, len(cells.offsets) - 1
    tag = cells.tag
    total = summed(cells.unit * k + tag, weight[cells.row], len(units) * k).reshape(len(units), k)
    parts = np.empty((3, len(tag)))
    for lo in range(0, len(tag), _BLOCK):  # a table of all cells and tags may not fit into memory
        some = slice(lo, lo + _BLOCK)
        parts[:, some] = _cell_parts(total, cells.unit[some], tag[some], weight[cells.row[some]], units, known)
    both, own, others = (summed(cells.row, part, n) for part in parts)
    return both, own, others


def voted_credit(total: F8) -> F8:
    """credit[unit, tag] of a vote on total[unit, 0 outside / 1 + tag]: 1 where more than half of the weight is inside
    and this tag has most of it. Tags that are tied share the credit, so that their names do not matter."""
    heard = total.sum(axis=1)
    inside = (total[:, 1:].sum(axis=1) > 0.5 * heard + 1e-12) & (heard > 1e-12)
    tied = total[:, 1:] >= total[:, 1:].max(axis=1, keepdims=True, initial=0.0) - 1e-12
    return np.asarray(inside[:, None] * tied / np.maximum(tied.sum(axis=1, keepdims=True), 1))


def _cell_parts(
    total: F8, unit: I8, tag: npt.NDArray[np.int32], weight: F8, units: Units, known: I8 | None
) -> tuple[F8, F8, F8]:
    """How much of the text of each cell is marked by both, by its row, by the others."""
    rest = total[unit]  # cell, tag
    place = np.arange(len(tag))
    rest[place, tag] -= weight
    heard = rest.sum(axis=1)
    credit = voted_credit(rest)
    inside = credit.any(axis=1)
    agree = np.where(tag > 0, credit[place, np.maximum(tag - 1, 0)], 0.0)
    alone = heard <= 1e-12  # nobody else answered
    if known is not None:
        told = known[unit]
        agree = np.where(told >= 0, (tag > 0) & (told == tag), agree)
        inside = np.where(told >= 0, told > 0, inside)
        alone &= told < 0
    size = np.where(alone, 0.0, units.length[unit].astype(np.float64))
    return size * agree, size * (tag > 0), size * inside


def worker_f1(
    both: F8, own: F8, others: F8, worker: npt.NDArray[np.int32], n_workers: int, chance: F8 | None = None
) -> F8:
    """F1 of each worker against the others, pooled over their rows, with one row of the crowd's own beside them.

    chance[worker], where given, is how much of `both` is no merit: it is taken off what was found and what could be.
    """
    hit, size = (summed(worker, w, n_workers) for w in (2 * both, own + others))
    if chance is not None:
        hit, size = hit - 2 * chance, size - 2 * chance
    total = float(size.sum())
    if total <= 0:
        return np.ones(n_workers)
    crowd = max(float(hit.sum()), 0.0) / total
    some = PSEUDO * total / max(int((own + others > 0).sum()), 1)
    return np.asarray(np.clip((hit + some * crowd) / np.maximum(size + some, some), 0.0, 1.0))


def runs(tag: I8, breaks: npt.NDArray[np.bool_], units: Units) -> tuple[I8, I8, I8]:
    """(first unit, unit after the last, tag) of runs of one tag (0: outside) within a task, cut also at `breaks`."""
    if not len(tag):
        none = np.empty(0, dtype=np.int64)
        return none, none, none
    task = units.task
    fresh = np.concatenate([[True], (np.diff(tag) != 0) | (np.diff(task) != 0)]) | breaks
    begin = np.flatnonzero(fresh)
    after = np.concatenate([begin[1:], [len(tag)]])
    keep = tag[begin] > 0
    return begin[keep], after[keep], tag[begin][keep]


def leading(share: F8, task: I8, seed: int) -> I8:
    """The tag of each unit with the largest share; of several one is drawn by `seed`, one in all of a task, so that a
    span on which two tags are level stays whole."""
    level = winners(share)
    several = np.flatnonzero(level.sum(axis=1) > 1)
    tag: I8 = level.argmax(axis=1).astype(np.int64)
    if len(several):
        luck = np.random.default_rng([seed, STREAM]).random((int(task.max()) + 1, share.shape[1]))
        tag[several] = np.where(level[several], luck[task[several]], -1.0).argmax(axis=1)
    return tag
