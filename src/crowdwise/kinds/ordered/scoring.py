"""Scores that need the order of the classes: absolute error in steps, quadratic kappa."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from ...core.arrays import F8, I4
from ...core.result import Result
from ..classes.answers import in_order
from .maths import kappa_interval, median_level, quadratic_kappa


def class_levels(estimates: Result | pl.DataFrame, order: Sequence[Any] | None, names: pl.Series) -> I4 | None:
    """Level of each class, by the given order or that of the fit; None where there is no order."""
    if order is None:
        fit_order = getattr(estimates.estimate, "order", None) if isinstance(estimates, Result) else None
        if fit_order is None or len(names) > len(fit_order):
            return None
        assert isinstance(estimates, Result)
        order = estimates.classes.gather(fit_order).to_list()
    return np.argsort(in_order(order, names)).astype(np.int32)


def ordinal_scores(
    terms: dict[str, F8], p: F8 | None, predicted: I4, true: I4, level: I4, resamples: int, seed: int
) -> tuple[float | None, tuple[float, float] | None]:
    """Add the absolute error `mae` to the terms; return quadratic kappa of the median class and its interval."""
    k = len(level)
    predicted_level = level[predicted].astype(np.int64)
    if p is not None:
        predicted_level = median_level(p[:, np.argsort(level)])
    true_level = level[true].astype(np.int64)
    terms["mae"] = np.abs(predicted_level - true_level).astype(np.float64)
    table = np.bincount(predicted_level * k + true_level, minlength=k * k).reshape(k, k).astype(np.float64)
    kappa = float(quadratic_kappa(table))
    if np.isnan(kappa):
        return None, None
    return kappa, kappa_interval(table, resamples, seed) if resamples else None
