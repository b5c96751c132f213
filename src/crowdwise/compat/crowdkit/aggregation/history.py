"""What `initial_error` says of the workers: a start (`assign`), or counts of earlier work (`addition`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import InputError
from .table import F8, I8, Table

EPS = 1e-10


def assigned(table: Table, initial_error: Any) -> F8:
    """theta[worker, observed, true] of a frame that has a row for every (worker, label) in the data."""
    worker, label, true = _codes(table, initial_error)
    here = (worker >= 0) & (label >= 0)
    given = set((worker * len(table.classes) + label)[here].tolist())
    without = sorted({int(cell) // len(table.classes) for cell in table.cells if int(cell) not in given})
    if without:
        raise InputError(
            "All the workers in data should be in initial_error: "
            f"it lacks rows of {len(without)} workers, the first {table.workers[without[0]]!r}"
        )
    if (initial_error <= 1.0).all(axis=None):
        total = initial_error.groupby(level="worker", sort=False).sum()
        if not np.allclose(total, 1.0):
            raise InputError(
                "The sum of each worker's error matrix in initial_error should be 1.0 over the labels of a true class"
            )
    theta = normalised(initial_error).to_numpy(dtype=np.float64)
    return np.maximum(_spread(table, theta, worker, label, true), EPS)


def normalised(initial_error: Any) -> Any:
    """The frame as probabilities of the labels of each worker and true class."""
    theta = initial_error.clip(lower=EPS)
    return theta / theta.groupby(level="worker", sort=False).transform("sum")


def counted(table: Table, initial_error: Any) -> tuple[F8, F8 | None]:
    """counts[worker, observed, true]; workers without history have none, workers without labels are left aside.

    Counts of labels that nobody gives today come apart, [worker, true]: they belong to the workers' totals.
    """
    values = initial_error.fillna(0.0).to_numpy(dtype=np.float64)
    worker, label, true = _codes(table, initial_error)
    gone = np.flatnonzero((worker >= 0) & (label < 0))
    elsewhere = None
    if len(gone):
        elsewhere = np.zeros((len(table.workers), len(table.classes)))
        today = np.flatnonzero(true >= 0)
        np.add.at(elsewhere, (worker[gone, None], true[None, today]), values[np.ix_(gone, today)])
    return _spread(table, values, worker, label, true), elsewhere


def _codes(table: Table, initial_error: Any) -> tuple[I8, I8, I8]:
    if list(initial_error.index.names) != ["worker", "label"]:
        raise InputError(f"The index of initial_error must be: worker, label; got: {list(initial_error.index.names)}")
    worker = table.codes_of("worker", initial_error.index.get_level_values("worker"))
    label = table.codes_of("label", initial_error.index.get_level_values("label"))
    true = table.codes_of("label", initial_error.columns)
    return worker, label, true


def _spread(table: Table, values: F8, worker: I8, label: I8, true: I8) -> F8:
    k = len(table.classes)
    out = np.zeros((len(table.workers), k, k))
    rows, today = np.flatnonzero((worker >= 0) & (label >= 0)), np.flatnonzero(true >= 0)
    out[worker[rows, None], label[rows, None], true[None, today]] = values[np.ix_(rows, today)]
    return out
