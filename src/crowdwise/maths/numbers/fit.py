"""What every method for numbers returns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .rows import F8, Mask, Rows
from .scaling import Scale


@dataclass(frozen=True, eq=False)
class Fit:
    """Estimates of tasks and a picture of workers.

    A worker's answer is centre + slope * (truth - centre) + bias + noise of standard deviation `spread`, with the
    centre in `extra`; `weight` is their relative say (mean 1 over workers who answered). `trace` is the objective per
    iteration, where there is one. `extra` also holds what `apply` needs to judge other rows, in standardised units.
    """

    method: str
    mean: F8
    variance: F8
    bias: F8
    spread: F8
    slope: F8
    weight: F8
    trace: F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 0
    converged: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


def held(mean: F8, gold: F8 | None) -> F8:
    """Estimates with gold tasks at their gold."""
    return mean if gold is None else np.where(np.isnan(gold), mean, gold)


def known(gold: F8 | None, n_tasks: int) -> Mask:
    """Which tasks have gold."""
    return np.zeros(n_tasks, dtype=bool) if gold is None else ~np.isnan(gold)


def answered_prior(mean: F8, answered: Mask) -> tuple[float, float]:
    """Mean and variance of the answered tasks' estimates: what is known of a task that nobody answered."""
    if not answered.any():
        return 0.0, 0.0
    return float(mean[answered].mean()), float(mean[answered].var())


def residual_picture(rows: Rows, mean: F8) -> tuple[F8, F8]:
    """Each worker's mean and standard deviation of answer minus estimate; silent workers get the crowd's."""
    n = rows.per_worker
    gap = rows.value - mean[rows.task]
    size = np.maximum(n, 1e-300)
    bias = rows.worker_sum(gap) / size
    square = rows.worker_sum((gap - bias[rows.worker]) ** 2)
    spread = np.sqrt(square / size)
    silent = n == 0
    if silent.any():
        total = max(float(n.sum()), 1e-300)
        bias[silent] = 0.0
        spread[silent] = np.sqrt(square.sum() / total)
    return bias, spread


def relative(say: F8, rows: Rows) -> F8:
    """Weights with mean 1 over the workers who answered; silent workers get 1."""
    heard = rows.per_worker > 0
    mean = float(say[heard].mean()) if heard.any() else 1.0
    return np.where(heard, say / mean if mean > 0 else 1.0, 1.0)


def outward(fit: Fit, scale: Scale) -> Fit:
    """A fit of standardised values in the answers' own units."""
    return replace(
        fit,
        mean=scale.outward(fit.mean),
        variance=fit.variance * scale.unit**2,
        bias=fit.bias * scale.unit,
        spread=fit.spread * scale.unit,
        extra={**fit.extra, "centre": scale.centre, "unit": scale.unit},
    )
