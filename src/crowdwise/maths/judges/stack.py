"""The judges' stack: one weight a judge, learnt on gold, for any number of classes.

    Z[n, k] = b_k + sum_m w_m v[n, m, k],   P = softmax(Z)
    minimise  sum_gold -log P[n, y_n] + (l2 / 2) sum w^2 + (1/4) sum b^2

v[n, m, k] is the share of judge m's verdicts on task n that say k, less 1/K; 0 where the judge is absent. M + K
numbers, so that 60 gold labels can teach them; weights may be negative. The loss is convex, and Newton's steps find its
minimum.
Wolpert (1992), Stacked generalization, doi:10.1016/S0893-6080(05)80023-1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..logspace import normalise_rows

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Make = Callable[[npt.NDArray[np.bool_]], F8]

GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
FOLDS = 5
BIAS = 0.5  # twice the quarter: the curvature of the penalty on b
_STEPS, _SETTLED = 60, 1e-9
_FLOOR = 1e-300


@dataclass(frozen=True)
class Stack:
    """weight[judge], bias[class], the penalty, and the mean held-out log-loss of each penalty that was tried."""

    weight: F8
    bias: F8
    l2: float
    losses: tuple[float, ...] = ()

    def posterior(self, voices: F8) -> F8:
        """P[task, class] of voices[task, judge, class]."""
        return normalise_rows(self.bias + np.einsum("nmk,m->nk", voices, self.weight))[0]


def fit_stack(voices: F8, truth: I8, l2: float, start: Stack | None = None) -> Stack:
    """The minimum of the penalised log-loss, by Newton's method with halved steps."""
    n, m, k = voices.shape
    rows = np.ascontiguousarray(voices.transpose(0, 2, 1)).reshape(n * k, m)
    design = np.hstack([rows, np.tile(np.eye(k), (n, 1))])  # what multiplies (w, b) in each Z
    penalty = np.r_[np.full(m, l2), np.full(k, BIAS)]
    x = np.zeros(m + k) if start is None else np.r_[start.weight, start.bias]
    hit = np.arange(n) * k + truth

    def value(x: F8) -> tuple[float, F8]:
        p, norm = normalise_rows((design @ x).reshape(n, k))
        return float(norm.sum() - (design[hit] @ x).sum() + 0.5 * penalty @ (x * x)), p

    now, p = value(x)
    for _ in range(_STEPS):
        flat = p.reshape(-1)
        gradient = design.T @ flat - design[hit].sum(axis=0) + penalty * x
        mean = np.einsum("nk,nkj->nj", p, design.reshape(n, k, m + k))
        hessian = (design * flat[:, None]).T @ design - mean.T @ mean + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        fall = float(gradient @ step)
        if fall < _SETTLED:
            break
        size = 1.0
        while size > 1e-8:
            new, q = value(x - size * step)
            if new <= now - 1e-4 * size * fall:
                break
            size /= 2
        x, now, p = x - size * step, new, q
    return Stack(x[:m], x[m:], l2)


def folds(n: int, rng: np.random.Generator, parts: int = FOLDS) -> I8:
    """fold[task] of about equal sizes, drawn."""
    return rng.permutation(n) % min(parts, n)


def out_of_fold(make: Make, truth: I8, l2: float, fold: I8) -> F8:
    """P[task, class] of each gold task by a stack that did not see it."""
    out: list[F8] = [np.empty(0)] * len(truth)
    for f in np.unique(fold):
        held = fold == f
        voices = make(~held)
        found = fit_stack(voices[~held], truth[~held], l2).posterior(voices[held])
        for row, p in zip(np.flatnonzero(held), found, strict=True):
            out[row] = p
    return np.array(out)


def log_loss(posterior: F8, truth: I8) -> F8:
    """-log P of the truth of each task."""
    return np.asarray(-np.log(np.maximum(posterior[np.arange(len(truth)), truth], _FLOOR)))


def learn_stack(
    voices: F8 | Make, truth: I8, rng: np.random.Generator, grid: tuple[float, ...] = GRID
) -> tuple[Stack, F8]:
    """The stack under the penalty that predicts held-out gold best, and the gold tasks' out-of-fold P.

    `voices` may be made of the gold tasks that are learnt from: make(mask) -> voices[gold task, judge, class].
    """
    make: Make = voices if callable(voices) else lambda _: voices
    fold = folds(len(truth), rng)
    tried = [out_of_fold(make, truth, l2, fold) for l2 in grid]
    losses = tuple(float(log_loss(p, truth).mean()) for p in tried)
    best = int(np.argmin(losses))
    found = fit_stack(make(np.ones(len(truth), dtype=bool)), truth, grid[best])
    return Stack(found.weight, found.bias, grid[best], losses), tried[best]
