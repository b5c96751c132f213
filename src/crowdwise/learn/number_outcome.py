"""What training on numbers found: a table of the training tasks, and one of the workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl
import torch
from torch import Tensor

from .feeding.numbers import NumberCrowd
from .lines import Lines, truth

if TYPE_CHECKING:
    from .number_method import NumberMethod
    from .regressor import CrowdRegressor


def task_table(fitted: CrowdRegressor, value: Tensor, crowd: NumberCrowd, lines: Lines | None) -> pl.DataFrame:
    """task, value (net and answers together where the method can), std, net (the net alone), n_labels, as X's rows.

    By part where an answer has several. std is nan for methods that do not know it.
    """
    units = fitted.units_
    alone = units.outward(value.double().numpy())
    both, std = alone, np.full_like(alone, np.nan)
    if lines is not None:
        mean, variance = truth(lines, value, crowd)
        both, std = units.outward(mean.numpy()), units.scale * variance.sqrt().numpy()
    columns = {"task": fitted.tasks_}
    for name, numbers in (("value", both), ("std", std), ("net", alone)):
        columns |= {each: pl.Series(numbers[:, j]) for j, each in enumerate(fitted.column(name))}
    counts = (crowd.offset[1:] - crowd.offset[:-1]).numpy()
    return pl.DataFrame({**columns, "n_labels": counts})


def worker_lines(fitted: CrowdRegressor, value: Tensor, crowd: NumberCrowd, lines: Lines | None) -> pl.DataFrame:
    """worker, n_labels, bias, slope, spread, in the order of the workers' names."""
    method = cast("NumberMethod", fitted.model_.method)
    with torch.no_grad():
        slope, bias = (part.cpu().double() for part in method.lines())
    variance = around(value, crowd, slope, bias) if lines is None else lines.variance
    scale = torch.from_numpy(fitted.units_.scale)
    found = {"bias": scale * bias, "slope": slope, "spread": scale * variance.sqrt()}
    columns = {"worker": fitted.workers_, "n_labels": np.bincount(crowd.worker.numpy(), minlength=crowd.n_workers)}
    for name, numbers in found.items():
        columns |= {each: pl.Series(numbers[:, j].numpy()) for j, each in enumerate(fitted.column(name))}
    return pl.DataFrame(columns)


def around(value: Tensor, crowd: NumberCrowd, slope: Tensor, bias: Tensor, pseudo: float = 2.0) -> Tensor:
    """Variance of each worker's answers around their line through the net's numbers; two of the crowd's added."""
    weight, worker = crowd.weight.double()[:, None], crowd.worker
    rest = crowd.label.double() - bias[worker] - slope[worker] * value.double()[crowd.task]
    zeros = torch.zeros(crowd.n_workers, rest.shape[1], dtype=torch.float64)
    square, count = zeros.index_add(0, worker, weight * rest**2), zeros.index_add(0, worker, weight.expand_as(rest))
    return (square + pseudo * square.sum(0) / count.sum(0).clamp_min(1e-12)) / (count + pseudo)
