"""Plots of results whose tasks are no classes, numbers or orders, for notebooks: `result.plot.map()` of triplets,
`.clusters()` of same or different, `.tags()` of spans, `.picture(task)` of boxes and outlines, `.workers()` of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..core.errors import DataError, ParameterError
from ..core.result import Result
from . import WORKERS, axes, name_of

# Names beside points can be read up to so many.
NAMED = 60


@dataclass(frozen=True, eq=False)
class ShapePlots:
    """The plots of one result; `measure` is what its workers are shown by."""

    measure: ClassVar[str] = "skill"
    result: Result

    def workers(self, limit: int = WORKERS, ax: Any = None) -> Any:
        """The workers' measure, with its interval where there is one, the best on top; of many those with most
        answers."""
        if limit < 1:
            raise ParameterError(f"limit must be at least 1, got {limit}")
        result, picture, name = self.result, self.result.picture, self.measure
        value = np.asarray(getattr(picture, name))
        low, high = (np.asarray(getattr(picture, f"{name}_{end}", value)) for end in ("low", "high"))
        seen = np.flatnonzero((result.labels_per_worker > 0) & np.isfinite(value))
        busy = seen[np.argsort(-result.labels_per_worker[seen], kind="stable")][:limit]
        order = busy[np.argsort(value[busy], kind="stable")]
        place = np.arange(len(order))
        ax = axes(ax, (6.0, 0.8 + 0.22 * len(order)))
        ax.hlines(place, low[order], high[order], lw=4, alpha=0.35)
        ax.plot(value[order], place, "o", ms=5)
        ax.set_yticks(place, [name_of(w) for w in result.workers.gather(order).to_list()], parse_math=False)
        ax.set_xlabel(name)
        ax.set_title(f"Workers by {name} ({len(order)} of {len(seen)})")
        return ax


class TripletPlots(ShapePlots):
    """`.map()`, `.workers()`.

    >>> import crowdwise as cw
    >>> votes = cw.triplet_votes([*"abc"], [*"bca"], [*"cab"], ["left"] * 3)
    >>> cw.CrowdEmbedding().fit(votes).plot.map().get_xlabel()
    'axis 1'
    """

    measure: ClassVar[str] = "slope"

    def map(self, x: int = 1, y: int = 2, ax: Any = None) -> Any:
        """The items at their places on two of the axes, counted from 1; on a line where there is only one."""
        own: Any = self.result.estimate
        wide = own.place.shape[1]
        if not 1 <= x <= wide or (wide > 1 and not 1 <= y <= wide):
            raise ParameterError(f"there are {wide} axes, counted from 1; got {x} and {y}")
        one = own.place[:, x - 1]
        two = own.place[:, y - 1] if wide > 1 else np.zeros(len(one))
        ax = axes(ax, (6.0, 5.0))
        ax.plot(one, two, "o", ms=5)
        if len(one) <= NAMED:
            for name, at, up in zip(own.items.to_list(), one, two, strict=True):
                ax.annotate(name_of(name), (at, up), xytext=(3, 3), textcoords="offset points", parse_math=False)
        ax.set_xlabel(f"axis {x}")
        ax.set_ylabel(f"axis {y}" if wide > 1 else "")
        ax.set_title(f"{len(one):,} items: near is alike")
        return ax


class ClusterPlots(ShapePlots):
    """`.clusters()`, `.workers()`.

    >>> import crowdwise as cw
    >>> votes = cw.similarity_votes([*"aab"], [*"bcc"], [1, 0, 0])
    >>> cw.Clusters(k=2).fit(votes).plot.clusters().get_xlabel()
    'items'
    """

    def clusters(self, ax: Any = None) -> Any:
        """How many items each cluster has, and how many of them are more likely than not (dark)."""
        own: Any = self.result.estimate
        size = np.bincount(own.cluster)
        sure = np.bincount(own.cluster, weights=own.belief.max(axis=1, initial=0.0) > 0.5, minlength=len(size))
        place = np.arange(len(size))[::-1]
        ax = axes(ax, (6.0, 0.9 + 0.3 * len(size)))
        ax.barh(place, size, alpha=0.35)
        ax.barh(place, sure)
        ax.set_yticks(place, [f"cluster {i + 1}" for i in range(len(size))])
        ax.set_xlabel("items")
        ax.set_title(f"{len(own.items):,} items in {own.n_clusters} clusters")
        return ax


class SpanPlots(ShapePlots):
    """`.tags()`, `.workers()` (F1 with the others).

    >>> import crowdwise as cw
    >>> votes = cw.span_votes(["t", "t"], ["a", "b"], [[[0, 3, "PER"]], [[0, 3, "PER"]]])
    >>> cw.method("span_vote").fit(votes).plot.tags().get_xlabel()
    'spans'
    """

    measure: ClassVar[str] = "f1"

    def tags(self, ax: Any = None) -> Any:
        """How many spans of each tag were found, and how many of them are surer than one half (dark)."""
        own: Any = self.result.estimate
        names = own.tags.to_list()
        count = np.bincount(own.tag, minlength=len(names))
        sure = np.bincount(own.tag, weights=own.sure > 0.5, minlength=len(names))
        place = np.arange(len(names))[::-1]
        ax = axes(ax, (6.0, 0.9 + 0.3 * len(names)))
        ax.barh(place, count, alpha=0.35)
        ax.barh(place, sure)
        ax.set_yticks(place, [name_of(name) if name else "span" for name in names], parse_math=False)
        ax.set_xlabel("spans")
        ax.set_title(f"{len(own.start):,} spans in {len(own):,} tasks")
        return ax


class BoxPlots(ShapePlots):
    """`.picture(task)`, `.workers()` (recall).

    >>> import crowdwise as cw
    >>> votes = cw.box_votes(["t", "t"], ["a", "b"], [[[0, 0, 4, 4]], [[0, 0, 4, 5]]])
    >>> cw.method("box_clusters").fit(votes).plot.picture("t").get_xlabel()
    'x'
    """

    measure: ClassVar[str] = "recall"

    def picture(self, task: Any, image: Any = None, ax: Any = None) -> Any:
        """The fused boxes of a task, each with its class and the share of workers behind it, over `image` (an array)
        where one is given."""
        own: Any = self.result.estimate
        at = _place(self.result, task)
        first = int(own.n_boxes[:at].sum())
        ax = _canvas(ax, image)
        for i in range(first, first + int(own.n_boxes[at])):
            x1, y1, x2, y2 = own.corner[i]
            ax.plot([x1, x2, x2, x1, x1], [y1, y1, y2, y2, y1], lw=2)
            tag = own.tags.to_list()[int(own.tag[i])] if len(own.tags) else ""
            said = f"{name_of(tag)} {own.support[i]:.0%}".strip()
            ax.annotate(said, (x1, y1), xytext=(2, 2), textcoords="offset points", parse_math=False)
        ax.set_title(f"{int(own.n_boxes[at]):,} boxes")
        return ax


class OutlinePlots(ShapePlots):
    """`.picture(task)`, `.workers()` (IoU with the fused outline).

    >>> import crowdwise as cw
    >>> votes = cw.outline_votes(["t", "t"], ["a", "b"], ["[[[0, 0], [9, 0], [9, 9]]]"] * 2)
    >>> cw.method("pixel_vote").fit(votes).plot.picture("t").get_xlabel()
    'x'
    """

    measure: ClassVar[str] = "iou"

    def picture(self, task: Any, image: Any = None, ax: Any = None) -> Any:
        """The fused outlines of a task, over `image` (an array) where one is given."""
        own: Any = self.result.estimate
        at = _place(self.result, task)
        lines = np.concatenate([[0], np.cumsum(own.n_outlines)])[at : at + 2]
        points = np.concatenate([[0], np.cumsum(own.length)])
        ax = _canvas(ax, image)
        for i in range(int(lines[0]), int(lines[1])):
            ring = own.point[points[i] : points[i + 1]]
            closed = np.concatenate([ring, ring[:1]])
            ax.plot(closed[:, 0], closed[:, 1], lw=2)
        ax.set_title(f"{int(lines[1] - lines[0]):,} outlines")
        return ax


def _place(result: Result, task: Any) -> int:
    names = result.tasks.to_list()
    if task not in names:
        raise DataError(f"there is no task {task!r}; the first are {names[:3]}")
    return names.index(task)


def _canvas(ax: Any, image: Any) -> Any:
    """Axes as pictures have them: y grows downwards, both ways alike."""
    ax = axes(ax, (6.0, 5.0))
    if image is not None:
        ax.imshow(image)
    else:
        ax.invert_yaxis()
        ax.set_aspect("equal")
    ax.set_xlabel("x")
    ax.set_ylabel("y")
    return ax
