"""Ragged lists as arrays: list g holds size[g] things from start[g] on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..numbers.maths.gaussian import gaussian
from ..numbers.maths.rows import Fit, Rows

I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
F8 = npt.NDArray[np.float64]


def starts(size: I8) -> I8:
    """Where each list begins, and where the last one ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(size, dtype=np.int64)])


def spread(begin: I8, size: I8) -> tuple[I8, I8]:
    """(list, thing) for every thing of these lists, list after list."""
    owner = np.repeat(np.arange(len(size), dtype=np.int64), size)
    return owner, np.arange(len(owner), dtype=np.int64) - np.repeat(starts(size)[:-1] - begin, size)


def all_pairs(begin_a: I8, size_a: I8, begin_b: I8, size_b: I8) -> tuple[I8, I8, I8]:
    """(g, a, b) for every thing a of the g-th list on one side and b of the g-th list on the other."""
    group, a = spread(begin_a, size_a)
    wide = size_b[group]
    pair, b = spread(begin_b[group], wide)
    return group[pair], a[pair], b


def sums(values: F8, group: I8, n: int) -> F8:
    """The sum of each group's values."""
    return np.asarray(np.bincount(group, weights=values, minlength=n), dtype=np.float64)


def medians(values: F8, group: I8, n: int) -> F8:
    """medians[g, column] of values[row, column]; NaN for a group without rows."""
    out = np.full((n, values.shape[1]), np.nan)
    size = np.bincount(group, minlength=n)
    begin = starts(size)[:-1]
    full = size > 0
    lower, upper = (begin + (size - 1) // 2)[full], (begin + size // 2)[full]
    for column in range(values.shape[1]):
        ordered = values[np.lexsort((values[:, column], group)), column]
        out[full, column] = (ordered[lower] + ordered[upper]) / 2
    return out


# ----------------------------------------------------------------
# Drawn: which boxes were drawn, by whom, on which picture, in an order that does not depend on the file's.

Codes = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Boxes with corner[box, x1 y1 x2 y2], tag (class), task and worker, sorted by task and then by place.

    A worker who looked at a picture and drew nothing is a `look` without boxes: looks are the rows of the votes,
    `look` of a box is its row. `weight` is that of each look.
    """

    corner: F8
    tag: I8
    look: I8
    look_task: I8
    look_worker: I8
    look_weight: F8
    n_tasks: int
    n_workers: int

    @property
    def task(self) -> I8:
        """The picture of each box."""
        return self.look_task[self.look]

    @property
    def worker(self) -> I8:
        """Who drew each box."""
        return self.look_worker[self.look]

    @property
    def seen(self) -> F8:
        """How many looked at each picture, weights counted."""
        return sums(self.look_weight, self.look_task, self.n_tasks)

    @property
    def offsets(self) -> I8:
        """Where each picture's boxes begin."""
        return starts(np.bincount(self.task, minlength=self.n_tasks))


def drawn(
    corner: F8, tag: I8, size: I8, task: Codes, worker: Codes, weight: F8 | None, n_tasks: int, n_workers: int
) -> Drawn:
    """From rows with `size` boxes each."""
    task, worker = task.astype(np.int64), worker.astype(np.int64)
    look = np.repeat(np.arange(len(size), dtype=np.int64), size)
    order = np.lexsort((worker[look], tag, corner[:, 3], corner[:, 2], corner[:, 1], corner[:, 0], task[look]))
    own = np.ones(len(size)) if weight is None else weight.astype(np.float64)
    return Drawn(corner[order], tag[order].astype(np.int64), look[order], task, worker, own, n_tasks, n_workers)


# ---------------------------------------------------------------- How much boxes overlap


def area(box: F8) -> F8:
    """Area of boxes [..., x1 y1 x2 y2]; 0 where the corners are the other way round."""
    return np.asarray(np.prod(np.maximum(box[..., 2:] - box[..., :2], 0.0), axis=-1))


def iou(a: F8, b: F8) -> F8:
    """Intersection over union of boxes row by row; boxes without area overlap with nothing."""
    corners = np.concatenate([np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])], axis=-1)
    both = area(corners)
    union = area(a) + area(b) - both
    return np.divide(both, union, out=np.zeros_like(both), where=union > 0)


# ----------------------------------------------------------------
# One-to-one matching of two lists of boxes, for many pairs of lists at once.
# The best matching has the largest sum of gains (Kuhn 1955, doi:10.1002/nav.3800020109, by Jonker and Volgenant's
# algorithm in scipy). A link whose two ends have no other link is in it anyway; only the rest is searched, and each
# island of links by itself.


def best_links(left: I8, right: I8, gain: F8) -> Mask:
    """Which links (left[e], right[e]) are in the matching of the largest total gain; gains are above 0.

    Ends are numbered over all lists: those of one list never occur in another.
    """
    taken = np.zeros(len(left), dtype=bool)
    if not len(left):
        return taken
    left, right = np.unique(left, return_inverse=True)[1], np.unique(right, return_inverse=True)[1]
    free = (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1)
    taken[free] = True
    rest = np.flatnonzero(~free)
    if len(rest):
        taken[rest] = _search(left[rest], right[rest], gain[rest])
    return taken


def _search(left: I8, right: I8, gain: F8) -> Mask:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    left, right = np.unique(left, return_inverse=True)[1], np.unique(right, return_inverse=True)[1]
    n, m = int(left.max()) + 1, int(right.max()) + 1
    graph = coo_array((np.ones(len(left)), (left, right + n)), shape=(n + m, n + m))
    island = connected_components(graph, directed=False)[1][left]
    taken = np.zeros(len(left), dtype=bool)
    # Where all links of an island share an end, the best of them is taken.
    lefts, rights = (np.bincount(island[np.unique(end, return_index=True)[1]]) for end in (left, right))
    star = (np.minimum(lefts, rights) == 1)[island]
    by = np.lexsort((-gain, island))
    first = by[np.concatenate([[True], np.diff(island[by]) > 0])]
    taken[first[star[first]]] = True
    order = by[~star[by]]
    if not len(order):
        return taken
    cuts = np.flatnonzero(np.diff(island[order])) + 1
    for links in np.split(order, cuts):
        taken[links] = _island(left[links], right[links], gain[links])
    return taken


def _island(left: I8, right: I8, gain: F8) -> Mask:
    from scipy.optimize import linear_sum_assignment

    rows, a = np.unique(left, return_inverse=True)
    columns, b = np.unique(right, return_inverse=True)
    table = np.zeros((len(rows), len(columns)))
    table[a, b] = gain
    chosen = np.zeros_like(table, dtype=bool)
    chosen[linear_sum_assignment(table, maximize=True)] = True
    return np.asarray(chosen[a, b])


def match_lists(
    box_a: F8, box_b: F8, begin_a: I8, size_a: I8, begin_b: I8, size_b: I8, *, tag_a: I8, tag_b: I8, least: float = 0.0
) -> tuple[I8, I8, I8, F8]:
    """(g, a, b, overlap) of the boxes matched between the g-th list on each side, of one class, overlapping by at
    least `least`: as many as can be, and among these the largest sum of overlaps."""
    group, a, b = all_pairs(begin_a, size_a, begin_b, size_b)
    same = tag_a[a] == tag_b[b]
    group, a, b = group[same], a[same], b[same]
    overlap = iou(box_a[a], box_b[b])
    good = (overlap > 0) & (overlap >= least)
    group, a, b, overlap = group[good], a[good], b[good], overlap[good]
    # A list may stand in many pairs: its boxes are other ends in each of them.
    left, right = group * (len(box_a) + 1) + a, group * (len(box_b) + 1) + b
    gain = overlap if least <= 0 else 1.0 + overlap / (1.0 + float(max(size_a.max(initial=0), size_b.max(initial=0))))
    kept = best_links(left, right, gain)
    return group[kept], a[kept], b[kept], overlap[kept]


def soft_f1(overlap: F8, group: I8, size_a: I8, size_b: I8) -> F8:
    """2 × the matched overlaps / the boxes of both lists; two empty lists agree wholly."""
    total = (size_a + size_b).astype(np.float64)
    found = 2 * np.bincount(group, weights=overlap, minlength=len(size_a))
    return np.divide(found, total, out=np.ones(len(total)), where=total > 0)


# ----------------------------------------------------------------
# Boxes that mean the same object, by matching one worker after the other (Hungarian), then all against the objects.
# The r-th looks of all pictures are matched at once: those with the most boxes go first. A box that no object takes
# begins one of its own. Afterwards every look is matched again against the medians until nothing changes.


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


# ----------------------------------------------------------------
# Boxes of one picture that mean the same object: average linkage over 1 - IoU, one class at a time.
# Boxes of one worker never come together: whoever draws two boxes sees two objects (F1 at IoU .5 on boxes_street
# .909; .886 where that is only discouraged). Two boxes that do not overlap at all stay apart unless others lie
# between, so each island of overlapping boxes is clustered by itself.

# The distance of two boxes of one worker: no mean with it is ever below 1.
FORBIDDEN = 1e9


def average_linkage(seen: Drawn, least: float) -> I8:
    """cluster[box]: boxes whose mean overlap is at least `least`, numbered in the order of the boxes."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(seen.tag)
    if not n:
        return np.empty(0, dtype=np.int64)
    a, b, overlap = links(seen)
    island = connected_components(coo_array((overlap > 0, (a, b)), shape=(n, n)), directed=False)[1]
    order = np.argsort(island, kind="stable")
    size = np.bincount(island)
    place = np.empty(n, dtype=np.int64)
    begin = np.concatenate([[0], np.cumsum(size)])
    place[order] = np.arange(n) - begin[island[order]]
    by = np.argsort(island[a], kind="stable")
    cuts = np.concatenate([[0], np.cumsum(np.bincount(island[a], minlength=len(size)))])
    cluster = np.zeros(n, dtype=np.int64)
    for g in np.flatnonzero(size > 1).tolist():
        own, here = by[cuts[g] : cuts[g + 1]], order[begin[g] : begin[g + 1]]
        cluster[here] = _one(place[a[own]], place[b[own]], overlap[own], seen.look[here], least)
    return _numbered(island.astype(np.int64) * (int(size.max()) + 1) + cluster)


def links(seen: Drawn) -> tuple[I8, I8, F8]:
    """(a, b, overlap) of all pairs of overlapping boxes a < b of one picture, one class and different workers."""
    offsets = seen.offsets
    begin, size = offsets[:-1], np.diff(offsets)
    parts = []
    # In blocks of pictures: a block has about so many pairs at most.
    block = np.cumsum(size.astype(np.float64) ** 2) // 4e6
    for each in np.split(np.arange(len(size)), np.flatnonzero(np.diff(block)) + 1):
        _, a, b = all_pairs(begin[each], size[each], begin[each], size[each])
        keep = (a < b) & (seen.tag[a] == seen.tag[b]) & (seen.look[a] != seen.look[b])
        a, b = a[keep], b[keep]
        overlap = iou(seen.corner[a], seen.corner[b])
        some = overlap > 0
        parts.append((a[some], b[some], overlap[some]))
    a, b, overlap = (np.concatenate([part[i] for part in parts]) for i in range(3))
    return a, b, overlap


def _one(a: I8, b: I8, overlap: F8, look: I8, least: float) -> I8:
    """Clusters of one island's boxes, by the overlaps of its pairs and the look that each box belongs to."""
    n = len(look)
    if n == 2:
        return np.array([0, int(overlap[0] < least)])
    from scipy.cluster.hierarchy import fcluster, linkage

    low, high = np.minimum(a, b), np.maximum(a, b)
    i, j = np.triu_indices(n, 1)
    apart = np.where(look[i] == look[j], FORBIDDEN, 1.0)
    apart[n * low - low * (low + 1) // 2 + high - low - 1] = 1 - overlap
    found = fcluster(linkage(apart, "average"), 1 - least + 1e-12, "distance")
    return np.asarray(found, dtype=np.int64)


def _numbered(key: I8) -> I8:
    """Codes in the order of their first appearance."""
    _, first, code = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[code]


# ----------------------------------------------------------------
# Objects: boxes that mean one thing, with their support and their middle.

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


# ----------------------------------------------------------------
# The sides of each object from its boxes: every worker draws a little too far left, too wide, ... and not too evenly.
# A side is measured from the object's median, in units of its width or height, so that large and small boxes go
# together; the rest is the model of numbers with a bias and a precision of each worker.


@dataclass(frozen=True, eq=False)
class Sides:
    """Corners of every object, and bias and spread of every worker and side in units of the boxes' sides."""

    corner: F8
    bias: F8
    spread: F8
    n_iter: int = 0
    converged: bool = True


def _relative(seen: Drawn, found: Objects) -> tuple[F8, F8]:
    """(offset[box, side], unit[object, side])."""
    wide = np.maximum(found.corner[:, 2:] - found.corner[:, :2], 1e-9)
    unit = np.concatenate([wide, wide], axis=1)
    return (seen.corner - found.corner[found.of_box]) / unit[found.of_box], unit


def mean_sides(seen: Drawn, found: Objects) -> F8:
    """Corners as the plain mean of the boxes."""
    n = len(found)
    weight = seen.look_weight[seen.look]
    total = np.bincount(found.of_box, weights=weight, minlength=n)
    sums = [np.bincount(found.of_box, weights=weight * seen.corner[:, j], minlength=n) for j in range(4)]
    mean = np.divide(np.stack(sums, axis=1), total[:, None], out=found.corner.copy(), where=total[:, None] > 0)
    return np.where(found.known[:, None], found.corner, mean)


def modelled_sides(seen: Drawn, found: Objects, use: F8, max_iter: int, tol: float) -> Sides:
    """Corners by the model; only boxes of the objects in `use` (kept ones) teach the workers' biases."""
    offset, unit = _relative(seen, found)
    good = use[found.of_box] > 0
    order = np.flatnonzero(good)[np.argsort(found.of_box[good], kind="stable")]
    task, worker = found.of_box[order].astype(np.int32), seen.worker[order].astype(np.int32)
    weight = seen.look_weight[seen.look][order]
    gold = np.where(found.known, 0.0, np.nan) if found.known.any() else None
    fits: list[Fit] = []
    if not float(np.abs(offset[order]).max(initial=0.0)) > 1e-9:  # all boxes of every object are the same
        nothing = np.zeros((seen.n_workers, 4))
        return Sides(found.corner, nothing, nothing)
    for side in range(4):
        rows = Rows(task, worker, np.ascontiguousarray(offset[order, side]), weight, len(found), seen.n_workers)
        fits.append(gaussian(rows, gold, max_iter=max_iter, tol=tol))
    shift = np.stack([fit.mean for fit in fits], axis=1)
    corner = found.corner + np.where(use[:, None] > 0, shift * unit, 0.0)
    return Sides(
        corner=_proper(corner, found.corner),
        bias=np.stack([fit.bias for fit in fits], axis=1),
        spread=np.stack([fit.spread for fit in fits], axis=1),
        n_iter=max(fit.n_iter for fit in fits),
        converged=all(fit.converged for fit in fits),
    )


def known_sides(seen: Drawn, found: Objects, bias: F8, spread: F8) -> F8:
    """Corners where the workers' biases and spreads are known already."""
    offset, unit = _relative(seen, found)
    n = len(found)
    floor = np.maximum(np.median(spread, axis=0) / 2, 1e-6) if len(spread) else np.ones(4)
    say = seen.look_weight[seen.look][:, None] / np.maximum(spread[seen.worker], floor) ** 2
    free = offset - bias[seen.worker]
    total = np.stack([np.bincount(found.of_box, weights=say[:, j], minlength=n) for j in range(4)], axis=1)
    sums = np.stack([np.bincount(found.of_box, weights=(say * free)[:, j], minlength=n) for j in range(4)], axis=1)
    shift = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
    return _proper(found.corner + shift * unit, found.corner)


def _proper(corner: F8, else_: F8) -> F8:
    """Boxes with an area; the medians where a shift has taken it away."""
    good = np.asarray((corner[:, 2:] > corner[:, :2]).all(axis=1))
    return np.where(good[:, None], corner, else_)


# ----------------------------------------------------------------
# What each worker missed and what they made up, by the word of the others or by what is known.


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
