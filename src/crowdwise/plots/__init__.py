"""Matplotlib plots of a Result: `result.plot.workers()`, `.confusion(worker)`, `.calibration(truth)`, `.contested()`.

Each plot draws into the given Axes, or into new ones, and returns them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..core.errors import DataError, MissingDependencyError, ParameterError
from ..core.result import Result

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

    def workers(self, limit: int = WORKERS, ax: Any = None) -> Any:
        """Plot the skill of workers with its 95 % interval.

        Args:
            limit: Number of workers; those with most labels are chosen.
            ax: Axes to draw into.

        Returns:
            The Axes.
        """
        result = self.result
        if limit < 1:
            raise ParameterError(f"limit must be 1 or more, got {limit}")
        answered = np.flatnonzero(result.labels_per_worker > 0)
        selected = answered[np.argsort(-result.labels_per_worker[answered], kind="stable")][:limit]
        order = selected[np.argsort(result.skill[selected], kind="stable")]
        ax = axes(ax, (6.0, 0.8 + 0.22 * len(order)))
        place = np.arange(len(order))
        ax.hlines(place, result.skill_low[order], result.skill_high[order], lw=4, alpha=0.35)
        ax.plot(result.skill[order], place, "o", ms=5)
        ax.set_yticks(place, [name_of(w) for w in result.workers.gather(order).to_list()], parse_math=False)
        ax.set_xlim(0, 1)
        ax.set_xlabel("skill")
        ax.set_title(f"Workers by skill, 95 % interval ({len(order)} of {len(answered)})")
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
        from ..evaluation.evaluate import ALL_GOLD

        result, table = self.result, truth_table(truth)
        at, is_known = lookup(result.tasks, table["task"])
        if not is_known.any():
            raise DataError("none of the tasks in the truth has a label here; do the task ids match?")
        if result.gold is not None:
            is_known &= ~result.gold[at]
            if not is_known.any():
                raise DataError(ALL_GOLD.format(n=len(table)))
        true, is_class = (v[is_known] for v in lookup(result.classes, spelt_like(table["label"], result.classes)))
        # A true class that is not among the classes of the result cannot be the label.
        bins_ = bins(result.confidence[at[is_known]], (result.labels[at[is_known]] == true) & is_class)
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
        if limit < 1:
            raise ParameterError(f"limit must be 1 or more, got {limit}")
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
    from markupsafe import Markup, escape

    order = np.argsort(-result.entropy, kind="stable")[:rows]
    cells = Markup("").join(
        Markup("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>").format(
            name_of(task, 80),
            name_of(label, 40),
            f"{100 * float(result.confidence[t]):.1f} %",
            int(result.labels_per_task[t]),
        )
        for t, task, label in zip(
            order,
            result.tasks.gather(order).to_list(),
            result.classes.gather(result.labels[order]).to_list(),
            strict=True,
        )
    )
    unsure = int((result.confidence < 0.9).sum())
    head = Markup(
        "<p><b>{}</b>: {:,} tasks, {:,} workers, {:,} classes; mean confidence {}, {:,} below 90 %</p>"
    ).format(
        result.method,
        len(result.tasks),
        len(result.workers),
        len(result.classes),
        escape(f"{100 * result.mean_confidence:.1f} %"),
        unsure,
    )
    names = Markup(
        "<thead><tr><th>task (least certain first)</th><th>label</th><th>confidence</th><th>labels</th></tr></thead>"
    )
    return str(head + Markup("<table>") + names + Markup("<tbody>") + cells + Markup("</tbody></table>"))
