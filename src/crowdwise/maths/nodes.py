"""Priors over confusion matrices as nodes and weights, for the message kernel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .coins import coins, even
from .messages import Nodes

F8 = npt.NDArray[np.float64]


def beta_nodes(right: float, wrong: float, n: int) -> tuple[F8, F8]:
    """Gauss-Jacobi nodes and weights of Beta(right, wrong): exact for polynomials up to degree 2 n - 1.

    >>> p, weight = beta_nodes(2, 1, 3)
    >>> round(float(weight @ p), 12)
    0.666666666667
    """
    from scipy.special import roots_jacobi

    t, weight = roots_jacobi(n, wrong - 1, right - 1)
    return (1 + np.asarray(t)) / 2, np.asarray(weight / weight.sum())


def one_coin(right: float, wrong: float, k: int, n: int) -> Nodes:
    """Accuracy ~ Beta(right, wrong)."""
    p, weight = beta_nodes(right, wrong, n)
    return Nodes(coins(p, k), np.log(np.maximum(weight, 1e-300)))


def two_coin(right: float, wrong: float, n: int) -> Nodes:
    """Two classes, each with its own accuracy ~ Beta(right, wrong): the n² products of two rules."""
    p, weight = beta_nodes(right, wrong, n)
    a, b = np.repeat(p, n), np.tile(p, n)
    theta = np.stack([np.stack([a, 1 - a], axis=1), np.stack([1 - b, b], axis=1)], axis=1)
    return Nodes(theta, np.log(np.maximum(np.repeat(weight, n) * np.tile(weight, n), 1e-300)))


def dirichlet(right: float, wrong: float, k: int, n: int, rng: np.random.Generator) -> Nodes:
    """n samples of matrices with rows ~ Dir(right on the diagonal, wrong elsewhere), all of one weight."""
    theta = np.stack([rng.dirichlet(row, size=n) for row in even(right, wrong, k)], axis=1)
    return Nodes(theta, np.full(n, -np.log(n)))


def hammer_spammer(share: float, accuracy: float, k: int) -> Nodes:
    """A share of hammers, right with probability `accuracy`, among spammers who guess."""
    theta = coins(np.array([accuracy, 1 / k]), k)
    return Nodes(theta, np.log(np.array([share, 1 - share])))
