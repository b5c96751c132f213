"""The report page for boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import polars as pl
from markupsafe import Markup, escape

from ...core.arrays import F8
from ...core.result import Result
from ...core.side_tables import SideTable
from ...core.votes import Votes
from ...evaluation.evaluate import evaluate
from ...report import svg
from ...report.page import fragment, truth_section
from ...report.plain_page import plain_page
from ...report.sheet import Section, Sheet
from ...report.text import shown
from ...stats.ragged import sums
from .answers import Boxes, distance
from .estimate import BoxEstimate
from .fitting import estimated_answers

# ----------------------------------------------------------------
# Images with the drawn shapes as SVG: thin lines are single workers, thick lines the result.
# Width of a drawing on the page.
CANVAS_WIDTH = 340.0


@dataclass(frozen=True, eq=False)
class DrawnShape:
    """A closed polygon points[point, x y] in image coordinates; `kind` is "drawn" or "fused"."""

    points: F8
    kind: str
    label: str = ""


@dataclass(frozen=True)
class Background:
    """The image under the shapes: its size and URL, if known."""

    width: float | None = None
    height: float | None = None
    url: str = ""


def rectangle(box: Sequence[float], kind: str, label: str = "") -> DrawnShape:
    """Return a box as a shape."""
    x1, y1, x2, y2 = box
    return DrawnShape(np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]]), kind, label)


def read_backgrounds(about: SideTable, tasks: pl.Series) -> dict[int, Background]:
    """Return the background of each task code, from the columns width, height and url of the side table."""
    if about is None or not {"width", "height", "url"} & set(about.columns):
        return {}
    table = pl.DataFrame({"task": tasks}).join(
        about.with_columns(pl.col("task").cast(tasks.dtype)), on="task", how="left", maintain_order="left"
    )
    return {i: _background(row) for i, row in enumerate(table.to_dicts())}


def _background(row: dict[str, object]) -> Background:
    sizes = []
    for name in ("width", "height"):
        try:
            value = float(str(row.get(name)))
        except ValueError:
            value = float("nan")
        sizes.append(value if 0 < value < 1e9 else None)
    url = str(row.get("url") or "")
    return Background(sizes[0], sizes[1], url if safe(url) else "")


def safe(url: str) -> bool:
    """Return whether a page may load this URL: http, https, or a data URL of an image."""
    return urlsplit(url).scheme in ("http", "https") or url.startswith("data:image/")


def origin(url: str) -> str:
    """Return scheme and host of a URL, for the content security policy of the page."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("http", "https") else ""


def canvas(shapes: Sequence[DrawnShape], background: Background, label: str) -> Markup:
    """Draw one image with its shapes."""
    x0, y0, x1, y1 = _frame(shapes, background)
    scale = CANVAS_WIDTH / (x1 - x0)
    tall = min(max((y1 - y0) * scale, 40.0), 2 * CANVAS_WIDTH)
    scale = min(scale, tall / (y1 - y0))
    body = [f'<rect x="0" y="0" width="{svg.short(CANVAS_WIDTH)}" height="{svg.short(tall)}" class="canvas-ground"/>']
    if background.url:
        wide, high = (background.width or x1) * scale, (background.height or y1) * scale
        body.append(
            str(Markup('<image href="{}" x="{}" y="{}" width="{}" height="{}" preserveAspectRatio="none"/>').format(
                background.url, svg.short(-x0 * scale), svg.short(-y0 * scale), svg.short(wide), svg.short(high)))
        )  # fmt: skip
    for shape in sorted(shapes, key=lambda shape: shape.kind == "fused"):
        points = " ".join(f"{svg.short((x - x0) * scale)},{svg.short((y - y0) * scale)}" for x, y in shape.points)
        body.append(f'<polygon points="{points}" class="canvas-{escape(shape.kind)}"/>')
        if shape.label and len(shape.points):
            x, y = (shape.points.min(axis=0) - [x0, y0]) * scale
            body.append(svg.words(float(x) + 3, float(y) + 11, shape.label, "canvas-label"))
    return svg.drawing(CANVAS_WIDTH, tall, body, "canvas", label)


def _frame(shapes: Sequence[DrawnShape], background: Background) -> tuple[float, float, float, float]:
    """Return the visible area: the whole image if its size is known, otherwise all shapes with a margin."""
    if background.width is not None and background.height is not None:
        return 0.0, 0.0, background.width, background.height
    points = np.concatenate([shape.points for shape in shapes if len(shape.points)] or [np.array([[0.0, 0], [1, 1]])])
    low, high = points.min(axis=0), points.max(axis=0)
    margin = np.maximum(0.05 * (high - low), 1e-6)
    low, high = low - margin, high + margin
    if background.url:
        low = np.minimum(low, 0.0)
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])


# Maximum number of images that are drawn.
MAX_IMAGES = 24


def box_page(votes: Votes[Boxes], result: Result, *, truth: Any = None, blind: Result | None = None) -> Sheet:
    """Return the standard sections, the most disputed images and, if the truth is given, the scores."""
    estimate = result.estimate
    assert isinstance(estimate, BoxEstimate)
    sheet = page_with_images(votes, result, _most_disputed(votes, result), partial(_drawn_boxes, votes, estimate))
    sheet = replace(sheet, tables=[*sheet.tables, ("boxes.csv", "every box", estimate.box_table(result.tasks))])
    if truth is None:
        return sheet
    scores = evaluate(blind or result, truth, resamples=1)
    return sheet.append(truth_section(scores, *scores.tables()))


def page_with_images(
    votes: Votes[Any], result: Result, tasks: npt.NDArray[np.int64], draw: Callable[[int], tuple[list[DrawnShape], str]]
) -> Sheet:
    """Return the standard sections with the images of these tasks before the last one; draw(task) returns the shapes
    on an image, and its caption.
    """
    backgrounds = read_backgrounds(votes.about_tasks, votes.tasks)
    images, origins = [], set()
    for task in tasks[:MAX_IMAGES].tolist():
        shapes, caption = draw(task)
        background = backgrounds.get(task, Background())
        origins.add(origin(background.url))
        images.append((shown(result.tasks[task]), canvas(shapes, background, caption), caption))
    hosts = tuple(sorted(origins - {""}))
    body = fragment("boxes/pictures.html.j2", rows=images, n=votes.n_tasks, by_url=bool(hosts))
    sheet = plain_page(votes, result).insert(-1, Section("pictures", "Images", "Most disputed images", body))
    return replace(sheet, images=hosts)


def _most_disputed(votes: Votes[Boxes], result: Result) -> npt.NDArray[np.int64]:
    """Return the tasks by the mean distance of the answers from the estimate, largest first."""
    answers = votes.answers.join(estimated_answers(votes, result))
    distances = distance(answers, np.arange(len(votes)), len(votes) + votes.task.astype(np.int64))
    mean = sums(distances, votes.task, votes.n_tasks) / np.maximum(votes.labels_per_task, 1)
    return np.argsort(-mean, kind="stable")


def _drawn_boxes(votes: Votes[Boxes], estimate: BoxEstimate, task: int) -> tuple[list[DrawnShape], str]:
    """Return all boxes that were drawn on an image, its estimated boxes, and a caption."""
    first, after = votes.task_offsets[task], votes.task_offsets[task + 1]
    rows = slice(votes.answers.start[first], votes.answers.start[after])
    drawn = [rectangle(corner, "drawn") for corner in votes.answers.corner[rows].tolist()]
    rows = slice(estimate.start[task], estimate.start[task + 1])
    fused = [
        rectangle(corner, "fused", str(estimate.tags[tag]))
        for corner, tag in zip(estimate.corner[rows].tolist(), estimate.tag[rows].tolist(), strict=True)
    ]
    return [*drawn, *fused], f"{int(after - first)} answers, {len(drawn)} boxes drawn, {len(fused)} kept"
