"""crowdkit.aggregation.utils: what code around crowd-kit's aggregators calls. The name is crowd-kit's."""

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
    """Share of right labels among the tasks in `true_labels` (Series by task), by weight where there is that column:
    of all, or `by` "worker", "task", "label" or "true_label". Of several true labels of a task each is right.

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
    met = table.join(truth, on="task", how="inner").reset_index(drop=True)
    right = np.asarray(met["label"] == met["true_label"], dtype=bool)
    # Of the true labels of one task the one that was said, if any: it comes last.
    met = met.assign(hit=met["weight"].where(right, 0)).iloc[np.argsort(right, kind="stable")]
    met = met.drop_duplicates(list(COLUMNS), keep="last")
    if by is None:
        return float(met["hit"].sum() / met["weight"].sum()) if len(met) else float("nan")
    sums = met.groupby(by)[["hit", "weight"]].sum()
    return (sums["hit"] / sums["weight"]).rename(None)


def add_skills_to_data(data: Any, skills: Any, on_missing_skill: str, default_skill: float | None) -> Any:
    """The rows with a column `skill`; workers without one: "error", "ignore" (their rows are left out) or "value"
    (they get `default_skill`)."""
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
    heard = data[~unknown]
    silent = data["task"].nunique() - heard["task"].nunique()
    if silent:
        raise InputError(f"{silent} tasks have no worker with a known skill; set on_missing_skill='value'")
    return heard


def clone_aggregator(aggregator: Any) -> Any:
    """A new aggregator with the same arguments, not fitted."""
    if not isinstance(aggregator, BaseClassificationAggregator):
        raise MissingError(f"only classification aggregators can be cloned, got {type(aggregator).__name__}")
    given = {each.name: getattr(aggregator, each.name) for each in fields(aggregator) if each.init}
    return type(aggregator)(**given)


def evaluate_in(row: Any) -> int:
    """1 where the predicted label is one of the true ones."""
    return int(row["label_pred"] in row["label_true"])


def evaluate_equal(row: Any) -> int:
    """1 where the predicted label is the true one."""
    return int(row["label_pred"] == row["label_true"])


def evaluate(df_true: Any, df_pred: Any, evaluate_func: Callable[[Any], int] = evaluate_in) -> float:
    """Mean of `evaluate_func` over the tasks of two frames with a column `label`, whose tasks must be the same."""
    both = df_true.merge(df_pred, on="task", suffixes=("_true", "_pred"))
    if len(both) != len(df_true):
        raise MissingError(f"{len(df_true)} tasks have a true label, but {len(both)} of them a predicted one")
    return float(both.apply(evaluate_func, axis=1).mean())


def factorize(data: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The sorted distinct values, and the array with each value's place among them."""
    values, codes = np.unique(data, return_inverse=True)
    return values, codes.reshape(data.shape)


def get_most_probable_labels(proba: Any) -> Any:
    """The column with the highest value in each row; of several the first."""
    return proba.idxmax(axis="columns") if proba.size else pd.Series([], dtype="O")


def normalize_rows(scores: Any) -> Any:
    """Rows divided by their sums."""
    return scores.div(scores.sum(axis=1), axis=0)


def manage_data(data: Any, weights: Any = None, skills: Any = None) -> Any:
    """task, worker, label with a column `weight` (from a Series by task, default 1) and a column `skill` (from a
    Series by worker, default 1; crowd-kit looks skills up by task)."""
    data = columns_of(data)
    for name, given, key in (("weight", weights, "task"), ("skill", skills, "worker")):
        data = data.assign(**{name: 1}) if given is None else data.join(pd.Series(given).rename(name), on=key)
    return data


def named_series_attrib(name: str) -> Any:
    """A field for classes made with attrs: the Series that is put there gets this name."""
    import attr

    def named(series: Any) -> Any:
        series.name = name
        return series

    return attr.ib(init=False, converter=named, on_setattr=attr.setters.convert)
