"""Biases and scales off the grid: Fisher scoring from where the beliefs over the grid stand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from .types import FLOOR

F8 = npt.NDArray[np.float64]
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
