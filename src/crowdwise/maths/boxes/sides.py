"""The sides of each object from its boxes: every worker draws a little too far left, too wide, ... and not too evenly.

A side is measured from the object's median, in units of its width or height, so that large and small boxes go
together; the rest is the model of numbers with a bias and a precision of each worker.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numbers.fit import Fit
from ..numbers.gaussians.gaussian import gaussian
from ..numbers.rows import Rows
from .drawn import Drawn
from .objects import Objects
from .ragged import F8


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
