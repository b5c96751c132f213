"""Soft clusters as free logits of every item: P(same) = f_i . f_j, f = softmax, seen through two-coin workers.

    loss = - sum log P(answer) - spread x logdet(F'F / n) + decay / 2 x |logits|²

The log-determinant keeps clusters from falling into one. After the end-to-end objective of the tutorial's part on
similarity (crowdclustering: Gomes, Welinder, Krause & Perona, NIPS 2011), without features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .coins import Coins
from .pairs import F8, I8, Pairs

CLIP = 1e-6


@dataclass(frozen=True, eq=False)
class FreeLogits:
    """belief[item, cluster], the workers' coins, the loss at each step."""

    belief: F8
    coins: Coins
    trace: F8
    n_iter: int
    converged: bool


def free_logits(
    pairs: Pairs, start: I8, k: int, *, spread: float, decay: float, strength: float, max_iter: int, seed: int
) -> FreeLogits:
    """From cluster[item]; `strength` is the weight of the prior on the workers' coins."""
    from scipy.optimize import minimize

    n, m = pairs.n_items, pairs.n_workers
    rng = np.random.default_rng(seed)
    theta = rng.normal(0.0, 0.1, (n, k))
    theta[np.arange(n), start] += 1.0
    coin = np.full((2, m), np.log(0.7 / 0.3))
    common = np.full(2, np.log(0.7 / 0.3))
    problem = _Problem(pairs, k, spread, decay, strength)
    trace: list[float] = []
    found = minimize(
        problem.value, np.concatenate([theta.ravel(), coin.ravel(), common]), jac=True, method="L-BFGS-B",
        callback=lambda x: trace.append(-problem.value(x)[0]), options={"maxiter": max_iter, "maxfun": 3 * max_iter},
    )  # fmt: skip
    theta, hit, rejection, _ = problem.parts(found.x)
    return FreeLogits(_softmax(theta), Coins(hit, rejection), np.array(trace), int(found.nit), bool(found.success))


class _Problem:
    """The loss and its gradient."""

    def __init__(self, pairs: Pairs, k: int, spread: float, decay: float, strength: float) -> None:
        self.pairs, self.k, self.spread, self.decay, self.strength = pairs, k, spread, decay, strength

    def parts(self, x: F8) -> tuple[F8, F8, F8, F8]:
        n, m = self.pairs.n_items, self.pairs.n_workers
        theta = x[: n * self.k].reshape(n, self.k)
        logits = x[n * self.k : n * self.k + 2 * m].reshape(2, m)
        coin = np.clip(1 / (1 + np.exp(-logits)), 1e-3, 1 - 1e-3)
        return theta, coin[0], coin[1], x[-2:]

    def value(self, x: F8) -> tuple[float, F8]:
        pairs, k, m = self.pairs, self.k, self.pairs.n_workers
        theta, a, b, common = self.parts(x)
        f = _softmax(theta)
        left, right, w = f[pairs.left], f[pairs.right], pairs.worker
        same = np.clip((left * right).sum(axis=1), CLIP, 1 - CLIP)
        yes = a[w] * same + (1 - b[w]) * (1 - same)
        sign = np.where(pairs.same > 0.5, 1.0, -1.0)
        chance = np.clip(np.where(sign > 0, yes, 1 - yes), CLIP, None)
        slope = -pairs.weight * sign / chance  # of the loss, in P(says same)
        by_same = slope * (a[w] + b[w] - 1)
        grad_f = pairs_sum(pairs, by_same[:, None] * right, by_same[:, None] * left)
        cross = f.T @ f / len(f) + 1e-6 * np.eye(k)
        grad_f -= self.spread * 2 * f @ np.linalg.inv(cross) / len(f)
        grad_theta = f * (grad_f - (grad_f * f).sum(axis=1, keepdims=True)) + self.decay * theta
        logits = x[theta.size : theta.size + 2 * m].reshape(2, m)
        gap = logits - common[:, None]
        by_a, by_b = slope * same, -slope * (1 - same)
        coins = np.stack([np.bincount(w, weights=by_a, minlength=m) * a * (1 - a),
                          np.bincount(w, weights=by_b, minlength=m) * b * (1 - b)])  # fmt: skip
        loss = -float((pairs.weight * np.log(chance)).sum()) - self.spread * float(np.linalg.slogdet(cross)[1])
        loss += self.decay / 2 * float((theta**2).sum()) + self.strength / 2 * float((gap**2).sum())
        grad = np.concatenate(
            [grad_theta.ravel(), (coins + self.strength * gap).ravel(), -self.strength * gap.sum(axis=1)]
        )
        return loss, grad


def pairs_sum(pairs: Pairs, to_left: F8, to_right: F8) -> F8:
    """Rows summed over the items on their left and right."""
    both, values = np.concatenate([pairs.left, pairs.right]), np.concatenate([to_left, to_right])
    return np.stack([np.bincount(both, weights=column, minlength=pairs.n_items) for column in values.T], axis=1)


def _softmax(logits: F8) -> F8:
    out = np.exp(logits - logits.max(axis=1, keepdims=True))
    found: F8 = out / out.sum(axis=1, keepdims=True)
    return found
