"""Ordinal embedding: items as points, so that what is said to be more alike lies closer.

    P(w says left) = s(slope_w x (f(|h - r|²) - f(|h - l|²))),   s the logistic function, slope_w ~ N(1, spread²)

With f(x) = x this is stochastic triplet embedding, with f(x) = (a + 1) / 2 log(1 + x / a) its form with a Student
kernel: van der Maaten & Weinberger (2012), doi:10.1109/MLSP.2012.6349720. Slopes tell the workers apart: 0 is a coin,
below 0 the opposite is meant. Minus the log posterior is minimised by L-BFGS from several starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Triplets:
    """One answer a row: `near` of two items was said to be more like head than `far`; weights count answers."""

    head: npt.NDArray[Any]
    near: npt.NDArray[Any]
    far: npt.NDArray[Any]
    worker: npt.NDArray[Any]
    weight: F8
    n_items: int
    n_workers: int

    def __len__(self) -> int:
        return len(self.head)

    def take(self, rows: npt.NDArray[Any]) -> Triplets:
        """Some of the rows."""
        return replace(self, head=self.head[rows], near=self.near[rows], far=self.far[rows], worker=self.worker[rows],
                       weight=self.weight[rows])  # fmt: skip


@dataclass(frozen=True)
class Model:
    """What is fitted: dimensions, kernel ("gauss" or "student"), whether workers have slopes and how far these spread,
    and the ridge that keeps points from running away."""

    dimensions: int = 2
    kernel: str = "gauss"
    workers: bool = True
    spread: float = 0.5
    ridge: float = 0.02

    @property
    def tail(self) -> float:
        """Degrees of freedom of the Student kernel."""
        return max(1.0, self.dimensions - 1.0)


@dataclass(frozen=True, eq=False)
class Embedding:
    """place[item, axis], centred, the widest axis first; slope[worker] with its standard error; the objective."""

    place: F8
    slope: F8
    slope_error: F8
    objective: float
    n_iter: int
    converged: bool


def closer(place: F8, head: I8, one: I8, two: I8, model: Model) -> F8:
    """How much closer `one` is to head than `two`: the log-odds of a worker of slope 1."""
    a, b = (((place[head] - place[other]) ** 2).sum(axis=1) for other in (one, two))
    return _kernel(b, model)[0] - _kernel(a, model)[0]


def _kernel(square: F8, model: Model) -> tuple[F8, F8]:
    """f of a squared distance, and its slope."""
    if model.kernel == "gauss":
        return square, np.ones_like(square)
    a = model.tail
    return (a + 1) / 2 * np.log1p(square / a), (a + 1) / 2 / (a + square)


class _Problem:
    """Minus the log posterior and its gradient, in places and slopes."""

    def __init__(self, rows: Triplets, model: Model) -> None:
        self.rows, self.model = rows, model

    def parts(self, x: F8) -> tuple[F8, F8]:
        size = self.rows.n_items * self.model.dimensions
        place = x[:size].reshape(self.rows.n_items, self.model.dimensions)
        return place, x[size:] if self.model.workers else np.ones(self.rows.n_workers)

    def value(self, x: F8) -> tuple[float, F8]:
        rows, model = self.rows, self.model
        place, slope = self.parts(x)
        to_near, to_far = place[rows.head] - place[rows.near], place[rows.head] - place[rows.far]
        (f_near, d_near), (f_far, d_far) = (_kernel((to**2).sum(axis=1), model) for to in (to_near, to_far))
        gap, own = f_far - f_near, slope[rows.worker]
        odds = own * gap
        loss = float((rows.weight * np.logaddexp(0.0, -odds)).sum()) + model.ridge / 2 * float((place**2).sum())
        by_odds = -rows.weight / (1 + np.exp(np.minimum(odds, 500.0)))
        pull = by_odds * own
        near, far = 2 * (pull * d_near)[:, None] * to_near, 2 * (pull * d_far)[:, None] * to_far
        grad = model.ridge * place
        for at, part in ((rows.head, far - near), (rows.near, near), (rows.far, -far)):
            grad += np.stack([np.bincount(at, weights=column, minlength=rows.n_items) for column in part.T], axis=1)
        if not model.workers:
            return loss, grad.ravel()
        loss += float(((slope - 1) ** 2).sum()) / 2 / model.spread**2
        by_slope = np.bincount(rows.worker, weights=by_odds * gap, minlength=rows.n_workers)
        return loss, np.concatenate([grad.ravel(), by_slope + (slope - 1) / model.spread**2])


def embed(rows: Triplets, model: Model, *, seed: int = 0, starts: int = 3, max_iter: int = 500) -> Embedding:
    """The best of several starts; points far apart at first so that no start is symmetric."""
    from scipy.optimize import minimize

    problem, best = _Problem(rows, model), None
    rng = np.random.default_rng(seed)
    first: list[F8] = []
    if model.dimensions == 1:  # on a line points cannot pass each other: begin with the widest axis of a plane
        wide = embed(rows, replace(model, dimensions=2), seed=seed, starts=1, max_iter=max_iter)
        first = [np.ascontiguousarray(wide.place[:, 0])]
    for _ in range(max(starts, 1)):
        x = first.pop() if first else rng.normal(0.0, 0.5, rows.n_items * model.dimensions)
        x = np.concatenate([x, np.ones(rows.n_workers)]) if model.workers else x
        found = minimize(problem.value, x, jac=True, method="L-BFGS-B", options={"maxiter": max_iter, "maxcor": 20})
        if best is None or found.fun < best.fun:
            best = found
    assert best is not None
    place, slope = problem.parts(best.x)
    if float(slope.mean()) < 0:
        slope = -slope
    turned = axes(place)
    gap = closer(turned, rows.head, rows.near, rows.far, model)
    p = 1 / (1 + np.exp(np.clip(-slope[rows.worker] * gap, -500, 500)))
    known = np.bincount(rows.worker, weights=rows.weight * p * (1 - p) * gap**2, minlength=rows.n_workers)
    error = 1 / np.sqrt(known + 1 / model.spread**2)
    settled = bool(best.success) or best.nit < max_iter
    return Embedding(turned, np.array(slope), error, -float(best.fun), int(best.nit), settled)


def axes(place: F8) -> F8:
    """The same points, centred and turned so that the widest axis is first; the largest value of each is positive."""
    if not len(place):
        return place
    centred = place - place.mean(axis=0)
    _, _, turn = np.linalg.svd(centred, full_matrices=False)
    out = centred @ turn.T
    if out.shape[1] < place.shape[1]:
        out = np.pad(out, ((0, 0), (0, place.shape[1] - out.shape[1])))
    sign = np.sign(out[np.abs(out).argmax(axis=0), np.arange(out.shape[1])])
    return np.asarray(out * np.where(sign == 0, 1.0, sign))


def right_share(place: F8, rows: Triplets, model: Model) -> F8:
    """1 for each row whose near item lies nearer, 1/2 for a tie."""
    gap = closer(place, rows.head, rows.near, rows.far, model)
    return np.asarray(np.where(gap > 0, 1.0, np.where(gap < 0, 0.0, 0.5)))


def choose_dimensions(rows: Triplets, model: Model, most: int, *, seed: int, folds: int = 4) -> tuple[int, list[float]]:
    """The number of dimensions, up to `most`, whose places predict answers held out best (log-likelihood); the smallest
    within one standard error of the best."""
    fold = np.random.default_rng(seed).permutation(len(rows)) % folds
    scores = []
    for d in range(1, most + 1):
        own, out = replace(model, dimensions=d), np.full(len(rows), np.nan)
        for f in range(folds):
            rest, new = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
            if not len(rest) or not len(new):
                continue
            found = embed(rows.take(rest), own, seed=seed, starts=2)
            some = rows.take(new)
            odds = found.slope[some.worker] * closer(found.place, some.head, some.near, some.far, own)
            out[new] = -np.logaddexp(0.0, -odds)
        scores.append(out)
    table = np.array(scores)
    mean = np.nanmean(table, axis=1) if np.isfinite(table).any() else np.zeros(most)
    best = int(mean.argmax())
    for d in range(best):
        gap = table[best] - table[d]
        if mean[best] - mean[d] <= float(np.nanstd(gap)) / np.sqrt(len(rows)):
            return d + 1, mean.tolist()
    return best + 1, mean.tolist()
