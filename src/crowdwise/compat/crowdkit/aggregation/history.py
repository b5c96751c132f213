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
    given = set((worker * len(table.classes) + label).tolist())
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
                "probabilities in initial_error must sum to 1 over the labels of each worker and true class"
            )
    theta = initial_error.clip(lower=EPS)
    theta = theta / theta.groupby(level="worker", sort=False).transform("sum")
    return _spread(table, theta.to_numpy(dtype=np.float64), worker, label, true)


def counted(table: Table, initial_error: Any) -> F8:
    """counts[worker, observed, true]; workers without history have none, workers without labels are left aside."""
    return _spread(table, initial_error.fillna(0.0).to_numpy(dtype=np.float64), *_codes(table, initial_error))


def _codes(table: Table, initial_error: Any) -> tuple[I8, I8, I8]:
    if list(initial_error.index.names) != ["worker", "label"]:
        raise InputError(f"The index of initial_error must be: worker, label; got: {list(initial_error.index.names)}")
    worker = table.codes_of("worker", initial_error.index.get_level_values("worker"))
    label = table.codes_of("label", initial_error.index.get_level_values("label"))
    true = table.codes_of("label", initial_error.columns)
    if (label[worker >= 0] < 0).any() or (true < 0).any():
        raise InputError("initial_error has labels that do not occur in the data; leave them out")
    return worker, label, true


def _spread(table: Table, values: F8, worker: I8, label: I8, true: I8) -> F8:
    k = len(table.classes)
    out = np.zeros((len(table.workers), k, k))
    rows = np.flatnonzero(worker >= 0)
    out[worker[rows, None], label[rows, None], true[None, :]] = values[rows]
    return out
