"""Matplotlib plots of a Result of numbers: `result.plot.workers()`, `.estimates(truth)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from ..core.errors import ParameterError
from ..core.result import Result
from ..evaluation.evaluate import gold_tasks, scored_tasks
from ..kinds.numbers.estimate import NumberEstimate, NumberWorkers
from ..kinds.numbers.fitting import number_truth
from . import TASKS, WORKERS, axes, busiest_workers, check_limit, draw_intervals, name_of
from .notebook import table

if TYPE_CHECKING:
    from ..workers.flags import Flag


@dataclass(frozen=True, eq=False)
class NumberPlots:
    """The plots of one result.

    >>> import crowdwise as cw
    >>> votes = cw.numbers.number_votes([1, 1, 2, 2], [*"abab"], [2, 3, 5, 6])
    >>> cw.numbers.Mean().fit(votes).plot.workers().get_xlabel()
    'bias ± spread'
    """

    result: Result

    def workers(self, limit: int = WORKERS, part: str | None = None, ax: Any = None, flags: Sequence[Flag] = ()) -> Any:
        """Plot the bias of workers with their spread on both sides, smallest spread on top.

        Args:
            limit: Number of workers; those that are flagged come first, then those with most answers.
            part: Part of the answers.
            ax: Axes to draw into.
            flags: Flags of workers, such as `cw.workers.study(votes, result).flags`; these workers are on top, in red.

        Returns:
            The Axes.
        """
        result, summary = self.result, self.result.worker_summary
        assert isinstance(summary, NumberWorkers)
        j = self._part(part)
        order, n = busiest_workers(result, limit, -summary.spread[:, j], flags=flags)
        bias, spread = summary.bias[order, j], summary.spread[order, j]
        names = result.workers.gather(order).to_list()
        ax = draw_intervals(ax, names, bias, bias - spread, bias + spread, flags=flags)
        ax.axvline(0, color="grey", lw=1, ls="--", zorder=0)
        ax.set_xlabel("bias ± spread")
        ax.set_title(f"Workers by spread ({len(order)} of {n})")
        return ax

    def estimates(self, truth: Any = None, limit: int = TASKS, part: str | None = None, ax: Any = None) -> Any:
        """Plot estimates against the truth, or without one the least certain tasks with their intervals, widest on top.

        Args:
            truth: Mapping or table task, value; tasks that were gold in the fit are left out.
            limit: Number of tasks without a truth.
            part: Part of the answers.
            ax: Axes to draw into.

        Returns:
            The Axes.
        """
        check_limit(limit)
        j = self._part(part)
        return self._least_sure(j, limit, ax) if truth is None else self._against(truth, j, ax)

    def _against(self, truth: Any, j: int, ax: Any) -> Any:
        result, estimate = self.result, self._estimate()
        truth_table = number_truth(truth, tuple(estimate.parts.to_list()))
        scored = scored_tasks(result.tasks, truth_table["task"], gold_tasks(result), "an estimate")
        rows, true = scored.estimate, truth_table.drop("task").to_numpy()[scored.truth, j]
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
        ax = draw_intervals(ax, result.tasks.gather(order).to_list(), value, low, high, margin=0.9)
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
            raise ParameterError(f"the answers have several parts; give part= as one of {', '.join(names)}")
        if part is not None and part not in names:
            raise ParameterError(f"there is no part {part!r}; there are {', '.join(map(repr, names))}")
        return 0 if part is None else names.index(part)


def widest(result: Result, part: int = 0) -> npt.NDArray[np.int64]:
    """Return the tasks by the width of their intervals, widest first; by the fewest answers if there are no
    intervals.
    """
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    width = estimate.high[:, part] - estimate.low[:, part]
    return np.lexsort((result.labels_per_task, -np.nan_to_num(width, nan=-1.0)))


def html(result: Result, rows: int = 10) -> str:
    """Return a Result as a small HTML table for notebooks with its least certain estimates. Everything is escaped."""
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
