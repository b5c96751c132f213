"""Objects: boxes that mean one thing, with their support and their middle."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .drawn import Drawn
from .matching import match_lists
from .ragged import F8, I8, Mask, medians, starts, sums

# A worker's box and a gold box that overlap by so much are one thing.
SAME = 0.5


@dataclass(frozen=True, eq=False)
class Objects:
    """What was drawn as one thing: its task, tag, corners, and the (weighted) number of looks that drew it.

    `known` marks the objects of pictures whose truth is given, `real` those of them that are there.
    """

    of_box: I8  # object of each box
    task: I8
    tag: I8
    corner: F8
    support: F8
    n_seen: F8
    known: Mask
    real: Mask

    def __len__(self) -> int:
        return len(self.task)

    @property
    def share(self) -> F8:
        """Share of those who looked at the picture; of what is known 1 or 0."""
        said = np.divide(self.support, self.n_seen, out=np.zeros(len(self)), where=self.n_seen > 0)
        return np.clip(np.where(self.known, self.real, said), 0.0, 1.0)

    def kept(self, share: float) -> Mask:
        """Drawn by more than `share` of those who looked, or known to be there."""
        return np.asarray(np.where(self.known, self.real, self.support > share * self.n_seen + 1e-9))


def objects(seen: Drawn, of_box: I8) -> Objects:
    """From the object of each box; corners are the medians."""
    n = int(of_box.max()) + 1 if len(of_box) else 0
    first = np.unique(of_box, return_index=True)[1]
    none = np.zeros(n, dtype=bool)
    return Objects(
        of_box=of_box,
        task=seen.task[first],
        tag=seen.tag[first],
        corner=medians(seen.corner, of_box, n) if n else np.empty((0, 4)),
        support=sums(seen.look_weight[seen.look], of_box, n),
        n_seen=seen.seen[seen.task[first]],
        known=none,
        real=none,
    )


@dataclass(frozen=True, eq=False)
class Truth:
    """The boxes that are known to be on some pictures: size[task] of each, one picture after the other."""

    known: Mask
    size: I8
    corner: F8
    tag: I8


def taught(seen: Drawn, found: Objects, truth: Truth) -> Objects:
    """The objects with those of known pictures replaced by the true ones; boxes that match none stand alone."""
    told = truth.known[seen.task]
    size = np.bincount(seen.look, minlength=len(seen.look_task))
    order = np.argsort(seen.look, kind="stable")  # boxes look by look
    begin = starts(size)[:-1]
    looks = np.flatnonzero(truth.known[seen.look_task])
    at = seen.look_task[looks]
    _, a, b, _ = match_lists(
        seen.corner[order], truth.corner, begin[looks], size[looks], starts(truth.size)[:-1][at], truth.size[at],
        tag_a=seen.tag[order], tag_b=truth.tag, least=SAME,
    )  # fmt: skip
    n_true = len(truth.corner)
    matched = np.full(len(seen.tag), -1, dtype=np.int64)
    matched[order[a]] = b
    alone = np.flatnonzero(told & (matched < 0))
    free, code = np.unique(found.of_box[~told], return_inverse=True)
    of_box = np.empty(len(seen.tag), dtype=np.int64)
    of_box[~told] = code
    of_box[told] = matched[told] + len(free)
    of_box[alone] = len(free) + n_true + np.arange(len(alone))
    task = np.concatenate([found.task[free], np.repeat(np.arange(len(truth.size)), truth.size), seen.task[alone]])
    n = len(task)
    here = np.arange(n)
    return replace(
        found,
        of_box=of_box,
        task=task,
        tag=np.concatenate([found.tag[free], truth.tag, seen.tag[alone]]),
        corner=np.concatenate([found.corner[free], truth.corner, seen.corner[alone]]),
        support=sums(seen.look_weight[seen.look], of_box, n),
        n_seen=seen.seen[task],
        known=here >= len(free),
        real=(here >= len(free)) & (here < len(free) + n_true),
    )
