"""One-to-one matching of two lists of boxes, for many pairs of lists at once.

The best matching has the largest sum of gains (Kuhn 1955, doi:10.1002/nav.3800020109, by Jonker and Volgenant's
algorithm in scipy). A link whose two ends have no other link is in it anyway; only the rest is searched, and each
island of links by itself.
"""

from __future__ import annotations

import numpy as np

from .overlap import iou
from .ragged import F8, I8, Mask, all_pairs


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
