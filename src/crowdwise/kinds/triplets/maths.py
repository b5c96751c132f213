"""Ordinal embedding: items as points, so that items reported as more similar are closer.

    P(w answers left) = s(slope_w x (f(|h - r|²) - f(|h - l|²))),   s the logistic function, slope_w ~ N(1, spread²)

With f(x) = x this is stochastic triplet embedding, with f(x) = (a + 1) / 2 log(1 + x / a) its form with a Student
kernel: van der Maaten & Weinberger (2012), doi:10.1109/MLSP.2012.6349720. The slope of a worker is 0 for random
answers and negative for opposite answers. The negative log posterior is minimised by L-BFGS from several starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.arrays import F8, I8


@dataclass(frozen=True, eq=False)
class TripletRows:
    """One answer per row: `near` is closer to `head` than `far`. A row of weight w counts as w answers."""

    head: npt.NDArray[Any]
    near: npt.NDArray[Any]
    far: npt.NDArray[Any]
    worker: npt.NDArray[Any]
    weight: F8
    n_items: int
    n_workers: int

    def __len__(self) -> int:
        return len(self.head)

    def take(self, rows: npt.NDArray[Any]) -> TripletRows:
        """Select rows."""
        return replace(self, head=self.head[rows], near=self.near[rows], far=self.far[rows], worker=self.worker[rows],
                       weight=self.weight[rows])  # fmt: skip


@dataclass(frozen=True)
class EmbeddingModel:
    """The model to fit.

    Args:
        dimensions: Number of dimensions.
        kernel: "gauss" or "student".
        workers: Whether workers have slopes.
        spread: Prior standard deviation of the slopes.
        ridge: Ridge penalty on the coordinates.
    """

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
    """A fitted embedding: place[item, axis], centred with the widest axis first, and slope[worker] with its error."""

    place: F8
    slope: F8
    slope_error: F8
    objective: float
    n_iter: int
    converged: bool


def closer(place: F8, head: I8, first: I8, second: I8, model: EmbeddingModel) -> F8:
    """How much closer `first` is to head than `second`: the log-odds of a worker of slope 1."""
    a, b = (((place[head] - place[other]) ** 2).sum(axis=1) for other in (first, second))
    return _kernel(b, model)[0] - _kernel(a, model)[0]


def _kernel(square: F8, model: EmbeddingModel) -> tuple[F8, F8]:
    """f of a squared distance, and its derivative."""
    if model.kernel == "gauss":
        return square, np.ones_like(square)
    a = model.tail
    return (a + 1) / 2 * np.log1p(square / a), (a + 1) / 2 / (a + square)


class _EmbeddingLoss:
    """Negative log posterior and its gradient with respect to places and slopes."""

    def __init__(self, rows: TripletRows, model: EmbeddingModel) -> None:
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
        gap, row_slope = f_far - f_near, slope[rows.worker]
        odds = row_slope * gap
        loss = float((rows.weight * np.logaddexp(0.0, -odds)).sum()) + model.ridge / 2 * float((place**2).sum())
        by_odds = -rows.weight / (1 + np.exp(np.minimum(odds, 500.0)))
        pull = by_odds * row_slope
        near, far = 2 * (pull * d_near)[:, None] * to_near, 2 * (pull * d_far)[:, None] * to_far
        grad = model.ridge * place
        for at, part in ((rows.head, far - near), (rows.near, near), (rows.far, -far)):
            grad += np.stack([np.bincount(at, weights=column, minlength=rows.n_items) for column in part.T], axis=1)
        if not model.workers:
            return loss, grad.ravel()
        loss += float(((slope - 1) ** 2).sum()) / 2 / model.spread**2
        by_slope = np.bincount(rows.worker, weights=by_odds * gap, minlength=rows.n_workers)
        return loss, np.concatenate([grad.ravel(), by_slope + (slope - 1) / model.spread**2])


def embed(
    rows: TripletRows, model: EmbeddingModel, *, seed: int = 0, starts: int = 3, max_iter: int = 500
) -> Embedding:
    """Fit from several random starts and return the best."""
    from scipy.optimize import minimize

    problem, best = _EmbeddingLoss(rows, model), None
    rng = np.random.default_rng(seed)
    first: list[F8] = []
    if model.dimensions == 1:  # points on a line cannot pass each other: start from the widest axis of a plane
        wide = embed(rows, replace(model, dimensions=2), seed=seed, starts=1, max_iter=max_iter)
        first = [np.ascontiguousarray(wide.place[:, 0])]
    for _ in range(max(starts, 1)):
        x = first.pop() if first else rng.normal(0.0, 0.5, rows.n_items * model.dimensions)
        x = np.concatenate([x, np.ones(rows.n_workers)]) if model.workers else x
        solution = minimize(problem.value, x, jac=True, method="L-BFGS-B", options={"maxiter": max_iter, "maxcor": 20})
        if best is None or solution.fun < best.fun:
            best = solution
    assert best is not None
    place, slope = problem.parts(best.x)
    if float(slope.mean()) < 0:
        slope = -slope
    aligned = axes(place)
    gap = closer(aligned, rows.head, rows.near, rows.far, model)
    p = 1 / (1 + np.exp(np.clip(-slope[rows.worker] * gap, -500, 500)))
    information = np.bincount(rows.worker, weights=rows.weight * p * (1 - p) * gap**2, minlength=rows.n_workers)
    error = 1 / np.sqrt(information + 1 / model.spread**2)
    converged = bool(best.success) or best.nit < max_iter
    return Embedding(aligned, np.array(slope), error, -float(best.fun), int(best.nit), converged)


def axes(place: F8) -> F8:
    """Centre and rotate the points to their principal axes; the largest absolute value of each axis is positive."""
    if not len(place):
        return place
    centred = place - place.mean(axis=0)
    _, _, turn = np.linalg.svd(centred, full_matrices=False)
    out = centred @ turn.T
    if out.shape[1] < place.shape[1]:
        out = np.pad(out, ((0, 0), (0, place.shape[1] - out.shape[1])))
    sign = np.sign(out[np.abs(out).argmax(axis=0), np.arange(out.shape[1])])
    return np.asarray(out * np.where(sign == 0, 1.0, sign))


def right_share(place: F8, rows: TripletRows, model: EmbeddingModel) -> F8:
    """1 for each row whose near item is closer in the embedding, 0 where it is not, 1/2 for ties."""
    gap = closer(place, rows.head, rows.near, rows.far, model)
    return np.asarray(np.where(gap > 0, 1.0, np.where(gap < 0, 0.0, 0.5)))


def choose_dimensions(
    rows: TripletRows, model: EmbeddingModel, most: int, *, seed: int, folds: int = 4
) -> tuple[int, list[float]]:
    """Smallest number of dimensions whose cross-validated log-likelihood is within one standard error of the best."""
    fold = np.random.default_rng(seed).permutation(len(rows)) % folds
    scores = []
    for d in range(1, most + 1):
        candidate, out = replace(model, dimensions=d), np.full(len(rows), np.nan)
        for f in range(folds):
            training, held_out = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
            if not len(training) or not len(held_out):
                continue
            embedding = embed(rows.take(training), candidate, seed=seed, starts=2)
            held_out_rows = rows.take(held_out)
            odds = embedding.slope[held_out_rows.worker] * closer(
                embedding.place, held_out_rows.head, held_out_rows.near, held_out_rows.far, candidate
            )
            out[held_out] = -np.logaddexp(0.0, -odds)
        scores.append(out)
    table = np.array(scores)
    mean = np.nanmean(table, axis=1) if np.isfinite(table).any() else np.zeros(most)
    best = int(mean.argmax())
    for d in range(best):
        gap = table[best] - table[d]
        if mean[best] - mean[d] <= float(np.nanstd(gap)) / np.sqrt(len(rows)):
            return d + 1, mean.tolist()
    return best + 1, mean.tolist()
