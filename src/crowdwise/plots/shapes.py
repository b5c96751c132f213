"""Plots of the other kinds of results, for notebooks.

`result.plot.map()` for triplets, `.clusters()` for similarities, `.tags()` for spans, `.picture(task)` for boxes and
outlines, `.workers()` for all.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..core.errors import DataError, ParameterError
from ..core.result import Result
from ..stats.ragged import starts
from . import WORKERS, WorkerPlots, axes, name_of

# Maximum number of points with names.
NAMED = 60


class TripletPlots(WorkerPlots):
    """`.map()`, `.workers()`.

    >>> import crowdwise as cw
    >>> votes = cw.triplets.triplet_votes([*"abc"], [*"bca"], [*"cab"], ["left"] * 3)
    >>> cw.triplets.CrowdEmbedding().fit(votes).plot.map().get_xlabel()
    'axis 1'
    """

    measure: ClassVar[str] = "slope"

    def map(self, x: int = 1, y: int = 2, ax: Any = None) -> Any:
        """Plot the positions of the items on two of the axes, counted from 1; on a line if there is only one axis."""
        estimate: Any = self.result.estimate
        wide = estimate.place.shape[1]
        if not 1 <= x <= wide or (wide > 1 and not 1 <= y <= wide):
            raise ParameterError(f"there are {wide} axes, counted from 1; got {x} and {y}")
        first = estimate.place[:, x - 1]
        second = estimate.place[:, y - 1] if wide > 1 else np.zeros(len(first))
        ax = axes(ax, (6.0, 5.0))
        ax.plot(first, second, "o", ms=5)
        if len(first) <= NAMED:
            for name, at, up in zip(estimate.items.to_list(), first, second, strict=True):
                ax.annotate(name_of(name), (at, up), xytext=(3, 3), textcoords="offset points", parse_math=False)
        ax.set_xlabel(f"axis {x}")
        ax.set_ylabel(f"axis {y}" if wide > 1 else "")
        ax.set_title(f"{len(first):,} items: close means similar")
        return ax


class ClusterPlots(WorkerPlots):
    """`.clusters()`, `.workers()`.

    >>> import crowdwise as cw
    >>> votes = cw.similarities.similarity_votes([*"aab"], [*"bcc"], [1, 0, 0])
    >>> cw.similarities.Clusters(k=2).fit(votes).plot.clusters().get_xlabel()
    'items'
    """

    def clusters(self, ax: Any = None) -> Any:
        """Plot the size of each cluster, and how many items have a probability above one half (dark)."""
        estimate: Any = self.result.estimate
        size = np.bincount(estimate.cluster)
        sure = np.bincount(
            estimate.cluster, weights=estimate.belief.max(axis=1, initial=0.0) > 0.5, minlength=len(size)
        )
        ax = _bars(ax, [f"cluster {i + 1}" for i in range(len(size))], size, sure)
        ax.set_xlabel("items")
        ax.set_title(f"{len(estimate.items):,} items in {estimate.n_clusters} clusters")
        return ax


class SpanPlots(WorkerPlots):
    """`.tags()`, `.workers()` (F1 with the others).

    >>> import crowdwise as cw
    >>> votes = cw.spans.span_votes(["t", "t"], ["a", "b"], [[[0, 3, "PER"]], [[0, 3, "PER"]]])
    >>> cw.method("span_vote").fit(votes).plot.tags().get_xlabel()
    'spans'
    """

    measure: ClassVar[str] = "f1"

    def tags(self, ax: Any = None) -> Any:
        """Plot the number of spans of each tag, and how many have a confidence above one half (dark)."""
        estimate: Any = self.result.estimate
        names = estimate.tags.to_list()
        count = np.bincount(estimate.tag, minlength=len(names))
        sure = np.bincount(estimate.tag, weights=estimate.sure > 0.5, minlength=len(names))
        ax = _bars(ax, [name_of(name) if name else "span" for name in names], count, sure)
        ax.set_xlabel("spans")
        ax.set_title(f"{len(estimate.start):,} spans in {len(estimate):,} tasks")
        return ax


class BoxPlots(WorkerPlots):
    """`.picture(task)`, `.workers()` (recall against gold, else against the majority).

    >>> import crowdwise as cw
    >>> votes = cw.boxes.box_votes(["t", "t"], ["a", "b"], [[[0, 0, 4, 4]], [[0, 0, 4, 5]]])
    >>> cw.method("box_clusters").fit(votes).plot.picture("t").get_xlabel()
    'x'
    """

    measure: ClassVar[str] = "majority_recall"

    def workers(self, limit: int = WORKERS, ax: Any = None) -> Any:
        """Plot the recall of workers against gold if the fit was given gold, else that against the majority."""
        has_gold = getattr(self.result.worker_summary, "recall", None) is not None
        return _BoxGoldPlots(self.result).workers(limit, ax) if has_gold else super().workers(limit, ax)

    def picture(self, task: Any, image: Any = None, ax: Any = None) -> Any:
        """Plot the fused boxes of a task with class and share of workers behind them, over `image` (an array)
        if given.
        """
        estimate: Any = self.result.estimate
        at = _place(self.result, task)
        first = int(estimate.n_boxes[:at].sum())
        ax = _canvas(ax, image)
        for i in range(first, first + int(estimate.n_boxes[at])):
            x1, y1, x2, y2 = estimate.corner[i]
            ax.plot([x1, x2, x2, x1, x1], [y1, y1, y2, y2, y1], lw=2)
            tag = estimate.tags.to_list()[int(estimate.tag[i])] if len(estimate.tags) else ""
            text = f"{name_of(tag)} {estimate.support[i]:.0%}".strip()
            ax.annotate(text, (x1, y1), xytext=(2, 2), textcoords="offset points", parse_math=False)
        ax.set_title(f"{int(estimate.n_boxes[at]):,} boxes")
        return ax


class _BoxGoldPlots(WorkerPlots):
    measure: ClassVar[str] = "recall"


class OutlinePlots(WorkerPlots):
    """`.picture(task)`, `.workers()` (IoU with the fused outline).

    >>> import crowdwise as cw
    >>> votes = cw.outlines.outline_votes(["t", "t"], ["a", "b"], ["[[[0, 0], [9, 0], [9, 9]]]"] * 2)
    >>> cw.method("pixel_vote").fit(votes).plot.picture("t").get_xlabel()
    'x'
    """

    measure: ClassVar[str] = "iou"

    def picture(self, task: Any, image: Any = None, ax: Any = None) -> Any:
        """Plot the fused outlines of a task, over `image` (an array) if given."""
        estimate: Any = self.result.estimate
        at = _place(self.result, task)
        lines = starts(estimate.n_outlines)[at : at + 2]
        points = starts(estimate.length)
        ax = _canvas(ax, image)
        for i in range(int(lines[0]), int(lines[1])):
            ring = estimate.point[points[i] : points[i + 1]]
            closed = np.concatenate([ring, ring[:1]])
            ax.plot(closed[:, 0], closed[:, 1], lw=2)
        ax.set_title(f"{int(lines[1] - lines[0]):,} outlines")
        return ax


def _bars(ax: Any, names: list[str], count: Any, sure: Any) -> Any:
    """Draw a bar for each name, the first on top, with the part of the sure ones darker."""
    place = np.arange(len(names))[::-1]
    ax = axes(ax, (6.0, 0.9 + 0.3 * len(names)))
    ax.barh(place, count, alpha=0.35)
    ax.barh(place, sure)
    ax.set_yticks(place, names, parse_math=False)
    return ax


def _place(result: Result, task: Any) -> int:
    names = result.tasks.to_list()
    if task not in names:
        raise DataError(f"there is no task {task!r}; the first are {names[:3]}")
    return names.index(task)


def _canvas(ax: Any, image: Any) -> Any:
    """Return Axes for pictures: y grows downwards, with equal aspect."""
    ax = axes(ax, (6.0, 5.0))
    if image is not None:
        ax.imshow(image)
    else:
        ax.invert_yaxis()
        ax.set_aspect("equal")
    ax.set_xlabel("x")
    ax.set_ylabel("y")
    return ax
