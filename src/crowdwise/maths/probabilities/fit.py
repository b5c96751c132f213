"""What a method has learnt from probabilities, and log odds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..numbers.rows import F8, Rows

# Answers nearer to 0 or 1 than this are taken for this: nobody is that sure.
CLIP = 0.02


@dataclass(frozen=True, eq=False)
class Fit:
    """probability[task]. Of each worker, in log odds: `shift` (where they stand when they know nothing), `gap` (how far
    a true task moves them up, and an untrue one down), `spread` (sd of what is left); `weight`, their say. `design` is
    how many times the evidence of a task is counted too often, because workers err together; `share` is that of true
    tasks."""

    probability: F8
    shift: F8
    gap: F8
    spread: F8
    weight: F8
    design: float = 1.0
    share: float = 0.5
    trace: F8 = field(default_factory=lambda: np.empty(0))
    stage: F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 1
    converged: bool = True


def log_odds(p: F8, clip: float = CLIP) -> F8:
    """log p / (1 - p), the ends clipped."""
    p = np.clip(p, clip, 1 - clip)
    return np.asarray(np.log(p) - np.log1p(-p))


def chance(odds: F8) -> F8:
    """Back from log odds."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * odds)))


def in_log_odds(rows: Rows, clip: float) -> Rows:
    """The same rows with log odds for probabilities."""
    return rows.with_value(log_odds(rows.value, clip))


def pooled(rows: Rows, values: F8, weight: F8 | None = None) -> F8:
    """Mean of values[row] of each task, rows weighted by their workers; the mean of all where nobody answered."""
    w = np.ones(len(values)) if weight is None else weight[rows.worker]
    total, mass = rows.task_sum(w * values), rows.task_sum(w)
    usual = total.sum() / mass.sum() if mass.sum() > 0 else 0.0
    return np.asarray(np.where(mass > 0, total / np.where(mass > 0, mass, 1.0), usual))
