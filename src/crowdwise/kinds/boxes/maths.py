"""Matching, clustering and averaging of boxes; lists are stored as in `stats.ragged`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...core.arrays import F8, I8, Mask
from ...stats.ragged import spread, starts, sums

if TYPE_CHECKING:
    from ..numbers.maths.rows import NumberFit


def all_pairs(begin_a: I8, size_a: I8, begin_b: I8, size_b: I8) -> tuple[I8, I8, I8]:
    """Return (g, a, b) for every element a of the g-th list on one side and b of the g-th list on the other."""
    group, a = spread(begin_a, size_a)
    wide = size_b[group]
    pair, b = spread(begin_b[group], wide)
    return group[pair], a[pair], b


def medians(values: F8, group: I8, n: int) -> F8:
    """Return medians[group, column] of values[row, column]; NaN for groups without rows."""
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
# The boxes that were drawn, in an order that does not depend on the order of the file.

Codes = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class DrawnBoxes:
    """Boxes with their votes, sorted by task and then by position.

    A vote is the answer of one worker to one image. A vote without boxes counts too.

    Args:
        corner: corner[box, x1 y1 x2 y2].
        tag: tag[box], the class.
        vote: vote[box], the vote to which each box belongs.
        vote_task: Task of each vote.
        vote_worker: Worker of each vote.
        vote_weight: Weight of each vote.
        n_tasks: Number of tasks.
        n_workers: Number of workers.
    """

    corner: F8
    tag: I8
    vote: I8
    vote_task: I8
    vote_worker: I8
    vote_weight: F8
    n_tasks: int
    n_workers: int

    @property
    def task(self) -> I8:
        """Task of each box."""
        return self.vote_task[self.vote]

    @property
    def worker(self) -> I8:
        """Worker of each box."""
        return self.vote_worker[self.vote]

    @property
    def n_votes(self) -> F8:
        """Weighted number of votes of each task."""
        return sums(self.vote_weight, self.vote_task, self.n_tasks)

    @property
    def offsets(self) -> I8:
        """Index of the first box of each task, and the number of boxes."""
        return starts(np.bincount(self.task, minlength=self.n_tasks))


def drawn_boxes(
    corner: F8, tag: I8, size: I8, task: Codes, worker: Codes, weight: F8 | None, n_tasks: int, n_workers: int
) -> DrawnBoxes:
    """Return the boxes of votes with `size` boxes each."""
    task, worker = task.astype(np.int64), worker.astype(np.int64)
    vote = np.repeat(np.arange(len(size), dtype=np.int64), size)
    order = np.lexsort((worker[vote], tag, corner[:, 3], corner[:, 2], corner[:, 1], corner[:, 0], task[vote]))
    weights = np.ones(len(size)) if weight is None else weight.astype(np.float64)
    return DrawnBoxes(
        corner[order], tag[order].astype(np.int64), vote[order], task, worker, weights, n_tasks, n_workers
    )


# ---------------------------------------------------------------- Overlap of boxes


def area(box: F8) -> F8:
    """Return the area of boxes [..., x1 y1 x2 y2]; 0 if the corners are swapped."""
    return np.asarray(np.prod(np.maximum(box[..., 2:] - box[..., :2], 0.0), axis=-1))


def iou(a: F8, b: F8) -> F8:
    """Return the intersection over union of boxes row by row; 0 for boxes without area."""
    corners = np.concatenate([np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])], axis=-1)
    intersection = area(corners)
    union = area(a) + area(b) - intersection
    return np.divide(intersection, union, out=np.zeros_like(intersection), where=union > 0)


# ----------------------------------------------------------------
# One-to-one matching of two lists of boxes, for many pairs of lists at once.
# The best matching has the largest total gain (Kuhn 1955, doi:10.1002/nav.3800020109; Jonker and Volgenant's algorithm
# in scipy). A link whose ends have no other links is always part of it. The remaining links are solved one connected
# component at a time.


def best_links(left: I8, right: I8, gain: F8) -> Mask:
    """Return which links (left[e], right[e]) are in the matching with the largest total gain. Gains are positive.

    Elements are numbered over all lists: an element of one list never occurs in another.
    """
    taken = np.zeros(len(left), dtype=bool)
    if not len(left):
        return taken
    left, right = np.unique(left, return_inverse=True)[1], np.unique(right, return_inverse=True)[1]
    free = (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1)
    taken[free] = True
    contested = np.flatnonzero(~free)
    if len(contested):
        taken[contested] = _match_components(left[contested], right[contested], gain[contested])
    return taken


def _match_components(left: I8, right: I8, gain: F8) -> Mask:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    left, right = np.unique(left, return_inverse=True)[1], np.unique(right, return_inverse=True)[1]
    n, m = int(left.max()) + 1, int(right.max()) + 1
    graph = coo_array((np.ones(len(left)), (left, right + n)), shape=(n + m, n + m))
    component = connected_components(graph, directed=False)[1][left]
    taken = np.zeros(len(left), dtype=bool)
    # If all links of a component share an end, the best of them is taken.
    lefts, rights = (np.bincount(component[np.unique(end, return_index=True)[1]]) for end in (left, right))
    star = (np.minimum(lefts, rights) == 1)[component]
    by = np.lexsort((-gain, component))
    first = by[np.concatenate([[True], np.diff(component[by]) > 0])]
    taken[first[star[first]]] = True
    order = by[~star[by]]
    if not len(order):
        return taken
    cuts = np.flatnonzero(np.diff(component[order])) + 1
    for links in np.split(order, cuts):
        taken[links] = _match_component(left[links], right[links], gain[links])
    return taken


def _match_component(left: I8, right: I8, gain: F8) -> Mask:
    from scipy.optimize import linear_sum_assignment

    rows, a = np.unique(left, return_inverse=True)
    columns, b = np.unique(right, return_inverse=True)
    table = np.zeros((len(rows), len(columns)))
    table[a, b] = gain
    chosen = np.zeros_like(table, dtype=bool)
    chosen[linear_sum_assignment(table, maximize=True)] = True
    return np.asarray(chosen[a, b])


def match_lists(
    box_a: F8,
    box_b: F8,
    begin_a: I8,
    size_a: I8,
    begin_b: I8,
    size_b: I8,
    *,
    tag_a: I8,
    tag_b: I8,
    min_overlap: float = 0.0,
) -> tuple[I8, I8, I8, F8]:
    """Return (g, a, b, overlap) of the boxes that are matched between the g-th lists of both sides.

    Matched boxes have the same class and overlap by at least `min_overlap`. The matching has as many pairs as possible
    and, among those, the largest total overlap.
    """
    group, a, b = all_pairs(begin_a, size_a, begin_b, size_b)
    same = tag_a[a] == tag_b[b]
    group, a, b = group[same], a[same], b[same]
    overlap = iou(box_a[a], box_b[b])
    good = (overlap > 0) & (overlap >= min_overlap)
    group, a, b, overlap = group[good], a[good], b[good], overlap[good]
    # A list may be part of many pairs; its boxes are separate elements in each of them.
    left, right = group * (len(box_a) + 1) + a, group * (len(box_b) + 1) + b
    gain = (
        overlap
        if min_overlap <= 0
        else 1.0 + overlap / (1.0 + float(max(size_a.max(initial=0), size_b.max(initial=0))))
    )
    matched = best_links(left, right, gain)
    return group[matched], a[matched], b[matched], overlap[matched]


def soft_f1(overlap: F8, group: I8, size_a: I8, size_b: I8) -> F8:
    """Return 2 · matched overlap / number of boxes in both lists; 1 for two empty lists."""
    total = (size_a + size_b).astype(np.float64)
    matched = 2 * np.bincount(group, weights=overlap, minlength=len(size_a))
    return np.divide(matched, total, out=np.ones(len(total)), where=total > 0)


# ----------------------------------------------------------------
# Boxes of the same object, by matching one worker after the other (Hungarian), then all against the objects.
# The r-th votes of all images are matched at the same time; votes with the most boxes go first. A box without a match
# starts a new object. Afterwards every vote is matched again to the medians of the objects until nothing changes.


def assignment(drawn: DrawnBoxes, min_overlap: float, max_iter: int) -> tuple[I8, int, bool]:
    """Return (object of each box, iterations, converged). Boxes match if they overlap by at least `min_overlap`."""
    object_of_box = _match_in_turn(drawn, min_overlap)
    for i in range(max_iter):
        new = _rematch(drawn, object_of_box, min_overlap)
        if np.array_equal(new, object_of_box):
            return new, i, True
        object_of_box = new
    return object_of_box, max_iter, max_iter == 0


def _match_in_turn(drawn: DrawnBoxes, min_overlap: float) -> I8:
    size, order, begin = _boxes_by_vote(drawn)
    turn = _matching_order(drawn, size)
    object_of_box = np.full(len(drawn.tag), -1, dtype=np.int64)
    n = 0
    for r in range(int(turn.max(initial=-1)) + 1):
        votes = np.flatnonzero((turn == r) & (size > 0))
        boxes = order[spread(begin[votes], size[votes])[1]]
        if n:
            _match_votes(drawn, object_of_box, votes, min_overlap, n)
        unmatched = boxes[object_of_box[boxes] < 0]
        object_of_box[unmatched] = n + np.arange(len(unmatched))
        n += len(unmatched)
    return object_of_box


def _rematch(drawn: DrawnBoxes, object_of_box: I8, min_overlap: float) -> I8:
    """Match all votes to the objects again; unmatched boxes become objects, numbered in the order of the boxes."""
    if not len(object_of_box):
        return object_of_box
    matched = np.full(len(object_of_box), -1, dtype=np.int64)
    n = int(object_of_box.max()) + 1
    _match_votes(drawn, matched, np.arange(len(drawn.vote_task)), min_overlap, n, current=object_of_box)
    unmatched = matched < 0
    matched[unmatched] = n + np.arange(int(unmatched.sum()))
    return _renumber(matched)


def _match_votes(
    drawn: DrawnBoxes, object_of_box: I8, votes: I8, min_overlap: float, n: int, current: I8 | None = None
) -> None:
    """Write the object of each box of these votes into object_of_box; the objects are the groups in `current`."""
    size, order, begin = _boxes_by_vote(drawn)
    groups = object_of_box if current is None else current
    inside = groups >= 0
    corner = medians(drawn.corner[inside], groups[inside], n)
    first = np.full(n, -1, dtype=np.int64)
    first[groups[inside][::-1]] = np.flatnonzero(inside)[::-1]
    task, tag = drawn.task[first], drawn.tag[first]
    place = np.argsort(task, kind="stable")
    count = np.bincount(task, minlength=drawn.n_tasks)
    vote_task = drawn.vote_task[votes]
    _, a, b, _ = match_lists(
        drawn.corner[order], corner[place], begin[votes], size[votes], starts(count)[:-1][vote_task], count[vote_task],
        tag_a=drawn.tag[order], tag_b=tag[place], min_overlap=min_overlap,
    )  # fmt: skip
    object_of_box[order[a]] = place[b]


def _boxes_by_vote(drawn: DrawnBoxes) -> tuple[I8, I8, I8]:
    """Return (number of boxes of each vote, boxes in the order of the votes, first box of each vote)."""
    size = np.bincount(drawn.vote, minlength=len(drawn.vote_task))
    return size, np.argsort(drawn.vote, kind="stable"), starts(size)[:-1]


def _matching_order(drawn: DrawnBoxes, size: I8) -> I8:
    """Return the turn in which each vote is matched; the votes of an image with the most boxes go first."""
    order = np.lexsort((drawn.vote_worker, -size, drawn.vote_task))
    begin = starts(np.bincount(drawn.vote_task, minlength=drawn.n_tasks))[:-1]
    turn = np.empty(len(size), dtype=np.int64)
    turn[order] = np.arange(len(size)) - begin[drawn.vote_task[order]]
    return turn


# ----------------------------------------------------------------
# Boxes of one image that show the same object: average linkage over 1 - IoU, one class at a time.
# Boxes of one worker never end up in the same cluster, because a worker who draws two boxes means two objects (F1 at
# IoU .5 on boxes_street .909; .886 if that is only discouraged). Two boxes that do not overlap stay apart unless others
# lie between them, so each connected component of overlapping boxes is clustered separately.

# The distance of two boxes of one worker: no mean that includes it is ever below 1.
FORBIDDEN = 1e9


def average_linkage(drawn: DrawnBoxes, min_overlap: float) -> I8:
    """Return cluster[box]: boxes whose mean overlap is at least `min_overlap`, numbered in the order of the boxes."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(drawn.tag)
    if not n:
        return np.empty(0, dtype=np.int64)
    a, b, overlap = links(drawn)
    component = connected_components(coo_array((overlap > 0, (a, b)), shape=(n, n)), directed=False)[1]
    order = np.argsort(component, kind="stable")
    size = np.bincount(component)
    place = np.empty(n, dtype=np.int64)
    begin = starts(size)
    place[order] = np.arange(n) - begin[component[order]]
    pair_order = np.argsort(component[a], kind="stable")
    cuts = starts(np.bincount(component[a], minlength=len(size)))
    cluster = np.zeros(n, dtype=np.int64)
    for g in np.flatnonzero(size > 1).tolist():
        pairs, members = pair_order[cuts[g] : cuts[g + 1]], order[begin[g] : begin[g + 1]]
        cluster[members] = _cluster_component(
            place[a[pairs]], place[b[pairs]], overlap[pairs], drawn.vote[members], min_overlap
        )
    return _renumber(component.astype(np.int64) * (int(size.max()) + 1) + cluster)


def links(drawn: DrawnBoxes) -> tuple[I8, I8, F8]:
    """Return (a, b, overlap) of all pairs of overlapping boxes a < b of one image and class and different workers."""
    offsets = drawn.offsets
    begin, size = offsets[:-1], np.diff(offsets)
    parts = []
    # In blocks of images with about 4 million pairs at most.
    block = np.cumsum(size.astype(np.float64) ** 2) // 4e6
    for tasks in np.split(np.arange(len(size)), np.flatnonzero(np.diff(block)) + 1):
        _, a, b = all_pairs(begin[tasks], size[tasks], begin[tasks], size[tasks])
        keep = (a < b) & (drawn.tag[a] == drawn.tag[b]) & (drawn.vote[a] != drawn.vote[b])
        a, b = a[keep], b[keep]
        overlap = iou(drawn.corner[a], drawn.corner[b])
        overlaps = overlap > 0
        parts.append((a[overlaps], b[overlaps], overlap[overlaps]))
    a, b, overlap = (np.concatenate([part[i] for part in parts]) for i in range(3))
    return a, b, overlap


def _cluster_component(a: I8, b: I8, overlap: F8, vote: I8, min_overlap: float) -> I8:
    """Return the clusters of a component's boxes, from the overlaps of its pairs and the vote of each box."""
    n = len(vote)
    if n == 2:
        return np.array([0, int(overlap[0] < min_overlap)])
    from scipy.cluster.hierarchy import fcluster, linkage

    low, high = np.minimum(a, b), np.maximum(a, b)
    i, j = np.triu_indices(n, 1)
    distance = np.where(vote[i] == vote[j], FORBIDDEN, 1.0)
    distance[n * low - low * (low + 1) // 2 + high - low - 1] = 1 - overlap
    clusters = fcluster(linkage(distance, "average"), 1 - min_overlap + 1e-12, "distance")
    return np.asarray(clusters, dtype=np.int64)


def _renumber(key: I8) -> I8:
    """Return codes in the order of first appearance."""
    _, first, code = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[code]


# ----------------------------------------------------------------
# Objects: boxes of the same object, with their support and their median.

# Minimum IoU at which a worker's box matches a gold box.
GOLD_OVERLAP = 0.5


@dataclass(frozen=True, eq=False)
class Objects:
    """Objects on the images.

    Args:
        object_of_box: The object of each drawn box.
        task: Task of each object.
        tag: Class of each object.
        corner: corner[object, x1 y1 x2 y2].
        support: Weighted number of votes with a box of the object.
        n_votes: Weighted number of votes of the object's task.
        is_gold: Whether the object is on an image with gold boxes.
        is_true: Whether the object is one of the gold boxes.
    """

    object_of_box: I8
    task: I8
    tag: I8
    corner: F8
    support: F8
    n_votes: F8
    is_gold: Mask
    is_true: Mask

    def __len__(self) -> int:
        return len(self.task)

    @property
    def share(self) -> F8:
        """Share of the votes that drew the object; 1 or 0 on images with gold boxes."""
        share = np.divide(self.support, self.n_votes, out=np.zeros(len(self)), where=self.n_votes > 0)
        return np.clip(np.where(self.is_gold, self.is_true, share), 0.0, 1.0)

    def accepted(self, share: float) -> Mask:
        """Return which objects are a gold box or, without gold, drawn in more than `share` of the votes."""
        return np.asarray(np.where(self.is_gold, self.is_true, self.support > share * self.n_votes + 1e-9))


def build_objects(drawn: DrawnBoxes, object_of_box: I8) -> Objects:
    """Return the objects, given the object of each box; their corners are the medians."""
    n = int(object_of_box.max()) + 1 if len(object_of_box) else 0
    first = np.unique(object_of_box, return_index=True)[1]
    none = np.zeros(n, dtype=bool)
    return Objects(
        object_of_box=object_of_box,
        task=drawn.task[first],
        tag=drawn.tag[first],
        corner=medians(drawn.corner, object_of_box, n) if n else np.empty((0, 4)),
        support=sums(drawn.vote_weight[drawn.vote], object_of_box, n),
        n_votes=drawn.n_votes[drawn.task[first]],
        is_gold=none,
        is_true=none,
    )


@dataclass(frozen=True, eq=False)
class GoldBoxes:
    """The gold boxes, one image after the other; `is_gold` marks the tasks that have them."""

    is_gold: Mask
    size: I8
    corner: F8
    tag: I8


def with_gold(drawn: DrawnBoxes, objects: Objects, gold: GoldBoxes) -> Objects:
    """Return the objects with the gold boxes in place of those on gold images. Unmatched boxes become objects."""
    on_gold = gold.is_gold[drawn.task]
    size = np.bincount(drawn.vote, minlength=len(drawn.vote_task))
    order = np.argsort(drawn.vote, kind="stable")  # boxes vote by vote
    begin = starts(size)[:-1]
    votes = np.flatnonzero(gold.is_gold[drawn.vote_task])
    vote_task = drawn.vote_task[votes]
    _, a, b, _ = match_lists(
        drawn.corner[order], gold.corner, begin[votes], size[votes], starts(gold.size)[:-1][vote_task],
        gold.size[vote_task], tag_a=drawn.tag[order], tag_b=gold.tag, min_overlap=GOLD_OVERLAP,
    )  # fmt: skip
    n_true = len(gold.corner)
    matched = np.full(len(drawn.tag), -1, dtype=np.int64)
    matched[order[a]] = b
    unmatched = np.flatnonzero(on_gold & (matched < 0))
    free, code = np.unique(objects.object_of_box[~on_gold], return_inverse=True)
    object_of_box = np.empty(len(drawn.tag), dtype=np.int64)
    object_of_box[~on_gold] = code
    object_of_box[on_gold] = matched[on_gold] + len(free)
    object_of_box[unmatched] = len(free) + n_true + np.arange(len(unmatched))
    task = np.concatenate([objects.task[free], np.repeat(np.arange(len(gold.size)), gold.size), drawn.task[unmatched]])
    n = len(task)
    index = np.arange(n)
    return replace(
        objects,
        object_of_box=object_of_box,
        task=task,
        tag=np.concatenate([objects.tag[free], gold.tag, drawn.tag[unmatched]]),
        corner=np.concatenate([objects.corner[free], gold.corner, drawn.corner[unmatched]]),
        support=sums(drawn.vote_weight[drawn.vote], object_of_box, n),
        n_votes=drawn.n_votes[task],
        is_gold=index >= len(free),
        is_true=(index >= len(free)) & (index < len(free) + n_true),
    )


# ----------------------------------------------------------------
# The sides of each object from its boxes: workers draw with a bias (too far left, too wide, ...) and with noise.
# A side is measured from the object's median in units of its width or height, so that large and small boxes are
# comparable, and fitted by the model for numbers with a bias and a precision per worker.


@dataclass(frozen=True, eq=False)
class Sides:
    """Corners of each object, and bias and spread of each worker and side in units of the box's width and height."""

    corner: F8
    bias: F8
    spread: F8
    n_iter: int = 0
    converged: bool = True


def _relative(drawn: DrawnBoxes, objects: Objects) -> tuple[F8, F8]:
    """Return (offset[box, side], unit[object, side])."""
    wide = np.maximum(objects.corner[:, 2:] - objects.corner[:, :2], 1e-9)
    unit = np.concatenate([wide, wide], axis=1)
    return (drawn.corner - objects.corner[objects.object_of_box]) / unit[objects.object_of_box], unit


def _side_sums(values: F8, object_of_box: I8, n: int) -> F8:
    """Return the sums over the boxes of each object of values[box, side]."""
    return np.stack([sums(values[:, side], object_of_box, n) for side in range(4)], axis=1)


def mean_sides(drawn: DrawnBoxes, objects: Objects) -> F8:
    """Return the corners as the plain mean of the boxes."""
    n = len(objects)
    weight = drawn.vote_weight[drawn.vote]
    total = sums(weight, objects.object_of_box, n)[:, None]
    corners = _side_sums(weight[:, None] * drawn.corner, objects.object_of_box, n)
    mean = np.divide(corners, total, out=objects.corner.copy(), where=total > 0)
    return np.where(objects.is_gold[:, None], objects.corner, mean)


def model_sides(drawn: DrawnBoxes, objects: Objects, use: F8, max_iter: int, tol: float) -> Sides:
    """Fit the corners by the model. Only boxes of the objects in `use` inform the workers' biases."""
    from ..numbers.maths.gaussian import gaussian
    from ..numbers.maths.rows import NumberRows

    offset, unit = _relative(drawn, objects)
    good = use[objects.object_of_box] > 0
    order = np.flatnonzero(good)[np.argsort(objects.object_of_box[good], kind="stable")]
    task, worker = objects.object_of_box[order].astype(np.int32), drawn.worker[order].astype(np.int32)
    weight = drawn.vote_weight[drawn.vote][order]
    gold = np.where(objects.is_gold, 0.0, np.nan) if objects.is_gold.any() else None
    fits: list[NumberFit] = []
    if not float(np.abs(offset[order]).max(initial=0.0)) > 1e-9:  # all boxes of every object are the same
        zeros = np.zeros((drawn.n_workers, 4))
        return Sides(objects.corner, zeros, zeros)
    for side in range(4):
        rows = NumberRows(
            task, worker, np.ascontiguousarray(offset[order, side]), weight, len(objects), drawn.n_workers
        )
        fits.append(gaussian(rows, gold, max_iter=max_iter, tol=tol))
    shift = np.stack([fit.mean for fit in fits], axis=1)
    corner = objects.corner + np.where(use[:, None] > 0, shift * unit, 0.0)
    return Sides(
        corner=_with_area(corner, objects.corner),
        bias=np.stack([fit.bias for fit in fits], axis=1),
        spread=np.stack([fit.spread for fit in fits], axis=1),
        n_iter=max(fit.n_iter for fit in fits),
        converged=all(fit.converged for fit in fits),
    )


def sides_from_workers(drawn: DrawnBoxes, objects: Objects, bias: F8, spread: F8) -> F8:
    """Return the corners, given the biases and spreads of the workers."""
    offset, unit = _relative(drawn, objects)
    n = len(objects)
    floor = np.maximum(np.median(spread, axis=0) / 2, 1e-6) if len(spread) else np.ones(4)
    precision = drawn.vote_weight[drawn.vote][:, None] / np.maximum(spread[drawn.worker], floor) ** 2
    unbiased = offset - bias[drawn.worker]
    total, offsets = (_side_sums(values, objects.object_of_box, n) for values in (precision, precision * unbiased))
    shift = np.divide(offsets, total, out=np.zeros_like(offsets), where=total > 0)
    return _with_area(objects.corner + shift * unit, objects.corner)


def _with_area(corner: F8, fallback: F8) -> F8:
    """Return the boxes, with `fallback` in place of boxes without area."""
    good = np.asarray((corner[:, 2:] > corner[:, :2]).all(axis=1))
    return np.where(good[:, None], corner, fallback)


# ----------------------------------------------------------------
# Missed objects and spurious boxes of each answer, judged by the other workers or by gold.


@dataclass(frozen=True, eq=False)
class Sightings:
    """Every pair of an answer and an object of its image: vote[pair], object[pair], whether a box of the answer belongs
    to the object, and whether that box overlaps the object's box by at least `GOLD_OVERLAP`."""

    vote: I8
    object: I8
    is_drawn: Mask
    is_located: Mask


def sightings(drawn: DrawnBoxes, objects: Objects) -> Sightings:
    """Return all pairs of an answer and an object of its image."""
    wide = max(len(objects), 1)
    order = np.argsort(objects.task, kind="stable")
    count = np.bincount(objects.task, minlength=drawn.n_tasks)
    vote, at = spread(starts(count)[:-1][drawn.vote_task], count[drawn.vote_task])
    object_ = order[at]
    pair, box = vote * wide + object_, drawn.vote * wide + objects.object_of_box
    near = iou(drawn.corner, objects.corner[objects.object_of_box]) >= GOLD_OVERLAP
    return Sightings(vote, object_, np.isin(pair, box), np.isin(pair, box[near]))


@dataclass(frozen=True, eq=False)
class AnswerCounts:
    """Counts per answer: objects on the image, how many of them the worker drew, and spurious boxes."""

    n_objects: I8
    n_drawn: I8
    n_spurious: I8

    def of(self, votes: Mask) -> AnswerCounts:
        """Return the counts with those of the other answers set to 0."""
        return AnswerCounts(*(np.where(votes, values, 0) for values in vars(self).values()))


def count_per_answer(drawn: DrawnBoxes, objects: Objects, share: float) -> tuple[AnswerCounts, F8]:
    """Compare each answer with the others; also return the mean overlap of each worker's matched boxes (NaN if none).

    An object exists if more than `share` of the *other* workers drew it: no worker confirms their own boxes. A box
    counts as the object's if it overlaps the object's box by at least `GOLD_OVERLAP`; otherwise the object is missed
    and the box is spurious, as in a comparison with gold. An image with a single answer is not counted unless it has
    gold boxes.
    """
    sighted = sightings(drawn, objects)
    weight, is_gold = drawn.vote_weight[sighted.vote], objects.is_gold[sighted.object]
    others_drew = objects.support[sighted.object] - sighted.is_drawn * weight
    n_others = objects.n_votes[sighted.object] - weight
    is_true = np.where(is_gold, objects.is_true[sighted.object], others_drew > share * n_others + 1e-9)
    is_counted, hit = is_gold | (n_others > 1e-9), is_true & sighted.is_located
    n = len(drawn.vote_task)
    # A box far from its object is spurious, besides being no hit.
    masks = (is_true, hit, sighted.is_drawn & ~hit)
    counts = AnswerCounts(*(np.bincount(sighted.vote[is_counted & mask], minlength=n) for mask in masks))
    wide = max(len(objects), 1)
    good = np.isin(
        drawn.vote * wide + objects.object_of_box,
        (sighted.vote * wide + sighted.object)[is_counted & is_true & sighted.is_drawn],
    )
    return counts, _overlap(drawn, objects, good, drawn.n_workers)


def _overlap(drawn: DrawnBoxes, objects: Objects, good: Mask, m: int) -> F8:
    value, worker = iou(drawn.corner[good], objects.corner[objects.object_of_box[good]]), drawn.worker[good]
    n = np.bincount(worker, minlength=m)
    return np.asarray(np.divide(sums(value, worker, m), n, out=np.full(m, np.nan), where=n > 0))


# Number of images whose worth of evidence the crowd's design effect counts in that of a worker.
CROWD_IMAGES = 20.0


def clustered_rate(hits: npt.NDArray[Any], n: npt.NDArray[Any], worker: I8, m: int) -> tuple[F8, F8, F8]:
    """Return the share of hits of each worker with its 95 % interval; NaN where there are no trials.

    Trials of one image are not independent: objects of a dark image are missed together. hits[answer] of n[answer]
    trials are the clusters. The interval is Jeffreys' for the effective number of trials: their number divided by the
    design effect, with the allowance for few clusters of Korn & Graubard (1998, Survey Methodology 24: 193-201). The
    design effect of a worker is shrunk to the crowd's, and at least 1.
    """
    from scipy.special import betaincinv, stdtrit

    has_trials = n > 0
    trials, worker = n[has_trials].astype(np.float64), worker[has_trials]
    right = hits[has_trials].astype(np.float64)
    total, top, images = (sums(values, worker, m) for values in (trials, right, np.ones(len(trials))))
    is_tried = total > 0
    p = np.divide(top, total, out=np.full(m, np.nan), where=is_tried)
    square = sums((right - p[worker] * trials) ** 2, worker, m)
    varies = is_tried & (p > 0) & (p < 1) & (images > 1)
    own = np.divide(square, total * p * (1 - p), out=np.ones(m), where=varies)
    own = np.where(varies, own * images / np.maximum(images - 1, 1), 1.0)
    crowd = float(np.average(own[varies], weights=images[varies])) if varies.any() else 1.0
    effect = np.maximum((images * np.where(varies, own, crowd) + CROWD_IMAGES * crowd) / (images + CROWD_IMAGES), 1.0)
    few = (stdtrit(np.maximum(total - 1, 1), 0.975) / stdtrit(np.maximum(images - 1, 1), 0.975)) ** 2
    effective = total / effect * np.minimum(few, 1.0)
    share = np.where(is_tried, p, 0.5)
    a, b = share * effective + 0.5, (1 - share) * effective + 0.5
    low = np.where(share <= 0, 0.0, betaincinv(a, b, 0.025))
    high = np.where(share >= 1, 1.0, betaincinv(a, b, 0.975))
    return p, np.where(is_tried, low, np.nan), np.where(is_tried, high, np.nan)


def rate(hits: I8, n: I8) -> tuple[F8, F8, F8]:
    """Return the share of hits with its 95 % Jeffreys interval for independent trials; NaN where n is 0."""
    from scipy.special import betaincinv

    has_trials = n > 0
    value = np.divide(hits, n, out=np.full(len(n), np.nan), where=has_trials)
    a, b = hits + 0.5, n - hits + 0.5
    low = np.where(hits == 0, 0.0, betaincinv(a, b, 0.025))
    high = np.where(hits == n, 1.0, betaincinv(a, b, 0.975))
    return value, np.where(has_trials, low, np.nan), np.where(has_trials, high, np.nan)
