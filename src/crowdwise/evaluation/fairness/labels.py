"""Labels whose rates differ little between groups: a linear programme over cells, drawn by hashes of task ids."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ..guarantee.gold import hashed
from .cells import Cells, cells, confidence_cells
from .gaps import gap_tables
from .maths import fair_labels

F8 = npt.NDArray[np.float64]
Target = Literal["parity", "opportunity", "odds"]


def labels_fair(
    of: Cells, target: Target, within: float, seed: int, level: float, new: bool, rng: np.random.Generator
) -> tuple[pl.DataFrame, pl.DataFrame, tuple[float, float]]:
    """(task, label, fair label; the gaps afterwards; expected accuracy before and after)."""
    cell, size, chances, owner = confidence_cells(of)
    found = fair_labels(size, chances, owner, target, within)
    code = dealt(found.x[cell], hashed(of.found.tasks, seed))
    before = float((size * chances[np.arange(len(size)), _verdict(of, cell, len(size))]).sum() / size.sum())
    names = of.found.classes.cast(pl.String)
    table = pl.DataFrame({
        "task": of.found.tasks, "group": pl.Series([str(n) for n in of.names]).gather(of.group),
        "label": names.gather(of.found.label), "fair": names.gather(code),
        "share": found.x[cell, code],
    })  # fmt: skip
    moved = replace(of.found, label=code, about=None)
    groups = {str(t): str(of.names[g]) for t, g in zip(of.found.tasks.to_list(), of.group.tolist(), strict=True)}
    after, _ = gap_tables(cells(moved, groups, of.gold), level, new, rng)
    return table, after, (before, found.accuracy)


def dealt(share: F8, luck: F8) -> npt.NDArray[np.int64]:
    """A class for each task: share[task, class] is its chance, luck[task] from 0 to 1 settles it."""
    edge = np.cumsum(share, axis=1)
    edge[:, -1] = np.inf
    return np.asarray((edge <= luck[:, None]).sum(axis=1))


def _verdict(of: Cells, cell: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.int64]:
    """The verdict of each cell."""
    out = np.zeros(n, dtype=np.int64)
    out[cell] = of.found.label
    return out
