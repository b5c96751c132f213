"""Boxes of one picture that mean the same object: average linkage over 1 - IoU, one class at a time.

Boxes of one worker never come together: whoever draws two boxes sees two objects (F1 at IoU .5 on boxes_street .909;
.886 where that is only discouraged). Two boxes that do not overlap at all stay apart unless others lie between, so each
island of overlapping boxes is clustered by itself.
"""

from __future__ import annotations

import numpy as np

from .drawn import Drawn
from .overlap import iou
from .ragged import F8, I8, all_pairs

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
