"""Platt scaling of a judge's stated confidence, learned on gold.

    p = sigma(a + b logit c),  b >= 0,  c clipped to [.005, .995]
    minimise  -sum t log p + (1 - t) log(1 - p) + (b - .7)^2 / .5     with Platt's smoothed targets t

A temperature (a = 0) cannot correct a judge who is overconfident at every level; isotonic regression needs more gold.
Platt (1999), Probabilistic outputs for support vector machines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import F8

LOW, HIGH = 0.005, 0.995
USUAL, STRENGTH = 0.7, 4.0  # prior of the slope: its mean, and the curvature 2 / .5 of the penalty
MIN_GOLD = 15


@dataclass(frozen=True)
class Platt:
    """Shift a and slope b of the map."""

    shift: float
    slope: float

    def __call__(self, confidence: F8) -> F8:
        """Return the probability of being right at these stated confidences."""
        return np.asarray(1 / (1 + np.exp(-(self.shift + self.slope * logit(confidence)))))


def logit(confidence: F8) -> F8:
    """log c / (1 - c), clipped."""
    c = np.clip(confidence, LOW, HIGH)
    return np.asarray(np.log(c / (1 - c)))


def why_ignored(confidence: F8) -> str:
    """Return why stated confidences of gold tasks cannot be used; "" if they can."""
    if len(confidence) < MIN_GOLD:
        return f"only {len(confidence)} gold tasks with a stated confidence; {MIN_GOLD} are needed"
    return "the stated confidence never varies" if np.ptp(logit(confidence)) < 1e-9 else ""


def fit_platt(confidence: F8, right: F8) -> Platt:
    """Fit the map of a judge whose verdicts at these confidences were right (1) or wrong (0)."""
    x, hits, misses = logit(confidence), float(right.sum()), float((1 - right).sum())
    target = np.where(right > 0.5, (hits + 1) / (hits + 2), 1 / (misses + 2))
    platt = _newton(x, target, None)
    return platt if platt.slope >= 0 else _newton(x, target, 0.0)


def _newton(x: F8, target: F8, fixed_slope: float | None) -> Platt:
    """Newton's method in (a, b), or in a alone with a fixed slope."""
    a, b = 0.0, USUAL if fixed_slope is None else fixed_slope

    def loss(a: float, b: float) -> float:
        z = a + b * x
        return float((np.logaddexp(0, z) - target * z).sum() + STRENGTH / 2 * (b - USUAL) ** 2)

    now = loss(a, b)
    for _ in range(60):
        p = 1 / (1 + np.exp(-(a + b * x)))
        w = p * (1 - p)
        g = np.array([(p - target).sum(), ((p - target) * x).sum() + STRENGTH * (b - USUAL)])
        h = np.array([[w.sum() + 1e-9, (w * x).sum()], [(w * x).sum(), (w * x * x).sum() + STRENGTH]])
        step = np.array([g[0] / h[0, 0], 0.0]) if fixed_slope is not None else np.linalg.solve(h, g)
        size = 1.0
        while size > 1e-8 and loss(a - size * step[0], b - size * step[1]) > now:
            size /= 2
        a, b = a - size * step[0], b - size * step[1]
        new = loss(a, b)
        if now - new < 1e-12:
            break
        now = new
    return Platt(float(a), float(b))
