"""Worker types on an ordinal scale: biased and noisy workers, and spammers.

    P(observed <= l | true k, bias, scale) = sigmoid((threshold[l] - k - bias) / scale)

on a grid of 13 biases × 9 scales, with thresholds shared by all workers; and spammer types whose answers do not depend
on the true class: one draws from the distribution of all answers, and one for each class nearly always gives it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logsumexp

from ...core.arrays import F8, I8
from ...stats.bootstrap import central

BIASES, SCALES = 13, 9
# Largest bias and range of the scales for five classes; they are proportional to the number of steps.
WIDEST, NARROW, BROAD = 1.8, 0.08, 2.0
# Probability that a one-class spammer gives any other class.
ELSE = 0.05
# Smallest probability of an answer.
FLOOR = 1e-6
# Strength of the prior that keeps the thresholds evenly spaced, in answers per squared step.
STIFF = 5.0
# Total number of pseudo-workers in the prior of the type shares.
PRIOR = 1.0


@dataclass(frozen=True)
class WorkerTypes:
    """Worker types.

    Args:
        bias: Bias of each grid type.
        scale: Scale of each grid type.
        threshold: Thresholds between the classes.
        spam: Distribution of the answers of the spammer who draws from the crowd.
        log_share: Log share of each type among the workers.
    """

    bias: F8
    scale: F8
    threshold: F8
    spam: F8
    log_share: F8

    @classmethod
    def start(cls, k: int, label_counts: F8) -> WorkerTypes:
        """Start with thresholds halfway between the classes, equally likely grid types, and the crowd's spam."""
        unit = max(k - 1, 1) / 4
        bias, scale = np.meshgrid(
            np.linspace(-WIDEST, WIDEST, BIASES) * unit, np.geomspace(NARROW, BROAD, SCALES) * unit, indexing="ij"
        )
        n = bias.size + 1 + k
        smoothed = label_counts + 1.0
        # Nine in ten workers are on the grid a priori, all grid types being equally likely; the others are spammers.
        share = np.concatenate([np.full(bias.size, 0.9 / bias.size), np.full(1 + k, 0.1 / (1 + k))])
        assert len(share) == n
        return cls(
            bias.ravel(),
            scale.ravel(),
            np.arange(k - 1, dtype=np.float64) + 0.5,
            smoothed / smoothed.sum(),
            np.log(share),
        )

    @property
    def log_p(self) -> F8:
        """log P(observed | true) as [type, observed, true]."""
        k = len(self.spam)
        grid = grid_p(self.threshold, self.bias, self.scale, k)
        constant = np.full((k, k), ELSE / max(k - 1, 1)) + np.eye(k) * (1 - ELSE - ELSE / max(k - 1, 1))
        flat = np.concatenate([self.spam[None], constant if k > 1 else np.ones((1, 1))])
        spam = np.repeat(flat[:, :, None], k, axis=2)
        p = np.maximum(np.concatenate([grid, spam]), FLOOR)
        return np.asarray(np.log(p / p.sum(axis=1, keepdims=True)))

    def posterior(self, counts: F8) -> F8:
        """Posterior [worker, type] given expected counts[worker, observed, true]."""
        score = counts.reshape(len(counts), -1) @ self.log_p.reshape(len(self.log_share), -1).T + self.log_share
        return np.asarray(np.exp(score - logsumexp(score, axis=1, keepdims=True)))

    def learn(self, counts: F8, belief: F8) -> WorkerTypes:
        """Update shares, spam distribution and thresholds from the counts and the posterior of the types."""
        active = counts.sum(axis=(1, 2)) > 0
        mass = belief[active].sum(axis=0) + PRIOR * np.exp(WorkerTypes.start(len(self.spam), self.spam).log_share)
        share = np.log(mass / mass.sum())
        grid = len(self.bias)
        spam = np.einsum("w,wo->o", belief[:, grid], counts.sum(axis=2)) + 1.0
        grid_counts = np.einsum("wt,wox->tox", belief[:, :grid], counts)
        types = replace(self, log_share=share, spam=spam / spam.sum())
        return replace(types, threshold=_thresholds(self.threshold, self.bias, self.scale, grid_counts))

    def mean(self, belief: F8) -> F8:
        """Mean matrix [worker, observed, true] over the types of each worker."""
        k = len(self.spam)
        table = np.exp(self.log_p).reshape(len(self.log_share), -1)
        return np.asarray((belief @ table).reshape(len(belief), k, k))


def grid_p(threshold: F8, bias: F8, scale: F8, k: int) -> F8:
    """P(observed | true) of the grid types as [type, observed, true]."""
    at = (threshold[None, :, None] - np.arange(k)[None, None, :] - bias[:, None, None]) / scale[:, None, None]
    below = np.concatenate([np.zeros((len(bias), 1, k)), expit(at), np.ones((len(bias), 1, k))], axis=1)
    return np.asarray(np.maximum(np.diff(below, axis=1), FLOOR))


def _thresholds(start: F8, bias: F8, scale: F8, counts: F8) -> F8:
    """Thresholds that maximise the penalised likelihood of the counts; never worse than the start."""
    from scipy.optimize import minimize

    k = len(start) + 1
    if k < 3:
        return start
    is_used = counts.sum(axis=(1, 2)) > 1e-3
    if not is_used.any():
        return start
    counts, bias, scale = counts[is_used], bias[is_used], scale[is_used]
    even_steps = np.arange(k - 1) + 0.5

    def cost(x: F8) -> tuple[float, F8]:
        """Negative log density of the thresholds and its gradient; x: first threshold, then the log step sizes."""
        gaps = np.exp(x[1:])
        at = x[0] + np.concatenate([[0.0], np.cumsum(gaps)])
        p = grid_p(at, bias, scale, k)
        f = expit((at[None, :, None] - np.arange(k)[None, None, :] - bias[:, None, None]) / scale[:, None, None])
        dense = f * (1 - f) / scale[:, None, None]
        ratio = np.where(p > FLOOR, counts / p, 0.0)  # no gradient at the floor
        slope = -(dense * (ratio[:, :-1] - ratio[:, 1:])).sum(axis=(0, 2)) + 2 * STIFF * (at - even_steps)
        value = -float((counts * np.log(p)).sum()) + STIFF * float(((at - even_steps) ** 2).sum())
        tail = np.cumsum(slope[::-1])[::-1]  # moving a threshold moves all thresholds above it
        return value, np.concatenate([[tail[0]], tail[1:] * gaps])

    begin = np.concatenate([start[:1], np.log(np.maximum(np.diff(start), 1e-3))])
    solution = minimize(cost, begin, jac=True, method="L-BFGS-B", options={"maxiter": 20})
    if not np.isfinite(solution.x).all() or solution.fun > cost(begin)[0]:
        return start
    return np.asarray(solution.x[0] + np.concatenate([[0.0], np.cumsum(np.exp(solution.x[1:]))]))


# ----------------------------------------------------------------
# Continuous biases and scales: Fisher scoring, starting from the posterior means on the grid.

STEPS = 12
# Prior standard deviations of bias and log scale, in steps between classes.
BIAS_SPREAD, SCALE_SPREAD = 1.0, 0.7


def refine(counts: F8, bias: F8, scale: F8, threshold: F8) -> tuple[F8, F8]:
    """Maximum a posteriori (bias, scale) of each worker given expected counts[worker, observed, true].

    Only the difference of thresholds and biases is identified: biases are reported relative to evenly spaced
    thresholds.
    """
    m, k = counts.shape[:2]
    if k < 2 or m == 0:
        return bias, scale
    mean_log_scale = float(np.log(scale).mean())
    b, s = bias.copy(), np.log(scale)
    n = counts.sum(axis=1)[:, None, :]  # worker, 1, true
    for _ in range(STEPS):
        p, by_bias, by_scale = _slopes(b, np.exp(s), threshold, k)
        ratio = counts / p
        slope = np.stack([(ratio * by_bias).sum(axis=(1, 2)), (ratio * by_scale).sum(axis=(1, 2))], axis=1)
        slope -= np.stack([b / BIAS_SPREAD**2, (s - mean_log_scale) / SCALE_SPREAD**2], axis=1)
        cells = [(n * first * second / p).sum(axis=(1, 2)) for first, second in
                 ((by_bias, by_bias), (by_bias, by_scale), (by_scale, by_scale))]  # fmt: skip
        table = np.empty((m, 2, 2))
        table[:, 0, 0], table[:, 1, 1] = cells[0] + 1 / BIAS_SPREAD**2, cells[2] + 1 / SCALE_SPREAD**2
        table[:, 0, 1] = table[:, 1, 0] = cells[1]
        step = np.clip(np.linalg.solve(table, slope[:, :, None])[:, :, 0], -0.5, 0.5)
        b, s = b + step[:, 0], s + step[:, 1]
    even_steps = np.arange(k - 1) + 0.5
    return b - float((threshold - even_steps).mean()), np.exp(s)


def _slopes(bias: F8, scale: F8, threshold: F8, k: int) -> tuple[F8, F8, F8]:
    """p[worker, observed, true] and its derivatives with respect to the bias and the log scale."""
    at = (threshold[None, :, None] - np.arange(k)[None, None, :] - bias[:, None, None]) / scale[:, None, None]
    below = expit(at)
    dense = below * (1 - below)
    zero = np.zeros((len(bias), 1, k))
    p = np.diff(np.concatenate([zero, below, zero + 1], axis=1), axis=1)
    by_bias = -np.diff(np.concatenate([zero, dense, zero], axis=1), axis=1) / scale[:, None, None]
    by_scale = -np.diff(np.concatenate([zero, dense * at, zero], axis=1), axis=1)
    return np.maximum(p, FLOOR), by_bias, by_scale


# ----------------------------------------------------------------
# Scores of ordered classes: absolute error in steps, and quadratic kappa.


def median_level(p: F8) -> I8:
    """Median level of p[task, level]: the lowest level with at least half of the probability at or below it."""
    return np.asarray((np.cumsum(p, axis=1) >= 0.5 - 1e-9).argmax(axis=1), dtype=np.int64)


def quadratic_kappa(table: F8) -> F8:
    """Cohen's kappa with squared weights of table[..., estimated, true]; NaN where there is only one level.

    Cohen (1968), Psychological Bulletin 70(4), doi:10.1037/h0026256.
    """
    k = table.shape[-1]
    distance = np.subtract.outer(np.arange(k), np.arange(k)) ** 2.0
    observed = (table * distance).sum(axis=(-2, -1))
    n = table.sum(axis=(-2, -1))
    chance = np.einsum("...i,...j,ij->...", table.sum(axis=-1), table.sum(axis=-2), distance)
    return np.where(chance > 0, 1 - n * observed / np.where(chance > 0, chance, 1.0), np.nan)


def kappa_interval(table: F8, resamples: int, seed: int) -> tuple[float, float] | None:
    """95 % bootstrap interval of kappa over tasks (a multinomial draw of the cells of the table)."""
    n, k = int(table.sum()), table.shape[-1]
    drawn = np.random.default_rng(seed).multinomial(n, table.ravel() / n, size=resamples).reshape(-1, k, k)
    kappas = quadratic_kappa(drawn.astype(np.float64))
    kappas = kappas[np.isfinite(kappas)]
    if len(kappas) < resamples / 2:
        return None
    return central(kappas, n, 0.95)
