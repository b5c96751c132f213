"""What training on numbers found, as the same Result that aggregation gives: tables, scores and run folders know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor

from ...aggregate.numbers.packing import pack
from ...core.result import Result, versions
from ...kinds.numbers.estimate import NumberEstimate, NumberWorkers
from ...maths.numbers.fit import Fit
from ...maths.numbers.intervals import gaussian_interval
from ...maths.numbers.linear import Linear
from .crowd import NumberCrowd
from .lines import Lines, truth
from .method import NumberMethod

if TYPE_CHECKING:
    from ..regressor import CrowdRegressor


def outcome(fitted: CrowdRegressor, value: Tensor, crowd: NumberCrowd, lines: Lines | None) -> Result:
    """The training tasks given features and answers (features alone where the method has no likelihood), the workers.

    `extra["net"]` is what the net alone says: task, part.
    """
    order = fitted.tasks_.arg_sort().to_numpy()  # a Result's tasks are sorted
    history, parts = fitted.history_, pl.Series("value", list(fitted.parts_))
    return Result(
        method=fitted.method,
        params={**(fitted.params or {}), "seed": fitted.seed, "epochs": len(history)},
        tasks=fitted.tasks_.gather(order),
        workers=fitted.workers_,
        estimate=_estimate(fitted, value, crowd, lines, order, parts),
        picture=_picture(fitted, value, crowd, lines, parts),
        labels_per_task=(crowd.offset[1:] - crowd.offset[:-1]).numpy()[order],
        labels_per_worker=np.bincount(crowd.worker.numpy(), minlength=crowd.n_workers),
        trace=-np.array(history["loss"]),
        stage=np.arange(len(history)),  # a stochastic loss may rise: every epoch is a stage of its own
        n_iter=len(history),
        extra={
            "net": fitted.units_.outward(value.double().numpy())[order],
            "best_epoch": history.best_epoch or len(history),
            **pack(_fits(fitted, value, crowd, lines)),
        },
        versions={**versions(), "torch": torch.__version__},
    )


def _fits(fitted: CrowdRegressor, value: Tensor, crowd: NumberCrowd, lines: Lines | None) -> list[Fit]:
    """The workers as lines, part by part, in the form that judges answers of tasks whose features nobody has.

    What is known of such a task is how the training's lie: around the net's mean, as far apart as net and truth say.
    """
    slope, bias, variance = _lines(fitted, value, crowd, lines)
    weight, units, fits = _say(slope, variance, lines is not None).numpy(), fitted.units_, []
    for j in range(len(fitted.parts_)):
        s, b, q = (each[:, j].numpy() for each in (slope, bias, 1 / variance))
        mu = float(value[:, j].double().mean())
        tau = float(value[:, j].double().var(correction=0)) + (0.0 if lines is None else float(lines.gap[j]))
        judge = Linear(q * s**2, q * s, q * s * b, mu, 1 / max(tau, 1e-6), np.zeros(len(s)), (mu, tau))
        extra = {"linear": judge, "centre": float(units.centre[j]), "unit": float(units.scale[j])}
        if lines is not None:
            extra["slope_variance"] = float(lines.slope_prior[j])
        own = {"bias": units.scale[j] * b, "spread": units.scale[j] / np.sqrt(q), "slope": s, "weight": weight[:, j]}
        nothing = np.empty(0)
        fits.append(Fit(fitted.method, nothing, nothing, extra=extra, **own))
    return fits


def _lines(
    fitted: CrowdRegressor, value: Tensor, crowd: NumberCrowd, lines: Lines | None
) -> tuple[Tensor, Tensor, Tensor]:
    """slope, bias and variance[worker, part]: around the truth, or without a likelihood around the net."""
    with torch.no_grad():
        slope, bias = (part.cpu().double() for part in cast("NumberMethod", fitted.model_.method).lines())
    return slope, bias, around(value, crowd, slope, bias).clamp_min(1e-12) if lines is None else lines.variance


def _say(slope: Tensor, variance: Tensor, likely: bool) -> Tensor:
    """Each worker's say, 1 on average; all alike where the method has no likelihood."""
    say = slope**2 / variance if likely else torch.ones_like(slope)
    return say / say.mean(0).clamp_min(1e-30)


def _estimate(
    fitted: CrowdRegressor,
    value: Tensor,
    crowd: NumberCrowd,
    lines: Lines | None,
    order: npt.NDArray[np.uint32],
    parts: pl.Series,
) -> NumberEstimate:
    units = fitted.units_
    if lines is None:
        mean = units.outward(value.double().numpy())[order]
        none = np.full_like(mean, np.nan)
        return NumberEstimate(mean, none, none.copy(), none.copy(), parts)
    found, spread = truth(lines, value, crowd)
    mean = units.outward(found.numpy())[order]
    variance = units.scale**2 * spread.numpy()[order]
    low, high = gaussian_interval(mean, variance)
    return NumberEstimate(mean, variance, low, high, parts)


def _picture(
    fitted: CrowdRegressor, value: Tensor, crowd: NumberCrowd, lines: Lines | None, parts: pl.Series
) -> NumberWorkers:
    """Bias at a middling number, and the spread around a worker's line: through the truth, or else through the net."""
    slope, bias, variance = _lines(fitted, value, crowd, lines)
    scale = torch.from_numpy(fitted.units_.scale)
    return NumberWorkers(
        bias=(scale * bias).numpy(),
        spread=(scale * variance.sqrt()).numpy(),
        slope=slope.numpy().copy(),
        weight=_say(slope, variance, lines is not None).numpy(),
        parts=parts,
    )


def around(value: Tensor, crowd: NumberCrowd, slope: Tensor, bias: Tensor, pseudo: float = 2.0) -> Tensor:
    """Variance of each worker's answers around their line through the net's numbers; two of the crowd's added."""
    weight, worker = crowd.weight.double()[:, None], crowd.worker
    rest = crowd.label.double() - bias[worker] - slope[worker] * value.double()[crowd.task]
    zeros = torch.zeros(crowd.n_workers, rest.shape[1], dtype=torch.float64)
    square, count = zeros.index_add(0, worker, weight * rest**2), zeros.index_add(0, worker, weight.expand_as(rest))
    return (square + pseudo * square.sum(0) / count.sum(0).clamp_min(1e-12)) / (count + pseudo)
