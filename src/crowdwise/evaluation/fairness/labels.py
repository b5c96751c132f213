"""Labels whose rates differ little between groups: a linear program over cells, sampled by hashes of task ids."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8
from ..guarantee.gold import hashed
from .gaps import gap_tables
from .group_counts import GroupCounts, confidence_cells, count_groups
from .maths import fair_labels

Target = Literal["parity", "opportunity", "odds"]


def fair_label_table(
    counts_: GroupCounts, target: Target, within: float, seed: int, level: float, new: bool, rng: np.random.Generator
) -> tuple[pl.DataFrame, pl.DataFrame, tuple[float, float]]:
    """Return (task, label, fair label; the gaps afterwards; expected accuracy before and after)."""
    cell, size, chances, cell_group = confidence_cells(counts_)
    solution = fair_labels(size, chances, cell_group, target, within)
    code = draw_labels(solution.x[cell], hashed(counts_.verdicts.tasks, seed))
    before = float((size * chances[np.arange(len(size)), _verdict(counts_, cell, len(size))]).sum() / size.sum())
    names = counts_.verdicts.classes.cast(pl.String)
    table = pl.DataFrame({
        "task": counts_.verdicts.tasks, "group": pl.Series([str(n) for n in counts_.names]).gather(counts_.group),
        "label": names.gather(counts_.verdicts.label), "fair": names.gather(code),
        "share": solution.x[cell, code],
    })  # fmt: skip
    relabelled = replace(counts_.verdicts, label=code, about=None)
    groups = {
        str(t): str(counts_.names[g])
        for t, g in zip(counts_.verdicts.tasks.to_list(), counts_.group.tolist(), strict=True)
    }
    after, _ = gap_tables(count_groups(relabelled, groups, counts_.gold), level, new, rng)
    return table, after, (before, solution.accuracy)


def draw_labels(share: F8, hash_value: F8) -> npt.NDArray[np.int64]:
    """Return a class for each task: share[task, class] is its probability, hash_value[task] in 0..1 selects it."""
    edge = np.cumsum(share, axis=1)
    edge[:, -1] = np.inf
    return np.asarray((edge <= hash_value[:, None]).sum(axis=1))


def _verdict(counts: GroupCounts, cell: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.int64]:
    """Return the verdict of each cell."""
    out = np.zeros(n, dtype=np.int64)
    out[cell] = counts.verdicts.label
    return out
