"""Noisy Bradley-Terry: a worker compares with chance g_m, and else follows a habit for one side:

    P(m says y) = g_m s(y d) + (1 - g_m) s(y h_m),   y = 1 for left, -1 for right.

Bugakova, Fedorova, Gusev & Drutsa (2019), arXiv:1904.03045 describe such a bias; crowd-kit's class of this name assigns
the gradients of a worker's rows instead of adding them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .ridge import ridge
from .rows import PairRows, total
from .uncertainty import Block, Cross, blocks

F8 = npt.NDArray[np.float64]


def _sigmoid(x: F8) -> F8:
    return np.exp(-np.logaddexp(0.0, -x))


@dataclass(frozen=True, eq=False)
class NoisyObjective:
    """x = scores, logits of g, habits h; g ~ Beta(a, b), h ~ N(0, habit²)."""

    rows: PairRows
    strength: float
    a: float
    b: float
    habit: float
    known: npt.NDArray[np.bool_] | None = None

    def _parts(self, x: F8) -> tuple[F8, F8, F8]:
        k, m = self.rows.n_items, self.rows.n_workers
        skill = _sigmoid(np.clip(x[k : k + m], -30.0, 30.0))
        return x[:k], skill if self.known is None else np.where(self.known, 1.0, skill), x[k + m :]

    def __call__(self, x: F8) -> tuple[float, F8, F8]:
        """Value, gradient, and a positive curvature of each parameter."""
        rows = self.rows
        score, skill, habit = self._parts(x)
        p, s, r, g = self._chances(score, skill, habit)
        w, y = rows.weights, rows.share
        turn, info = w * (y / p - (1 - y) / (1 - p)), w / (p * (1 - p))
        leans = (g * s * (1 - s), (s - r) * g * (1 - g), (1 - g) * r * (1 - r))
        gs = total(rows.left, turn * leans[0], rows.n_items) - total(rows.right, turn * leans[0], rows.n_items)
        hs = total(rows.left, info * leans[0] ** 2, rows.n_items)
        hs += total(rows.right, info * leans[0] ** 2, rows.n_items)
        (gg, hg), (gh, hh) = (
            (total(rows.worker, turn * v, rows.n_workers), total(rows.worker, info * v**2, rows.n_workers))
            for v in leans[1:]
        )
        rv, rg, rh = ridge(score, self.strength)
        free = skill * (1 - skill) > 0
        value = float(w @ (y * np.log(p) + (1 - y) * np.log(1 - p))) + rv - 0.5 * float(habit @ habit) / self.habit**2
        value += float((self.a * np.log(skill[free]) + self.b * np.log1p(-skill[free])).sum())
        gg = gg + np.where(free, self.a * (1 - skill) - self.b * skill, 0.0)
        hg = hg + (self.a + self.b) * skill * (1 - skill) + 1e-3
        gradient = np.concatenate([gs + rg, gg, gh - habit / self.habit**2])
        return value, gradient, np.concatenate([hs + rh + 1e-9, hg, hh + 1 / self.habit**2])

    def _chances(self, score: F8, skill: F8, habit: F8) -> tuple[F8, F8, F8, F8]:
        rows = self.rows
        s, r, g = _sigmoid(score[rows.left] - score[rows.right]), _sigmoid(habit)[rows.worker], skill[rows.worker]
        return np.clip(g * s + (1 - g) * r, 1e-12, 1 - 1e-12), s, r, g

    def blocks(self, x: F8) -> list[Block]:
        """The covariance of the scores, workers' skills estimated beside them."""
        rows = self.rows
        score, skill, habit = self._parts(x)
        p, s, r, g = self._chances(score, skill, habit)
        scale = rows.weights / (p * (1 - p))
        slope, lean = g * s * (1 - s), (s - r) * g * (1 - g)
        own = total(rows.worker, scale * lean**2, rows.n_workers) + (self.a + self.b) * skill * (1 - skill)
        return blocks(rows, scale * slope**2, self.strength, [Cross(scale * slope * lean, own)])

    def parts(self, x: F8) -> tuple[F8, F8, F8]:
        """Scores, the chance that each worker compares, and their habits."""
        return self._parts(x)
