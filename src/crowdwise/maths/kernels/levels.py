"""The kernels of an index of tasks by level: one permutation, sorted by level, in which a task moves by swaps.

`order` holds the tasks by level, `place` where each stands, `start[level]` where a level begins; the highest level
lies at the end. One step up or down swaps the task with the one at the border of its level: no sorting, no heap, no
scan.
"""

from __future__ import annotations

from numba import njit

from .live import find


@njit(cache=True, nogil=True)
def move(task, to, level, order, place, start):
    """Bring a task to another level."""
    at = level[task]
    while at < to:  # change places with the last of this level, which then begins the next one
        border = start[at + 1] - 1
        _swap(place[task], border, order, place)
        start[at + 1] = border
        at += 1
    while at > to:
        border = start[at]
        _swap(place[task], border, order, place)
        start[at] = border + 1
        at -= 1
    level[task] = to


@njit(cache=True, nogil=True)
def _swap(i, j, order, place):
    a, b = order[i], order[j]
    order[i], order[j] = b, a
    place[a], place[b] = j, i


@njit(cache=True, nogil=True)
def best(n, n_levels, turn, worker, held, order, start, head, after, who, most, out):
    """The tasks of the highest levels that `worker` (-1: anybody) may be asked, at most len(out) of them.

    Within a level they are taken from a random place on (`turn`, 0 to 1). Level 0 is closed. Tasks that the worker has
    answered, or holds, are passed over; after `most` of them per task found it is enough, once something was found.
    """
    found, passed = 0, 0
    for back in range(n_levels - 1):
        at = n_levels - 1 - back
        lo = start[at]
        hi = start[at + 1] if at + 1 < n_levels else n
        size = hi - lo
        first = int(turn * size)
        for i in range(size):
            task = order[lo + (first + i) % size]
            free = worker < 0 or find(task, worker, head, after, who)[0] < 0
            if free and worker >= 0:
                for other in held:
                    free = free and other != task
            if free:
                out[found] = task
                found += 1
                if found == len(out):
                    return found
            else:
                passed += 1
                if found and passed > most * found:
                    return found
    return found
