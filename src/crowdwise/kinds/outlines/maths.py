"""One mask from many of one picture: by vote, by weighted vote (RASA), and by STAPLE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
# Workers whose masks fit into one whole number, a bit each.
MOST_BITS = 62


@dataclass(frozen=True, eq=False)
class Staple:
    """belief[pixel], sensitivity and specificity of each worker."""

    belief: F8
    sensitivity: F8
    specificity: F8
    n_iter: int
    converged: bool


def vote(masks: Mask | F8, weight: F8) -> F8:
    """share[pixel]: the weight of those who have it; masks are [worker, pixel]."""
    return np.asarray(weight @ masks / max(float(weight.sum()), 1e-300))


def staple(masks: Mask, weight: F8, *, max_iter: int = 100, tol: float = 1e-6, strength: float = 1.0) -> Staple:
    """EM for a hidden mask with a sensitivity and a specificity of each worker: Warfield, Zou & Wells (2004),
    doi:10.1109/TMI.2004.828354. The prior of a pixel is the mean share of the masks; `strength` pixels at .9 keep
    rates from 0 and 1."""
    said, count, at = patterns(masks)
    n = len(said)
    prior = float(np.clip(vote(masks, weight).mean(), 1e-6, 1 - 1e-6)) if masks.size else 0.5
    p, q = np.full(n, 0.9), np.full(n, 0.9)
    belief = vote(said, weight)
    for i in range(max_iter):
        old = belief
        log1 = np.log(prior) + (weight * np.log(p)) @ said + (weight * np.log(1 - p)) @ (1 - said)
        log0 = np.log(1 - prior) + (weight * np.log(1 - q)) @ said + (weight * np.log(q)) @ (1 - said)
        belief = 1 / (1 + np.exp(np.clip(log0 - log1, -500, 500)))
        inside, outside = count * belief, count * (1 - belief)
        p = (said @ inside + 0.9 * strength) / (inside.sum() + strength)
        q = ((1 - said) @ outside + 0.9 * strength) / (outside.sum() + strength)
        p, q = np.clip(p, 1e-6, 1 - 1e-6), np.clip(q, 1e-6, 1 - 1e-6)
        if np.abs(belief - old).max(initial=0.0) <= tol:
            return Staple(belief[at], p, q, i + 1, True)
    return Staple(belief[at], p, q, max_iter, False)


def patterns(masks: Mask) -> tuple[F8, F8, npt.NDArray[np.int64]]:
    """(said[worker, pattern], how many pixels have it, the pattern of each pixel): many pixels have few patterns."""
    n, size = masks.shape
    if n > MOST_BITS:
        return masks.astype(np.float64), np.ones(size), np.arange(size)
    code = (2 ** np.arange(n, dtype=np.int64)) @ masks.astype(np.int64)
    _, first, at, count = np.unique(code, return_index=True, return_inverse=True, return_counts=True)
    return masks[:, first].astype(np.float64), count.astype(np.float64), at.ravel()


def rasa(masks: Mask, weight: F8, *, max_iter: int = 25, tol: float = 1e-3) -> tuple[F8, F8]:
    """(share[pixel], weight[worker]): workers weighted by the IoU of their mask with the vote, until it stays."""
    own = weight.copy()
    for _ in range(max_iter):
        found = vote(masks, own) > 0.5
        new = weight * np.array([overlap(mask, found) for mask in masks])
        if not new.sum() > 0:
            break
        settled = np.abs(new - own).max(initial=0.0) < tol
        own = new
        if settled:
            break
    return vote(masks, own), own


def beside_others(said: F8, count: F8, weight: F8, truth: F8 | None = None) -> F8:
    """IoU of each worker's mask with the vote of the others, or with the truth; NaN where there is neither a mark of
    theirs nor of the others, or nobody else. said[worker, pattern] of patterns of `count` pixels each."""
    if truth is None:
        rest = weight @ said - weight[:, None] * said
        other = rest > 0.5 * (weight.sum() - weight)[:, None] + 1e-12
    else:
        other = np.broadcast_to(truth > 0, said.shape)
    mine = said > 0
    both, either = (mine & other) @ count, (mine | other) @ count
    out = np.divide(both, either, out=np.full(len(said), np.nan), where=either > 0)
    return np.full(len(said), np.nan) if truth is None and len(said) < 2 else np.asarray(out)


def overlap(a: Mask, b: Mask) -> float:
    """Intersection over union; two empty masks agree."""
    union = int((a | b).sum())
    return float((a & b).sum()) / union if union else 1.0


# ----------------------------------------------------------------
# Polygons as pixels: the even-odd rule at the middle of every pixel, row by row, in numpy.


def fill(outlines: Sequence[F8], x: F8, y: F8) -> Mask:
    """mask[row, column]: which points (x[column], y[row]) lie inside one of the outlines; each is closed by itself."""
    out = np.zeros((len(y), len(x)), dtype=bool)
    for points in outlines:
        if len(points) >= 3:
            out |= _inside(points, x, y)
    return out


def _inside(points: F8, x: F8, y: F8) -> Mask:
    """Edges that cross a row's height flip everything to the right of where they cross."""
    a, b = points, np.roll(points, -1, axis=0)
    crosses = (a[:, 1][None] <= y[:, None]) != (b[:, 1][None] <= y[:, None])  # row, edge
    row, edge = np.nonzero(crosses)
    rise = b[edge, 1] - a[edge, 1]
    at = a[edge, 0] + (y[row] - a[edge, 1]) * (b[edge, 0] - a[edge, 0]) / rise
    column = np.searchsorted(x, at)
    flips = np.zeros((len(y), len(x) + 1), dtype=np.int64)
    np.add.at(flips, (row, column), 1)
    return np.asarray(np.cumsum(flips, axis=1)[:, :-1] % 2 == 1)


def grid(outlines: Sequence[F8], most: int) -> tuple[F8, F8]:
    """Middles of pixels over everything that is drawn: whole pixels, or larger ones where there are too many."""
    some = [points for points in outlines if len(points)]
    if not some:
        return np.zeros(0), np.zeros(0)
    every = np.concatenate(some)
    low, high = np.floor(every.min(axis=0)), np.ceil(every.max(axis=0))
    wide = np.maximum(high - low, 1e-9)
    step = max(1.0, float(np.sqrt(wide[0] * wide[1] / most)))
    if max(wide) < 4.0:  # shares of the picture, not pixels
        step = float(np.sqrt(wide[0] * wide[1] / most))
    step = max(step, float(wide.max()) / most)  # something long and thin has no more pixels than others
    n = np.maximum(np.ceil(wide / step).astype(np.int64), 1)
    return low[0] + (np.arange(n[0]) + 0.5) * step, low[1] + (np.arange(n[1]) + 0.5) * step


def trace(mask: Mask, x: F8, y: F8) -> list[F8]:
    """The outlines of a mask: closed ways along the edges of its pixels, inside on the left, corners only.

    Holes are outlines too: by the even-odd rule of all of them together (see `fill_even_odd`) the mask comes back.
    """
    if not mask.any():
        return []
    dx, dy = (float(each[1] - each[0]) if len(each) > 1 else 1.0 for each in (x, y))
    padded = np.pad(mask, 1)
    nexts: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for rows, start, end in (
        (padded[1:-1, 1:-1] & ~padded[:-2, 1:-1], (0, 0), (0, 1)),
        (padded[1:-1, 1:-1] & ~padded[1:-1, 2:], (0, 1), (1, 1)),
        (padded[1:-1, 1:-1] & ~padded[2:, 1:-1], (1, 1), (1, 0)),
        (padded[1:-1, 1:-1] & ~padded[1:-1, :-2], (1, 0), (0, 0)),
    ):
        for i, j in np.argwhere(rows).tolist():
            nexts.setdefault((i + start[0], j + start[1]), []).append((i + end[0], j + end[1]))
    out = []
    while nexts:
        first = next(iter(nexts))
        way, here, before = [first], first, None
        while True:
            there = nexts[here].pop()
            if not nexts[here]:
                del nexts[here]
            step = (there[0] - here[0], there[1] - here[1])
            if step == before:
                way.pop()
            way.append(there)
            before, here = step, there
            if here == first:
                break
        corner = np.array(way[:-1], dtype=np.float64)
        out.append(np.column_stack([x[0] - dx / 2 + corner[:, 1] * dx, y[0] - dy / 2 + corner[:, 0] * dy]))
    return out


def fill_even_odd(outlines: Sequence[F8], x: F8, y: F8) -> Mask:
    """Which points lie inside an odd number of outlines."""
    out = np.zeros((len(y), len(x)), dtype=bool)
    for points in outlines:
        if len(points) >= 3:
            out ^= _inside(points, x, y)
    return out
