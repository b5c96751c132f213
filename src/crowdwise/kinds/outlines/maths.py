"""Masks: votes, RASA and STAPLE on the masks of one image, and conversion between polygons and pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...core.arrays import F8, Mask

# Maximum number of workers whose marks of a pixel are stored as bits of one integer.
MAX_BITS = 62


@dataclass(frozen=True, eq=False)
class StapleFit:
    """Posterior belief[pixel], and sensitivity and specificity of each worker."""

    belief: F8
    sensitivity: F8
    specificity: F8
    n_iter: int
    converged: bool


def vote(masks: Mask | F8, weight: F8) -> F8:
    """Return share[pixel], the share of the weight that marks each pixel of masks[worker, pixel]."""
    return np.asarray(weight @ masks / max(float(weight.sum()), 1e-300))


def staple(masks: Mask, weight: F8, *, max_iter: int = 100, tol: float = 1e-6, strength: float = 1.0) -> StapleFit:
    """Fit a hidden mask with a sensitivity and a specificity of each worker by EM.

    Warfield, Zou & Wells (2004), doi:10.1109/TMI.2004.828354. The prior of a pixel is the mean share of the masks;
    `strength` pseudo-pixels at a rate of .9 keep the rates away from 0 and 1.
    """
    marks, count, at = patterns(masks)
    n = len(marks)
    prior = float(np.clip(vote(masks, weight).mean(), 1e-6, 1 - 1e-6)) if masks.size else 0.5
    p, q = np.full(n, 0.9), np.full(n, 0.9)
    belief = vote(marks, weight)
    for i in range(max_iter):
        old = belief
        log1 = np.log(prior) + (weight * np.log(p)) @ marks + (weight * np.log(1 - p)) @ (1 - marks)
        log0 = np.log(1 - prior) + (weight * np.log(1 - q)) @ marks + (weight * np.log(q)) @ (1 - marks)
        belief = 1 / (1 + np.exp(np.clip(log0 - log1, -500, 500)))
        inside, outside = count * belief, count * (1 - belief)
        p = (marks @ inside + 0.9 * strength) / (inside.sum() + strength)
        q = ((1 - marks) @ outside + 0.9 * strength) / (outside.sum() + strength)
        p, q = np.clip(p, 1e-6, 1 - 1e-6), np.clip(q, 1e-6, 1 - 1e-6)
        if np.abs(belief - old).max(initial=0.0) <= tol:
            return StapleFit(belief[at], p, q, i + 1, True)
    return StapleFit(belief[at], p, q, max_iter, False)


def patterns(masks: Mask) -> tuple[F8, F8, npt.NDArray[np.int64]]:
    """Return (marks[worker, pattern], number of pixels of each pattern, pattern of each pixel).

    A pattern is a combination of workers who mark a pixel. There are far fewer patterns than pixels.
    """
    n, size = masks.shape
    if n > MAX_BITS:
        return masks.astype(np.float64), np.ones(size), np.arange(size)
    code = (2 ** np.arange(n, dtype=np.int64)) @ masks.astype(np.int64)
    _, first, at, count = np.unique(code, return_index=True, return_inverse=True, return_counts=True)
    return masks[:, first].astype(np.float64), count.astype(np.float64), at.ravel()


def rasa(masks: Mask, weight: F8, *, max_iter: int = 25, tol: float = 1e-3) -> tuple[F8, F8]:
    """Return (share[pixel], weight[worker]); the weight is the IoU of the worker's mask with the vote, iterated."""
    worker_weight = weight.copy()
    for _ in range(max_iter):
        mask_ = vote(masks, worker_weight) > 0.5
        new = weight * np.array([overlap(mask, mask_) for mask in masks])
        if not new.sum() > 0:
            break
        converged = np.abs(new - worker_weight).max(initial=0.0) < tol
        worker_weight = new
        if converged:
            break
    return vote(masks, worker_weight), worker_weight


def iou_with_others(marks: F8, count: F8, weight: F8, truth: F8 | None = None) -> F8:
    """Return the IoU of each worker's mask with the vote of the others, or with the truth.

    It is NaN if neither the worker nor the others marked anything, or if there are no other workers.

    Args:
        marks: marks[worker, pattern], 1 where the worker marks the pixels of the pattern.
        count: Number of pixels of each pattern.
        weight: Weight of each worker's vote.
        truth: truth[pattern], to use instead of the vote of the others.
    """
    if truth is None:
        others_weight = weight @ marks - weight[:, None] * marks
        other = others_weight > 0.5 * (weight.sum() - weight)[:, None] + 1e-12
    else:
        other = np.broadcast_to(truth > 0, marks.shape)
    own = marks > 0
    intersection, union = (own & other) @ count, (own | other) @ count
    out = np.divide(intersection, union, out=np.full(len(marks), np.nan), where=union > 0)
    return np.full(len(marks), np.nan) if truth is None and len(marks) < 2 else np.asarray(out)


def overlap(a: Mask, b: Mask) -> float:
    """Return the intersection over union; 1 for two empty masks."""
    union = int((a | b).sum())
    return float((a & b).sum()) / union if union else 1.0


# ----------------------------------------------------------------
# Polygons to pixels: the even-odd rule at the centre of every pixel, row by row.


def fill(outlines: Sequence[F8], x: F8, y: F8) -> Mask:
    """Return mask[row, column]: which points (x[column], y[row]) lie inside at least one of the outlines."""
    out = np.zeros((len(y), len(x)), dtype=bool)
    for points in outlines:
        if len(points) >= 3:
            out |= _inside(points, x, y)
    return out


def _inside(points: F8, x: F8, y: F8) -> Mask:
    """Return the points inside one outline: edges that cross a row flip all points to the right of the crossing."""
    a, b = points, np.roll(points, -1, axis=0)
    crosses = (a[:, 1][None] <= y[:, None]) != (b[:, 1][None] <= y[:, None])  # row, edge
    row, edge = np.nonzero(crosses)
    rise = b[edge, 1] - a[edge, 1]
    at = a[edge, 0] + (y[row] - a[edge, 1]) * (b[edge, 0] - a[edge, 0]) / rise
    column = np.searchsorted(x, at)
    flips = np.zeros((len(y), len(x) + 1), dtype=np.int64)
    np.add.at(flips, (row, column), 1)
    return np.asarray(np.cumsum(flips, axis=1)[:, :-1] % 2 == 1)


def grid(outlines: Sequence[F8], max_pixels: int) -> tuple[F8, F8]:
    """Return the centres of a grid of pixels over all outlines; pixels are larger than 1 if there are too many."""
    drawn = [points for points in outlines if len(points)]
    if not drawn:
        return np.zeros(0), np.zeros(0)
    points_ = np.concatenate(drawn)
    low, high = np.floor(points_.min(axis=0)), np.ceil(points_.max(axis=0))
    wide = np.maximum(high - low, 1e-9)
    step = max(1.0, float(np.sqrt(wide[0] * wide[1] / max_pixels)))
    if max(wide) < 4.0:  # coordinates are shares of the image size
        step = float(np.sqrt(wide[0] * wide[1] / max_pixels))
    step = max(step, float(wide.max()) / max_pixels)  # long and thin shapes do not get more pixels
    n = np.maximum(np.ceil(wide / step).astype(np.int64), 1)
    return low[0] + (np.arange(n[0]) + 0.5) * step, low[1] + (np.arange(n[1]) + 0.5) * step


def trace(mask: Mask, x: F8, y: F8) -> list[F8]:
    """Return the outlines of a mask: closed paths along the edges of its pixels, reduced to their corners.

    Holes become outlines too. The even-odd rule on all outlines (see `fill_even_odd`) restores the mask.
    """
    if not mask.any():
        return []
    dx, dy = (float(axis[1] - axis[0]) if len(axis) > 1 else 1.0 for axis in (x, y))
    padded = np.pad(mask, 1)
    successors: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for rows, start, end in (
        (padded[1:-1, 1:-1] & ~padded[:-2, 1:-1], (0, 0), (0, 1)),
        (padded[1:-1, 1:-1] & ~padded[1:-1, 2:], (0, 1), (1, 1)),
        (padded[1:-1, 1:-1] & ~padded[2:, 1:-1], (1, 1), (1, 0)),
        (padded[1:-1, 1:-1] & ~padded[1:-1, :-2], (1, 0), (0, 0)),
    ):
        for i, j in np.argwhere(rows).tolist():
            successors.setdefault((i + start[0], j + start[1]), []).append((i + end[0], j + end[1]))
    out = []
    while successors:
        first = next(iter(successors))
        path, corner_, last_step = [first], first, None
        while True:
            next_corner = successors[corner_].pop()
            if not successors[corner_]:
                del successors[corner_]
            step = (next_corner[0] - corner_[0], next_corner[1] - corner_[1])
            if step == last_step:
                path.pop()
            path.append(next_corner)
            last_step, corner_ = step, next_corner
            if corner_ == first:
                break
        corner = np.array(path[:-1], dtype=np.float64)
        out.append(np.column_stack([x[0] - dx / 2 + corner[:, 1] * dx, y[0] - dy / 2 + corner[:, 0] * dy]))
    return out


def fill_even_odd(outlines: Sequence[F8], x: F8, y: F8) -> Mask:
    """Return which points lie inside an odd number of outlines."""
    out = np.zeros((len(y), len(x)), dtype=bool)
    for points in outlines:
        if len(points) >= 3:
            out ^= _inside(points, x, y)
    return out
