"""Workers who use a scale: how high they say (bias), how far they scatter (scale), and whether they look at all.

    P(said <= l | true k, bias, scale) = sigmoid((threshold[l] - k - bias) / scale)

on a grid of 13 biases × 9 scales, with thresholds that all workers share; and types that say the same of every class:
one draws from the crowd's answers, and one for each class names nearly always that one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp

from ...stats.bootstrap import central

F8 = npt.NDArray[np.float64]
BIASES, SCALES = 13, 9
# The widest bias, and the ends of the scales, on a scale of five steps; longer ones are wider in proportion.
WIDEST, NARROW, BROAD = 1.8, 0.08, 2.0
# What a worker who always names one class says else, all classes together.
ELSE = 0.05
# No answer of a type is less likely than this.
FLOOR = 1e-6
# How stiffly the thresholds are held to their even places, in answers per squared step.
STIFF = 5.0
# Pseudo-workers of each type, in all.
PRIOR = 1.0


@dataclass(frozen=True)
class Types:
    """log_p[type, observed, true], log_share[type] of the workers, and what they are made of."""

    bias: F8
    scale: F8
    threshold: F8
    spam: F8
    log_share: F8

    @classmethod
    def start(cls, k: int, said: F8) -> Types:
        """Before the first worker: thresholds halfway, all types equally likely, spammers like the crowd."""
        unit = max(k - 1, 1) / 4
        bias, scale = np.meshgrid(
            np.linspace(-WIDEST, WIDEST, BIASES) * unit, np.geomspace(NARROW, BROAD, SCALES) * unit, indexing="ij"
        )
        n = bias.size + 1 + k
        own = said + 1.0
        # The grid stands for people who try: half of all before anything is seen, and sharp ones as likely as others.
        share = np.concatenate([np.full(bias.size, 0.9 / bias.size), np.full(1 + k, 0.1 / (1 + k))])
        assert len(share) == n
        return cls(
            bias.ravel(), scale.ravel(), np.arange(k - 1, dtype=np.float64) + 0.5, own / own.sum(), np.log(share)
        )

    @property
    def log_p(self) -> F8:
        """log P(observed | true) of every type: type, observed, true."""
        k = len(self.spam)
        grid = grid_p(self.threshold, self.bias, self.scale, k)
        constant = np.full((k, k), ELSE / max(k - 1, 1)) + np.eye(k) * (1 - ELSE - ELSE / max(k - 1, 1))
        flat = np.concatenate([self.spam[None], constant if k > 1 else np.ones((1, 1))])
        spam = np.repeat(flat[:, :, None], k, axis=2)
        both = np.maximum(np.concatenate([grid, spam]), FLOOR)
        return np.asarray(np.log(both / both.sum(axis=1, keepdims=True)))

    def judge(self, counts: F8) -> F8:
        """belief[worker, type] given expected counts[worker, observed, true]."""
        score = counts.reshape(len(counts), -1) @ self.log_p.reshape(len(self.log_share), -1).T + self.log_share
        return np.asarray(np.exp(score - logsumexp(score, axis=1, keepdims=True)))

    def learn(self, counts: F8, belief: F8) -> Types:
        """Shares, spammers' answers and thresholds that explain the counts best under these beliefs."""
        heard = counts.sum(axis=(1, 2)) > 0
        mass = belief[heard].sum(axis=0) + PRIOR * np.exp(Types.start(len(self.spam), self.spam).log_share)
        share = np.log(mass / mass.sum())
        grid = len(self.bias)
        spam = np.einsum("w,wo->o", belief[:, grid], counts.sum(axis=2)) + 1.0
        seen = np.einsum("wt,wox->tox", belief[:, :grid], counts)
        found = replace(self, log_share=share, spam=spam / spam.sum())
        return replace(found, threshold=_thresholds(self.threshold, self.bias, self.scale, seen))

    def mean(self, belief: F8) -> F8:
        """The mean matrix of each worker's types: worker, observed, true."""
        k = len(self.spam)
        table = np.exp(self.log_p).reshape(len(self.log_share), -1)
        return np.asarray((belief @ table).reshape(len(belief), k, k))


def grid_p(threshold: F8, bias: F8, scale: F8, k: int) -> F8:
    """P(observed | true) of biased and scattered workers: type, observed, true."""
    at = (threshold[None, :, None] - np.arange(k)[None, None, :] - bias[:, None, None]) / scale[:, None, None]
    below = np.concatenate([np.zeros((len(bias), 1, k)), expit(at), np.ones((len(bias), 1, k))], axis=1)
    return np.asarray(np.maximum(np.diff(below, axis=1), FLOOR))


def _thresholds(start: F8, bias: F8, scale: F8, seen: F8) -> F8:
    """The thresholds that make what each type said most likely, near their even places; never worse than before."""
    from scipy.optimize import minimize

    k = len(start) + 1
    if k < 3:
        return start
    some = seen.sum(axis=(1, 2)) > 1e-3
    if not some.any():
        return start
    seen, bias, scale = seen[some], bias[some], scale[some]
    even = np.arange(k - 1) + 0.5

    def cost(x: F8) -> tuple[float, F8]:
        """Minus the log density of the thresholds, and its slope; x are the first one and the steps' logarithms."""
        gaps = np.exp(x[1:])
        at = x[0] + np.concatenate([[0.0], np.cumsum(gaps)])
        p = grid_p(at, bias, scale, k)
        f = expit((at[None, :, None] - np.arange(k)[None, None, :] - bias[:, None, None]) / scale[:, None, None])
        dense = f * (1 - f) / scale[:, None, None]
        ratio = np.where(p > FLOOR, seen / p, 0.0)  # what lies at the floor does not move
        slope = -(dense * (ratio[:, :-1] - ratio[:, 1:])).sum(axis=(0, 2)) + 2 * STIFF * (at - even)
        value = -float((seen * np.log(p)).sum()) + STIFF * float(((at - even) ** 2).sum())
        rest = np.cumsum(slope[::-1])[::-1]  # what moves with each threshold: itself and all above it
        return value, np.concatenate([[rest[0]], rest[1:] * gaps])

    begin = np.concatenate([start[:1], np.log(np.maximum(np.diff(start), 1e-3))])
    found = minimize(cost, begin, jac=True, method="L-BFGS-B", options={"maxiter": 20})
    if not np.isfinite(found.x).all() or found.fun > cost(begin)[0]:
        return start
    return np.asarray(found.x[0] + np.concatenate([[0.0], np.cumsum(np.exp(found.x[1:]))]))


# ----------------------------------------------------------------
# Biases and scales off the grid: Fisher scoring from where the beliefs over the grid stand.

STEPS = 12
# What is believed of a worker before their first answer, in steps of the ladder: spreads of bias and of log scale.
BIAS_SPREAD, SCALE_SPREAD = 1.0, 0.7


def refined(counts: F8, bias: F8, scale: F8, threshold: F8) -> tuple[F8, F8]:
    """(bias, scale) of each worker with the highest density, given expected counts[worker, observed, true].

    The thresholds and all biases may move together without changing anything: biases are told as if the thresholds lay
    at their even places on average.
    """
    m, k = counts.shape[:2]
    if k < 2 or m == 0:
        return bias, scale
    middle = float(np.log(scale).mean())
    b, s = bias.copy(), np.log(scale)
    n = counts.sum(axis=1)[:, None, :]  # worker, 1, true
    for _ in range(STEPS):
        p, by_bias, by_scale = _slopes(b, np.exp(s), threshold, k)
        ratio = counts / p
        slope = np.stack([(ratio * by_bias).sum(axis=(1, 2)), (ratio * by_scale).sum(axis=(1, 2))], axis=1)
        slope -= np.stack([b / BIAS_SPREAD**2, (s - middle) / SCALE_SPREAD**2], axis=1)
        cells = [(n * one * two / p).sum(axis=(1, 2)) for one, two in
                 ((by_bias, by_bias), (by_bias, by_scale), (by_scale, by_scale))]  # fmt: skip
        table = np.empty((m, 2, 2))
        table[:, 0, 0], table[:, 1, 1] = cells[0] + 1 / BIAS_SPREAD**2, cells[2] + 1 / SCALE_SPREAD**2
        table[:, 0, 1] = table[:, 1, 0] = cells[1]
        step = np.clip(np.linalg.solve(table, slope[:, :, None])[:, :, 0], -0.5, 0.5)
        b, s = b + step[:, 0], s + step[:, 1]
    even = np.arange(k - 1) + 0.5
    return b - float((threshold - even).mean()), np.exp(s)


def _slopes(bias: F8, scale: F8, threshold: F8, k: int) -> tuple[F8, F8, F8]:
    """p[worker, observed, true], and its slopes by the bias and by the logarithm of the scale."""
    at = (threshold[None, :, None] - np.arange(k)[None, None, :] - bias[:, None, None]) / scale[:, None, None]
    below = expit(at)
    dense = below * (1 - below)
    zero = np.zeros((len(bias), 1, k))
    p = np.diff(np.concatenate([zero, below, zero + 1], axis=1), axis=1)
    by_bias = -np.diff(np.concatenate([zero, dense, zero], axis=1), axis=1) / scale[:, None, None]
    by_scale = -np.diff(np.concatenate([zero, dense * at, zero], axis=1), axis=1)
    return np.maximum(p, FLOOR), by_bias, by_scale


# ----------------------------------------------------------------
# How far classes are off where they have an order: steps off, and quadratic kappa.

I8 = npt.NDArray[np.int64]


def median_level(p: F8) -> I8:
    """The median of p[task, level]: the first level with half of the probability at or below it."""
    return np.asarray((np.cumsum(p, axis=1) >= 0.5 - 1e-9).argmax(axis=1), dtype=np.int64)


def quadratic_kappa(table: F8) -> F8:
    """Cohen's kappa with squared steps of table[..., said, true]; NaN where one level is all there is.

    Cohen (1968), Psychological Bulletin 70(4), doi:10.1037/h0026256.
    """
    k = table.shape[-1]
    apart = np.subtract.outer(np.arange(k), np.arange(k)) ** 2.0
    seen = (table * apart).sum(axis=(-2, -1))
    n = table.sum(axis=(-2, -1))
    chance = np.einsum("...i,...j,ij->...", table.sum(axis=-1), table.sum(axis=-2), apart)
    return np.where(chance > 0, 1 - n * seen / np.where(chance > 0, chance, 1.0), np.nan)


def kappa_interval(table: F8, resamples: int, seed: int) -> tuple[float, float] | None:
    """The central 95 % over tasks drawn with replacement, which is a multinomial draw of the table's cells."""
    n, k = int(table.sum()), table.shape[-1]
    drawn = np.random.default_rng(seed).multinomial(n, table.ravel() / n, size=resamples).reshape(-1, k, k)
    found = quadratic_kappa(drawn.astype(np.float64))
    found = found[np.isfinite(found)]
    if len(found) < resamples / 2:
        return None
    return central(found, n, 0.95)
