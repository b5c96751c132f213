"""CrowdBT's objective: P(worker m says i > j) = e_m s(d) + (1 - e_m) s(-d), d = score_i - score_j.

Chen, Bennett, Collins-Thompson & Horvitz (2013), doi:10.1145/2433396.2433420. A tie is half a win of either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .ridge import ridge
from .rows import PairRows, total
from .uncertainty import Block, Cross, blocks

F8 = npt.NDArray[np.float64]
# Rows from which compiled code pays for its loading.
COMPILED = 100_000


@dataclass(frozen=True, eq=False)
class CrowdObjective:
    """x = scores, then the logits of the workers' reliabilities; `strength` of the virtual item, Beta(a, b) prior."""

    rows: PairRows
    strength: float
    a: float
    b: float
    known: npt.NDArray[np.bool_] | None = None  # workers whose reliability is 1: gold

    def __call__(self, x: F8) -> tuple[float, F8, F8]:
        """Value, gradient, and a positive curvature of each parameter."""
        k = self.rows.n_items
        score, eta = x[:k], 1 / (1 + np.exp(-np.clip(x[k:], -30.0, 30.0)))
        if self.known is not None:
            eta = np.where(self.known, 1.0, eta)
        value, gs, hs, gw, hw = self._pass(score, eta)
        rv, rg, rh = ridge(score, self.strength)
        value += rv
        free = eta * (1 - eta)  # of gold workers 0
        heard = free > 0
        # The density of the logit, not of the reliability itself: its mode is never at 0 or 1.
        prior = self.a * np.log(np.where(heard, eta, 1.0)) + self.b * np.log(np.where(heard, 1 - eta, 1.0))
        value += float(prior.sum())
        gw = gw * free + np.where(heard, self.a * (1 - eta) - self.b * eta, 0.0)
        hw = hw * free**2 + (self.a + self.b) * free + 1e-3
        return float(value), np.concatenate([gs + rg, gw]), np.concatenate([hs + rh + 1e-9, hw])

    def _pass(self, score: F8, eta: F8) -> tuple[float, F8, F8, F8, F8]:
        """Log-likelihood; gradient and curvature by item and by worker (of the reliability itself)."""
        rows = self.rows
        if len(rows) >= COMPILED:
            from ..kernels.comparisons_compiled import crowd_pass

            items, workers = np.zeros((rows.n_items, 2)), np.zeros((rows.n_workers, 2))
            value = crowd_pass(rows.left, rows.right, rows.share, rows.worker, rows.weights, score, eta, items, workers)
            return float(value), items[:, 0], items[:, 1], workers[:, 0], workers[:, 1]
        d, e, w, y = score[rows.left] - score[rows.right], eta[rows.worker], rows.weights, rows.share
        s = np.exp(-np.logaddexp(0.0, -d))
        p = np.clip(e * s + (1 - e) * (1 - s), 1e-300, 1 - 1e-16)
        q = np.clip(e * (1 - s) + (1 - e) * s, 1e-300, 1.0)
        value = float(w @ (y * np.log(p) + (1 - y) * np.log(q)))
        slope, lean = (2 * e - 1) * s * (1 - s), 2 * s - 1
        turn = w * (y / p - (1 - y) / q)
        info = w / (p * q)
        gs = total(rows.left, turn * slope, rows.n_items) - total(rows.right, turn * slope, rows.n_items)
        hs = total(rows.left, info * slope**2, rows.n_items)
        hs += total(rows.right, info * slope**2, rows.n_items)
        gw = total(rows.worker, turn * lean, rows.n_workers)
        hw = total(rows.worker, info * lean**2, rows.n_workers)
        return value, gs, hs, gw, hw

    def blocks(self, x: F8) -> list[Block]:
        """The covariance of the scores, reliabilities estimated beside them."""
        rows, k = self.rows, self.rows.n_items
        eta = 1 / (1 + np.exp(-np.clip(x[k:], -30.0, 30.0)))
        if self.known is not None:
            eta = np.where(self.known, 1.0, eta)
        d, e = x[rows.left] - x[rows.right], eta[rows.worker]
        s = np.exp(-np.logaddexp(0.0, -d))
        p = np.clip(e * s + (1 - e) * (1 - s), 1e-12, 1 - 1e-12)
        slope, lean = (2 * e - 1) * s * (1 - s), (2 * s - 1) * e * (1 - e)
        scale = rows.weights / (p * (1 - p))
        own = total(rows.worker, scale * lean**2, rows.n_workers) + (self.a + self.b) * eta * (1 - eta)
        return blocks(rows, scale * slope**2, self.strength, [Cross(scale * slope * lean, own)])
