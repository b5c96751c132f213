"""What training on numbers found, as the same Result that aggregation gives: tables, scores and run folders know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor

from ...core.result import Result, versions
from ...kinds.numbers.estimate import NumberEstimate, NumberWorkers
from ...maths.numbers.intervals import gaussian_interval
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
        },
        versions={**versions(), "torch": torch.__version__},
    )


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
    with torch.no_grad():
        slope, bias = (part.cpu().double() for part in cast("NumberMethod", fitted.model_.method).lines())
    variance = around(value, crowd, slope, bias) if lines is None else lines.variance
    say = torch.ones_like(slope) if lines is None else slope**2 / variance
    scale = torch.from_numpy(fitted.units_.scale)
    return NumberWorkers(
        bias=(scale * bias).numpy(),
        spread=(scale * variance.sqrt()).numpy(),
        slope=slope.numpy().copy(),
        weight=(say / say.mean(0).clamp_min(1e-30)).numpy(),
        parts=parts,
    )


def around(value: Tensor, crowd: NumberCrowd, slope: Tensor, bias: Tensor, pseudo: float = 2.0) -> Tensor:
    """Variance of each worker's answers around their line through the net's numbers; two of the crowd's added."""
    weight, worker = crowd.weight.double()[:, None], crowd.worker
    rest = crowd.label.double() - bias[worker] - slope[worker] * value.double()[crowd.task]
    zeros = torch.zeros(crowd.n_workers, rest.shape[1], dtype=torch.float64)
    square, count = zeros.index_add(0, worker, weight * rest**2), zeros.index_add(0, worker, weight.expand_as(rest))
    return (square + pseudo * square.sum(0) / count.sum(0).clamp_min(1e-12)) / (count + pseudo)
