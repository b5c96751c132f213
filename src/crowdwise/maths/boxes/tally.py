"""What each worker missed and what they made up, by the word of the others or by what is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .drawn import Drawn
from .objects import Objects
from .overlap import iou
from .ragged import F8, I8, Mask, spread, starts, sums


@dataclass(frozen=True, eq=False)
class Tally:
    """Of each worker: objects that were there, how many of these they drew, how many boxes they drew that were not,
    and the mean overlap of their confirmed boxes with the objects' (NaN without any)."""

    there: I8
    drew: I8
    spurious: I8
    overlap: F8


def tally(seen: Drawn, found: Objects, share: float) -> Tally:
    """Each worker against the others: an object is there where more than `share` of the *others* who looked drew it.

    Nobody confirms their own boxes; a picture that only one worker looked at tells nothing of them, unless its truth
    is known.
    """
    m, wide = seen.n_workers, max(len(found), 1)
    order = np.argsort(found.task, kind="stable")
    count = np.bincount(found.task, minlength=seen.n_tasks)
    begin = starts(count)[:-1]
    look, at = spread(begin[seen.look_task], count[seen.look_task])
    thing = order[at]
    own = np.isin(look * wide + thing, seen.look * wide + found.of_box)
    weight, known = seen.look_weight[look], found.known[thing]
    others, of = found.support[thing] - own * weight, found.n_seen[thing] - weight
    there = np.where(known, found.real[thing], others > share * of + 1e-9)
    use = known | (of > 1e-9)
    who = seen.look_worker[look]
    n_there, n_drew, n_spurious = (
        np.bincount(who[use & mask], minlength=m) for mask in (there, there & own, own & ~there)
    )
    good = np.isin(seen.look * wide + found.of_box, (look * wide + thing)[use & there & own])
    return Tally(n_there, n_drew, n_spurious, _overlap(seen, found, good, m))


def _overlap(seen: Drawn, found: Objects, good: Mask, m: int) -> F8:
    value, who = iou(seen.corner[good], found.corner[found.of_box[good]]), seen.worker[good]
    n = np.bincount(who, minlength=m)
    return np.asarray(np.divide(sums(value, who, m), n, out=np.full(m, np.nan), where=n > 0))


def rate(hits: I8, n: I8) -> tuple[F8, F8, F8]:
    """Share of hits with its 95 % interval (Jeffreys); NaN where n is 0."""
    from scipy.special import betaincinv

    some = n > 0
    value = np.divide(hits, n, out=np.full(len(n), np.nan), where=some)
    a, b = hits + 0.5, n - hits + 0.5
    low = np.where(hits == 0, 0.0, betaincinv(a, b, 0.025))
    high = np.where(hits == n, 1.0, betaincinv(a, b, 0.975))
    return value, np.where(some, low, np.nan), np.where(some, high, np.nan)
