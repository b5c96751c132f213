"""crowdkit.aggregation.utils: helpers for code that uses crowd-kit's aggregators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .base import BaseClassificationAggregator, InputError, MissingError
from .table import COLUMNS, columns_of

__all__ = [
    "add_skills_to_data",
    "clone_aggregator",
    "evaluate",
    "evaluate_equal",
    "evaluate_in",
    "factorize",
    "get_accuracy",
    "get_most_probable_labels",
    "manage_data",
    "named_series_attrib",
    "normalize_rows",
]


def get_accuracy(data: Any, true_labels: Any, by: str | None = None) -> Any:
    """Return the share of right labels among the tasks in `true_labels` (a Series by task).

    Labels are weighted by the column weight, if there is one. The share is that of all labels, or `by` "worker",
    "task", "label" or "true_label". Of several true labels of a task each counts as right.

    >>> votes = pd.DataFrame({"task": [1, 1], "worker": [*"ab"], "label": [*"xy"]})
    >>> get_accuracy(votes, pd.Series({1: "x"}), by="worker").to_dict()
    {'a': 1.0, 'b': 0.0}
    """
    table = columns_of(data, ["weight"] if "weight" in data else [])
    if "weight" not in table:
        table = table.assign(weight=1)
    truth = pd.Series(true_labels).dropna().rename("true_label")
    if by is not None and by not in (*COLUMNS, "true_label"):
        raise MissingError(f"by must be 'task', 'worker', 'label' or 'true_label', got {by!r}")
    gold_rows = table.join(truth, on="task", how="inner").reset_index(drop=True)
    right = np.asarray(gold_rows["label"] == gold_rows["true_label"], dtype=bool)
    # Of several true labels of a task, keep the matching one, if any, which comes last.
    gold_rows = gold_rows.assign(hit=gold_rows["weight"].where(right, 0)).iloc[np.argsort(right, kind="stable")]
    gold_rows = gold_rows.drop_duplicates(list(COLUMNS), keep="last")
    if by is None:
        return float(gold_rows["hit"].sum() / gold_rows["weight"].sum()) if len(gold_rows) else float("nan")
    sums = gold_rows.groupby(by)[["hit", "weight"]].sum()
    return (sums["hit"] / sums["weight"]).rename(None)


def add_skills_to_data(data: Any, skills: Any, on_missing_skill: str, default_skill: float | None) -> Any:
    """Return the rows with a column `skill`.

    `on_missing_skill` handles workers without one: "error", "ignore" (their rows are left out) or "value" (they get
    `default_skill`).
    """
    if on_missing_skill not in ("error", "ignore", "value"):
        raise InputError(f"on_missing_skill must be 'error', 'ignore' or 'value', got {on_missing_skill!r}")
    if (on_missing_skill == "value") != (default_skill is not None):
        raise InputError("default_skill and on_missing_skill='value' belong together; give both or neither")
    data = data.join(pd.Series(skills, dtype=np.float64).rename("skill"), on="worker")
    unknown = data["skill"].isna()
    if not unknown.any():
        return data
    if on_missing_skill == "value":
        return data.assign(skill=data["skill"].fillna(default_skill))
    if on_missing_skill == "error":
        raise InputError(
            f"Skill value is missing in {unknown.sum()} assignments; give all workers one or set on_missing_skill"
        )
    with_skill = data[~unknown]
    n_without_skill = data["task"].nunique() - with_skill["task"].nunique()
    if n_without_skill:
        raise InputError(f"{n_without_skill} tasks have no worker with a known skill; set on_missing_skill='value'")
    return with_skill


def clone_aggregator(aggregator: Any) -> Any:
    """Return a new, unfitted aggregator with the same arguments."""
    if not isinstance(aggregator, BaseClassificationAggregator):
        raise MissingError(f"only classification aggregators can be cloned, got {type(aggregator).__name__}")
    arguments = {
        parameter.name: getattr(aggregator, parameter.name) for parameter in fields(aggregator) if parameter.init
    }
    return type(aggregator)(**arguments)


def evaluate_in(row: Any) -> int:
    """Return 1 if the predicted label is one of the true ones, else 0."""
    return int(row["label_pred"] in row["label_true"])


def evaluate_equal(row: Any) -> int:
    """Return 1 if the predicted label is the true one, else 0."""
    return int(row["label_pred"] == row["label_true"])


def evaluate(df_true: Any, df_pred: Any, evaluate_func: Callable[[Any], int] = evaluate_in) -> float:
    """Return the mean of `evaluate_func` over the tasks of two frames with a column `label` and the same tasks."""
    merged = df_true.merge(df_pred, on="task", suffixes=("_true", "_pred"))
    if len(merged) != len(df_true):
        raise MissingError(f"{len(df_true)} tasks have a true label, but {len(merged)} of them a predicted one")
    return float(merged.apply(evaluate_func, axis=1).mean())


def factorize(data: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the sorted distinct values, and the array with each value's position among them."""
    values, codes = np.unique(data, return_inverse=True)
    return values, codes.reshape(data.shape)


def get_most_probable_labels(proba: Any) -> Any:
    """Return the column with the highest value in each row; the first of several."""
    return proba.idxmax(axis="columns") if proba.size else pd.Series([], dtype="O")


def normalize_rows(scores: Any) -> Any:
    """Divide rows by their sums."""
    return scores.div(scores.sum(axis=1), axis=0)


def manage_data(data: Any, weights: Any = None, skills: Any = None) -> Any:
    """Return task, worker, label with the columns `weight` and `skill`.

    Weights are taken from a Series by task (default 1), skills from a Series by worker (default 1; crowd-kit looks
    them up by task).
    """
    data = columns_of(data)
    for name, series, key in (("weight", weights, "task"), ("skill", skills, "worker")):
        data = data.assign(**{name: 1}) if series is None else data.join(pd.Series(series).rename(name), on=key)
    return data


def named_series_attrib(name: str) -> Any:
    """Return a field for attrs classes that names the Series assigned to it."""
    import attr

    def named(series: Any) -> Any:
        series.name = name
        return series

    return attr.ib(init=False, converter=named, on_setattr=attr.setters.convert)
