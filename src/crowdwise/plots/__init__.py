"""Matplotlib plots of a Result: `result.plot.workers()`, `.confusion(worker)`, `.calibration(truth)`, `.contested()`.

Each plot draws into the given Axes, or into new ones, and returns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.arrays import F8
from ..core.errors import DataError, MissingDependencyError, ParameterError
from ..core.result import Result

if TYPE_CHECKING:
    from ..workers.flags import Flag

# Default number of workers and tasks in a plot.
WORKERS, TASKS = 30, 20


@dataclass(frozen=True, eq=False)
class Plots:
    """The plots of one result.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"xyxx"])
    >>> cw.DawidSkene().fit(votes).plot.workers().get_xlabel()
    'skill'
    """

    result: Result

    def workers(self, limit: int = WORKERS, ax: Any = None, flags: Sequence[Flag] = ()) -> Any:
        """Plot the skill of workers with its 95 % interval.

        Args:
            limit: Number of workers; those that are flagged come first, then those with most labels.
            ax: Axes to draw into.
            flags: Flags of workers, such as `cw.workers.study(votes, result).flags`; these workers are on top, in red.

        Returns:
            The Axes.
        """
        result = self.result
        order, n = busiest_workers(result, limit, result.skill, flags=flags)
        names = result.workers.gather(order).to_list()
        low, high = result.skill_low[order], result.skill_high[order]
        ax = draw_intervals(ax, names, result.skill[order], low, high, flags=flags)
        ax.set_xlim(0, 1)
        ax.set_xlabel("skill")
        ax.set_title(f"Workers by skill, 95 % interval ({len(order)} of {n})")
        return ax

    def confusion(self, worker: Any, ax: Any = None) -> Any:
        """Plot a worker's confusion matrix: rows are true classes, columns the worker's labels.

        Args:
            worker: Name of the worker.
            ax: Axes to draw into.

        Returns:
            The Axes.
        """
        result = self.result
        if result.shown_confusion is None:
            raise DataError(f"{result.method} has no confusion matrices; use a method such as dawid_skene")
        names = result.workers.to_list()
        if worker not in names:
            raise ParameterError(f"there is no worker {worker!r}; the first are {names[:3]}")
        table = result.shown_confusion[names.index(worker)]
        classes = [name_of(c) for c in result.classes.to_list()]
        k = len(classes)
        ax = axes(ax, (1.8 + 0.45 * k, 1.5 + 0.4 * k))
        ax.imshow(table, vmin=0, vmax=1, cmap="Blues")
        ax.set_xticks(range(k), classes, rotation=45, ha="right", parse_math=False)
        ax.set_yticks(range(k), classes, parse_math=False)
        for (i, j), share in np.ndenumerate(table) if k <= 12 else ():
            ax.text(j, i, f"{share:.2f}", ha="center", va="center", color="white" if share > 0.6 else "black")
        ax.set_xlabel("says")
        ax.set_ylabel("true")
        ax.set_title(f"Worker {name_of(worker)}", parse_math=False)
        return ax

    def calibration(self, truth: Any, ax: Any = None) -> Any:
        """Plot the share of right labels against confidence with 95 % intervals; dot sizes show the number of labels.

        Args:
            truth: Mapping or table task, label; tasks that were gold in the fit are left out.
            ax: Axes to draw into.

        Returns:
            The Axes.
        """
        from ..core.truth import truth_table
        from ..core.vocabulary import lookup, spelt_like
        from ..evaluation.calibration import bins
        from ..evaluation.evaluate import gold_tasks, scored_tasks

        result, table = self.result, truth_table(truth)
        scored = scored_tasks(result.tasks, table["task"], gold_tasks(result), "a label")
        true, is_class = (v[scored.truth] for v in lookup(result.classes, spelt_like(table["label"], result.classes)))
        # A true class that is not among the classes of the result cannot be the label.
        right = (result.labels[scored.estimate] == true) & is_class
        bins_ = bins(result.confidence[scored.estimate], right)
        ax = axes(ax, (5.0, 4.5))
        x, y = np.array([b.confidence for b in bins_]), np.array([b.accuracy for b in bins_])
        size = np.array([b.n for b in bins_], dtype=float)
        ax.plot([0, 1], [0, 1], "--", color="grey", lw=1)
        ax.vlines(x, [b.low for b in bins_], [b.high for b in bins_], alpha=0.5)
        ax.scatter(x, y, s=20 + 180 * size / size.max())
        ax.set_xlim(max(x.min() - 0.05, 0), 1.01)
        ax.set_xlabel("confidence")
        ax.set_ylabel("share that is right")
        ax.set_title(f"Calibration on {int(size.sum()):,} tasks")
        return ax

    def contested(self, limit: int = TASKS, ax: Any = None) -> Any:
        """Plot the class probabilities of the most uncertain tasks.

        Args:
            limit: Number of tasks.
            ax: Axes to draw into.

        Returns:
            The Axes.
        """
        result = self.result
        check_limit(limit)
        order = np.argsort(-result.entropy, kind="stable")[:limit][::-1]
        ax = axes(ax, (6.5, 0.9 + 0.24 * len(order)))
        left = np.zeros(len(order))
        for code, name in enumerate(result.classes.cast(pl.String).to_list()):
            ax.barh(range(len(order)), result.posterior[order, code], left=left, label=name_of(name))
            left += result.posterior[order, code]
        ax.set_yticks(range(len(order)), [name_of(t) for t in result.tasks.gather(order).to_list()], parse_math=False)
        ax.set_xlim(0, 1)
        ax.set_xlabel("probability")
        ax.set_title(f"The {len(order)} most contested of {len(result.tasks):,} tasks")
        if len(result.classes) <= 12:
            for text in ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5)).get_texts():
                text.set_parse_math(False)  # a name with dollar signs is not a formula
        return ax


@dataclass(frozen=True, eq=False)
class WorkerPlots:
    """Base class of the plots of results whose workers have a measure of quality.

    Attributes:
        measure: The attribute of the worker summary that is shown.
        result: The result.
    """

    measure: ClassVar[str] = "skill"
    result: Result

    def workers(self, limit: int = WORKERS, ax: Any = None) -> Any:
        """Plot the measure of workers, with its interval if there is one, best on top.

        Args:
            limit: Number of workers; those with most answers are chosen.
            ax: Axes to draw into.

        Returns:
            The Axes.
        """
        result, summary, name = self.result, self.result.worker_summary, self.measure
        value = np.asarray(getattr(summary, name))
        low, high = (np.asarray(getattr(summary, f"{name}_{end}", value)) for end in ("low", "high"))
        order, n = busiest_workers(result, limit, value, np.isfinite(value))
        names = result.workers.gather(order).to_list()
        ax = draw_intervals(ax, names, value[order], low[order], high[order])
        ax.set_xlabel(name)
        ax.set_title(f"Workers by {name} ({len(order)} of {n})")
        return ax


def check_limit(limit: int) -> None:
    """Raise ParameterError unless `limit` is at least 1."""
    if limit < 1:
        raise ParameterError(f"limit must be 1 or more, got {limit}")


def busiest_workers(
    result: Result, limit: int, by: F8, usable: npt.NDArray[np.bool_] | None = None, flags: Sequence[Flag] = ()
) -> tuple[npt.NDArray[np.int64], int]:
    """Return the workers with most answers in ascending order of `by`, and from how many they were chosen.

    Flagged workers are chosen first, and stand last, which is on top of a plot.
    """
    check_limit(limit)
    n_labels = result.labels_per_worker
    answered = np.flatnonzero(n_labels > 0 if usable is None else (n_labels > 0) & usable)
    flagged = result.workers.is_in([flag.worker for flag in flags]).to_numpy() if flags else np.zeros(len(by), bool)
    busiest = answered[np.lexsort((-n_labels[answered], ~flagged[answered]))][:limit]
    return busiest[np.lexsort((by[busiest], flagged[busiest]))], len(answered)


def draw_intervals(
    ax: Any, names: Sequence[Any], value: F8, low: F8, high: F8, margin: float = 0.8, flags: Sequence[Flag] = ()
) -> Any:
    """Draw a dot with its interval for each name, the last one on top; new Axes are `margin` inches higher.

    Flagged workers are red, with the names of their flags.
    """
    raised: dict[Any, list[str]] = {}
    for flag in flags:
        raised.setdefault(flag.worker, []).append(flag.name)
    colors = ["C3" if name in raised else "C0" for name in names]
    ax = axes(ax, (6.0, margin + 0.22 * len(names)))
    place = np.arange(len(names))
    ax.hlines(place, low, high, lw=4, alpha=0.35, colors=colors)
    ax.plot(value, place, "o", ms=5)
    is_red = np.array([name in raised for name in names], dtype=bool)
    if is_red.any():
        ax.plot(value[is_red], place[is_red], "o", ms=5, color="C3")
    shown = [name_of(name) + (f" ({', '.join(raised[name])})" if name in raised else "") for name in names]
    ax.set_yticks(place, shown, parse_math=False)
    return ax


def axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the given Axes, or new ones of this size in inches."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingDependencyError("plots need matplotlib; install it with: pip install 'crowdwise[plot]'") from None
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def name_of(value: Any, longest: int = 24) -> str:
    """Return a name shortened to `longest` characters."""
    text = str(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def html(result: Result, rows: int = 10) -> str:
    """Return a Result as a small HTML table for notebooks with its least certain labels. Everything is escaped."""
    from markupsafe import Markup

    from .notebook import table

    order = np.argsort(-result.entropy, kind="stable")[:rows]
    cells = [
        [name_of(task, 80), name_of(label, 40), f"{100 * result.confidence[t]:.1f} %", str(result.labels_per_task[t])]
        for t, task, label in zip(
            order,
            result.tasks.gather(order).to_list(),
            result.classes.gather(result.labels[order]).to_list(),
            strict=True,
        )
    ]
    head = Markup(
        "<p><b>{}</b>: {:,} tasks, {:,} workers, {:,} classes; mean confidence {}, {:,} below 90 %</p>"
    ).format(
        result.method,
        len(result.tasks),
        len(result.workers),
        len(result.classes),
        f"{100 * result.mean_confidence:.1f} %",
        int((result.confidence < 0.9).sum()),
    )
    return str(head + table(["task (least certain first)", "label", "confidence", "labels"], cells))
