"""Uses of `initial_error`: as starting point (`assign`), or as counts of earlier work (`addition`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core.arrays import F8, I8
from .base import InputError
from .table import CodedFrame

# crowd-kit's lower bound of probabilities.
EPS = 1e-10


def assigned(table: CodedFrame, initial_error: Any) -> F8:
    """Return theta[worker, observed, true] of a frame that has a row for every (worker, label) in the data."""
    worker, label, true = _codes(table, initial_error)
    is_present = (worker >= 0) & (label >= 0)
    given_cells = set((worker * len(table.classes) + label)[is_present].tolist())
    missing = sorted({int(cell) // len(table.classes) for cell in table.cells if int(cell) not in given_cells})
    if missing:
        raise InputError(
            "All the workers in data should be in initial_error: "
            f"it lacks rows of {len(missing)} workers, the first {table.workers[missing[0]]!r}"
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
    """Normalise the frame to probabilities of the labels for each worker and true class."""
    theta = initial_error.clip(lower=EPS)
    return theta / theta.groupby(level="worker", sort=False).transform("sum")


def counted(table: CodedFrame, initial_error: Any) -> tuple[F8, F8 | None]:
    """Return counts[worker, observed, true], and counts[worker, true] of labels that do not occur in the data.

    The latter belong to the workers' totals. Workers without history have no counts; workers without labels are
    ignored.
    """
    values = initial_error.fillna(0.0).to_numpy(dtype=np.float64)
    worker, label, true = _codes(table, initial_error)
    unused = np.flatnonzero((worker >= 0) & (label < 0))
    elsewhere = None
    if len(unused):
        elsewhere = np.zeros((len(table.workers), len(table.classes)))
        current = np.flatnonzero(true >= 0)
        np.add.at(elsewhere, (worker[unused, None], true[None, current]), values[np.ix_(unused, current)])
    return _spread(table, values, worker, label, true), elsewhere


def _codes(table: CodedFrame, initial_error: Any) -> tuple[I8, I8, I8]:
    if list(initial_error.index.names) != ["worker", "label"]:
        raise InputError(f"The index of initial_error must be: worker, label; got: {list(initial_error.index.names)}")
    worker = table.codes_of("worker", initial_error.index.get_level_values("worker"))
    label = table.codes_of("label", initial_error.index.get_level_values("label"))
    true = table.codes_of("label", initial_error.columns)
    return worker, label, true


def _spread(table: CodedFrame, values: F8, worker: I8, label: I8, true: I8) -> F8:
    k = len(table.classes)
    out = np.zeros((len(table.workers), k, k))
    rows, current = np.flatnonzero((worker >= 0) & (label >= 0)), np.flatnonzero(true >= 0)
    out[worker[rows, None], label[rows, None], true[None, current]] = values[np.ix_(rows, current)]
    return out
