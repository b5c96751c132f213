"""Links between tasks: which belong together, and how strongly."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from .errors import DataError
from .intake.frames import to_polars
from .vocabulary import as_series, lookup, quote

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]
COLUMNS = ("task", "other", "weight")


def link_table(links: Any) -> pl.DataFrame:
    """A table task, other, weight from a table of two or three columns (the third is the weight), or from pairs.

    Links have no direction. A task's link to itself says nothing and is left out; of two links between the same tasks
    the stronger one counts.
    """
    if isinstance(links, list | tuple):
        links = {"task": [pair[0] for pair in links], "other": [pair[1] for pair in links]}
    frame = to_polars(links)
    if frame.width not in (2, 3):
        raise DataError(
            f"links are two columns of tasks, and a third with weights if there is one; got {frame.columns}"
        )
    one, two = (as_series(frame[name], name).cast(pl.String) for name in frame.columns[:2])
    weight = np.ones(len(frame))
    if frame.width == 3:
        numbers = frame[frame.columns[2]].cast(pl.Float64, strict=False)
        bad = (~(numbers.is_finite() & (numbers >= 0))).fill_null(True).arg_true()
        if len(bad):
            row = int(bad[0])
            raise DataError(f"row {row + 1}: the weight {quote([frame[row, 2]])} of a link is no number from 0 up")
        weight = numbers.to_numpy()
    if one.null_count() or two.null_count():
        raise DataError("links have rows without a task; fill them in or leave them out")
    return pl.DataFrame({"task": one, "other": two, "weight": weight}).filter(pl.col("task") != pl.col("other"))


def codes(links: pl.DataFrame, tasks: pl.Series) -> tuple[I4, I4, F8]:
    """Both ends as codes and the weights, of links between these tasks; each once, the lower code first."""
    one, here = lookup(tasks, links["task"])
    two, there = lookup(tasks, links["other"])
    both = here & there
    low, high = np.minimum(one[both], two[both]), np.maximum(one[both], two[both])
    weight = links["weight"].to_numpy()[both]
    key = low.astype(np.int64) * max(len(tasks), 1) + high
    order = np.lexsort((-weight, key))
    first = np.concatenate([[True], np.diff(key[order]) != 0])[: len(order)]
    keep = order[first]
    return low[keep], high[keep], weight[keep]
