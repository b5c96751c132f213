"""Boxes that mean the same object, by matching one worker after the other (Hungarian), then all against the objects.

The r-th looks of all pictures are matched at once: those with the most boxes go first. A box that no object takes
begins one of its own. Afterwards every look is matched again against the medians until nothing changes.
"""

from __future__ import annotations

import numpy as np

from .drawn import Drawn
from .matching import match_lists
from .ragged import I8, medians, spread, starts


def assignment(seen: Drawn, least: float, max_iter: int) -> tuple[I8, int, bool]:
    """(object of each box, passes, whether they settled); boxes match where they overlap by at least `least`."""
    of_box = _in_turn(seen, least)
    for i in range(max_iter):
        new = _anew(seen, of_box, least)
        if np.array_equal(new, of_box):
            return new, i, True
        of_box = new
    return of_box, max_iter, max_iter == 0


def _in_turn(seen: Drawn, least: float) -> I8:
    size, order, begin = _by_look(seen)
    turn = _turns(seen, size)
    of_box = np.full(len(seen.tag), -1, dtype=np.int64)
    n = 0
    for r in range(int(turn.max(initial=-1)) + 1):
        looks = np.flatnonzero((turn == r) & (size > 0))
        boxes = order[spread(begin[looks], size[looks])[1]]
        if n:
            _take(seen, of_box, looks, least, n)
        alone = boxes[of_box[boxes] < 0]
        of_box[alone] = n + np.arange(len(alone))
        n += len(alone)
    return of_box


def _anew(seen: Drawn, of_box: I8, least: float) -> I8:
    """All looks against the objects; who fits none stands alone. Numbered in the order of the boxes."""
    if not len(of_box):
        return of_box
    found = np.full(len(of_box), -1, dtype=np.int64)
    n = int(of_box.max()) + 1
    _take(seen, found, np.arange(len(seen.look_task)), least, n, by=of_box)
    alone = found < 0
    found[alone] = n + np.arange(int(alone.sum()))
    _, first, code = np.unique(found, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[code]


def _take(seen: Drawn, of_box: I8, looks: I8, least: float, n: int, by: I8 | None = None) -> None:
    """Write into of_box which object each box of these looks matches; objects are the groups in `by`."""
    size, order, begin = _by_look(seen)
    groups = of_box if by is None else by
    inside = groups >= 0
    corner = medians(seen.corner[inside], groups[inside], n)
    first = np.full(n, -1, dtype=np.int64)
    first[groups[inside][::-1]] = np.flatnonzero(inside)[::-1]
    task, tag = seen.task[first], seen.tag[first]
    place = np.argsort(task, kind="stable")
    count = np.bincount(task, minlength=seen.n_tasks)
    at = seen.look_task[looks]
    _, a, b, _ = match_lists(
        seen.corner[order], corner[place], begin[looks], size[looks], starts(count)[:-1][at], count[at],
        tag_a=seen.tag[order], tag_b=tag[place], least=least,
    )  # fmt: skip
    of_box[order[a]] = place[b]


def _by_look(seen: Drawn) -> tuple[I8, I8, I8]:
    """(boxes of each look, boxes in the order of the looks, where each look's begin)."""
    size = np.bincount(seen.look, minlength=len(seen.look_task))
    return size, np.argsort(seen.look, kind="stable"), starts(size)[:-1]


def _turns(seen: Drawn, size: I8) -> I8:
    """When each look is matched: those with the most boxes on a picture first."""
    order = np.lexsort((seen.look_worker, -size, seen.look_task))
    begin = starts(np.bincount(seen.look_task, minlength=seen.n_tasks))[:-1]
    turn = np.empty(len(size), dtype=np.int64)
    turn[order] = np.arange(len(size)) - begin[seen.look_task[order]]
    return turn
