"""Plots of a Result of numbers for notebooks, on matplotlib: `result.plot.workers()`, `.estimates(truth)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from ..core.errors import DataError, ParameterError
from ..core.result import Result
from ..core.vocabulary import lookup
from ..evaluation.evaluate import ALL_GOLD
from ..kinds.numbers.estimate import NumberEstimate, NumberWorkers
from ..kinds.numbers.fitting import number_truth
from . import TASKS, WORKERS, axes, name_of
from .notebook import table

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NumberPlots:
    """The plots of one result.

    >>> import crowdwise as cw
    >>> votes = cw.number_votes([1, 1, 2, 2], [*"abab"], [2, 3, 5, 6])
    >>> cw.Mean().fit(votes).plot.workers().get_xlabel()
    'bias ± spread'
    """

    result: Result

    def workers(self, limit: int = WORKERS, part: str | None = None, ax: Any = None) -> Any:
        """Bias with the spread to both sides, the steadiest on top; beyond `limit` workers those with most answers."""
        result, picture = self.result, self.result.picture
        assert isinstance(picture, NumberWorkers)
        _at_least_one(limit)
        j = self._part(part)
        seen = np.flatnonzero(result.labels_per_worker > 0)
        busy = seen[np.argsort(-result.labels_per_worker[seen], kind="stable")][:limit]
        order = busy[np.argsort(-picture.spread[busy, j], kind="stable")]
        bias, spread = picture.bias[order, j], picture.spread[order, j]
        ax = axes(ax, (6.0, 0.8 + 0.22 * len(order)))
        place = np.arange(len(order))
        ax.axvline(0, color="grey", lw=1, ls="--")
        ax.hlines(place, bias - spread, bias + spread, lw=4, alpha=0.35)
        ax.plot(bias, place, "o", ms=5)
        ax.set_yticks(place, [name_of(w) for w in result.workers.gather(order).to_list()], parse_math=False)
        ax.set_xlabel("bias ± spread")
        ax.set_title(f"Workers by spread ({len(order)} of {len(seen)})")
        return ax

    def estimates(self, truth: Any = None, limit: int = TASKS, part: str | None = None, ax: Any = None) -> Any:
        """Estimates against the `truth` (a mapping or a table task, value), gold left out; without one, the least sure
        tasks with their intervals, the widest on top."""
        _at_least_one(limit)
        j = self._part(part)
        return self._least_sure(j, limit, ax) if truth is None else self._against(truth, j, ax)

    def _against(self, truth: Any, j: int, ax: Any) -> Any:
        result, estimate = self.result, self._estimate()
        known = number_truth(truth, tuple(estimate.parts.to_list()))
        at, here = lookup(result.tasks, known["task"])
        if not here.any():
            raise DataError("none of the tasks in the truth has an estimate here; do the task ids match?")
        if result.gold is not None:
            here &= ~result.gold[at]
        if not here.any():
            raise DataError(ALL_GOLD.format(n=len(known)))
        rows, true = at[here], known.drop("task").to_numpy()[here, j]
        ax = axes(ax, (5.0, 4.8))
        ends = [float(np.min([true, estimate.value[rows, j]])), float(np.max([true, estimate.value[rows, j]]))]
        ax.plot(ends, ends, "--", color="grey", lw=1)
        ax.vlines(true, estimate.low[rows, j], estimate.high[rows, j], alpha=0.3, lw=1)
        ax.plot(true, estimate.value[rows, j], "o", ms=4)
        ax.set_xlabel("truth")
        ax.set_ylabel("estimate")
        ax.set_title(f"Estimates of {len(rows):,} tasks")
        return ax

    def _least_sure(self, j: int, limit: int, ax: Any) -> Any:
        result, estimate = self.result, self._estimate()
        order = widest(result, j)[:limit][::-1]
        value, low, high = (getattr(estimate, name)[order, j] for name in ("value", "low", "high"))
        ax = axes(ax, (6.0, 0.9 + 0.22 * len(order)))
        place = np.arange(len(order))
        ax.hlines(place, low, high, lw=4, alpha=0.35)
        ax.plot(value, place, "o", ms=5)
        ax.set_yticks(place, [name_of(t) for t in result.tasks.gather(order).to_list()], parse_math=False)
        ax.set_xlabel("estimate")
        ax.set_title(f"The {len(order)} least sure of {len(result.tasks):,} tasks")
        return ax

    def _estimate(self) -> NumberEstimate:
        estimate = self.result.estimate
        assert isinstance(estimate, NumberEstimate)
        return estimate

    def _part(self, part: str | None) -> int:
        names = self._estimate().parts.to_list()
        if part is None and len(names) > 1:
            raise ParameterError(f"the answers have several parts; say which: part= one of {', '.join(names)}")
        if part is not None and part not in names:
            raise ParameterError(f"there is no part {part!r}; there are {', '.join(map(repr, names))}")
        return 0 if part is None else names.index(part)


def widest(result: Result, part: int = 0) -> npt.NDArray[np.int64]:
    """Tasks by the width of their intervals, the widest first; those with fewest answers first where it is unknown."""
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    width = estimate.high[:, part] - estimate.low[:, part]
    return np.lexsort((result.labels_per_task, -np.nan_to_num(width, nan=-1.0)))


def _at_least_one(limit: int) -> None:
    if limit < 1:
        raise ParameterError(f"limit must be 1 or more, got {limit}")


def html(result: Result, rows: int = 10) -> str:
    """A Result as a small table for notebooks: what it is, and its least sure estimates. Everything is escaped."""
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    order = widest(result)[:rows]
    head = Markup("<p><b>{}</b>: {:,} tasks, {:,} workers; {}</p>").format(
        result.method, len(result.tasks), len(result.workers), estimate.summary()
    )
    header, cells = ["task (least sure first)"], [[name_of(t, 80)] for t in result.tasks.gather(order).to_list()]
    for j, part in enumerate(estimate.parts.to_list()):
        header += [name_of(f"value {part}".strip(), 40), "interval"]
        for row, t in zip(cells, order, strict=True):
            low, high = float(estimate.low[t, j]), float(estimate.high[t, j])
            row += [f"{estimate.value[t, j]:.4g}", f"{low:.4g} to {high:.4g}" if np.isfinite(low) else "–"]
    for row, t in zip(cells, order, strict=True):
        row.append(f"{result.labels_per_task[t]:,}")
    return str(head + table([*header, "answers"], cells))
