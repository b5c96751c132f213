"""The page of a crowd that drew boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import polars as pl
from markupsafe import Markup, escape

from ...core.result import Result
from ...core.side_tables import SideTable
from ...core.votes import Votes
from ...evaluation.evaluate import gold_tasks
from ...evaluation.scores import Table
from ...report import svg
from ...report.page import fragment
from ...report.plain_page import plain_page
from ...report.sheet import Section, Sheet
from ...report.text import shown
from .answers import Boxes, distance
from .estimate import BoxEstimate
from .fitting import said
from .scoring import evaluate

# ----------------------------------------------------------------
# Pictures with what was drawn on them, as SVG: thin lines are single workers', thick ones the result.

F8 = npt.NDArray[np.float64]
# Width of a drawing on the page.
WIDE = 340.0


@dataclass(frozen=True, eq=False)
class Shape:
    """An outline in the picture's own coordinates: points[point, x y], closed; `kind` is "drawn" or "fused"."""

    points: F8
    kind: str
    label: str = ""


@dataclass(frozen=True)
class Ground:
    """What lies under the shapes: the picture's size and its address, where they are known."""

    width: float | None = None
    height: float | None = None
    url: str = ""


def rectangle(box: Sequence[float], kind: str, label: str = "") -> Shape:
    """A box as a shape."""
    x1, y1, x2, y2 = box
    return Shape(np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]]), kind, label)


def grounds(about: SideTable, tasks: pl.Series) -> dict[int, Ground]:
    """width, height and url of each task, by its code, where the side table has them."""
    if about is None or not {"width", "height", "url"} & set(about.columns):
        return {}
    table = pl.DataFrame({"task": tasks}).join(
        about.with_columns(pl.col("task").cast(tasks.dtype)), on="task", how="left", maintain_order="left"
    )
    return {i: _ground(row) for i, row in enumerate(table.to_dicts())}


def _ground(row: dict[str, object]) -> Ground:
    sizes = []
    for name in ("width", "height"):
        try:
            value = float(str(row.get(name)))
        except ValueError:
            value = float("nan")
        sizes.append(value if 0 < value < 1e9 else None)
    url = str(row.get("url") or "")
    return Ground(sizes[0], sizes[1], url if safe(url) else "")


def safe(url: str) -> bool:
    """Whether a page may load this address: http, https, or a picture that stands in the address itself."""
    return urlsplit(url).scheme in ("http", "https") or url.startswith("data:image/")


def origin(url: str) -> str:
    """Scheme and host of an address, for the page's policy."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("http", "https") else ""


def canvas(shapes: Sequence[Shape], ground: Ground, label: str) -> Markup:
    """One picture."""
    x0, y0, x1, y1 = _frame(shapes, ground)
    scale = WIDE / (x1 - x0)
    tall = min(max((y1 - y0) * scale, 40.0), 2 * WIDE)
    scale = min(scale, tall / (y1 - y0))
    body = [f'<rect x="0" y="0" width="{svg.short(WIDE)}" height="{svg.short(tall)}" class="canvas-ground"/>']
    if ground.url:
        wide, high = (ground.width or x1) * scale, (ground.height or y1) * scale
        body.append(
            str(Markup('<image href="{}" x="{}" y="{}" width="{}" height="{}" preserveAspectRatio="none"/>').format(
                ground.url, svg.short(-x0 * scale), svg.short(-y0 * scale), svg.short(wide), svg.short(high)))
        )  # fmt: skip
    for shape in sorted(shapes, key=lambda each: each.kind == "fused"):
        points = " ".join(f"{svg.short((x - x0) * scale)},{svg.short((y - y0) * scale)}" for x, y in shape.points)
        body.append(f'<polygon points="{points}" class="canvas-{escape(shape.kind)}"/>')
        if shape.label and len(shape.points):
            x, y = (shape.points.min(axis=0) - [x0, y0]) * scale
            body.append(svg.words(float(x) + 3, float(y) + 11, shape.label, "canvas-label"))
    return svg.drawing(WIDE, tall, body, "canvas", label)


def _frame(shapes: Sequence[Shape], ground: Ground) -> tuple[float, float, float, float]:
    """What is shown: the whole picture where its size is known, else all that was drawn and a margin."""
    if ground.width is not None and ground.height is not None:
        return 0.0, 0.0, ground.width, ground.height
    points = np.concatenate([shape.points for shape in shapes if len(shape.points)] or [np.array([[0.0, 0], [1, 1]])])
    low, high = points.min(axis=0), points.max(axis=0)
    margin = np.maximum(0.05 * (high - low), 1e-6)
    low, high = low - margin, high + margin
    if ground.url:
        low = np.minimum(low, 0.0)
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])


# Pictures that are drawn.
PICTURES = 24


def box_page(votes: Votes[Boxes], result: Result, *, truth: Any = None, blind: Result | None = None) -> Sheet:
    """What every kind has, the most disputed pictures, and the scores where the truth is known."""
    plain = plain_page(votes, result)
    pictures, origins = _pictures(votes, result)
    sections = [*plain.sections[:-1], pictures, plain.sections[-1]]
    if truth is not None:
        sections.append(_truth(blind or result, truth))
    own = result.estimate
    assert isinstance(own, BoxEstimate)
    tables = [*plain.tables, ("boxes.csv", "every box", own.box_table(result.tasks))]
    return replace(plain, sections=sections, tables=tables, images=origins)


def _pictures(votes: Votes[Boxes], result: Result) -> tuple[Section, tuple[str, ...]]:
    own = result.estimate
    assert isinstance(own, BoxEstimate)
    both = votes.answers.join(said(votes, result))
    off = distance(both, np.arange(len(votes)), len(votes) + votes.task.astype(np.int64))
    n = np.maximum(votes.labels_per_task, 1)
    mean = np.bincount(votes.task, weights=off, minlength=votes.n_tasks) / n
    order = np.argsort(-mean, kind="stable")[:PICTURES]
    under, names = grounds(votes.about_tasks, votes.tasks), own.tags.to_list()
    rows, origins = [], set()
    for task in order.tolist():
        a, b = votes.task_offsets[task], votes.task_offsets[task + 1]
        box = slice(votes.answers.start[a], votes.answers.start[b])
        shapes = [rectangle(corner, "drawn") for corner in votes.answers.corner[box].tolist()]
        mine = slice(own.start[task], own.start[task + 1])
        shapes += [
            rectangle(corner, "fused", names[tag])
            for corner, tag in zip(own.corner[mine].tolist(), own.tag[mine].tolist(), strict=True)
        ]
        ground = under.get(task, Ground())
        if ground.url:
            origins.add(origin(ground.url))
        drawn = f"{int(b - a)} looked, {len(shapes) - int(own.n_boxes[task])} boxes drawn, {own.n_boxes[task]} kept"
        rows.append((shown(result.tasks[task]), canvas(shapes, ground, drawn), drawn))
    body = fragment("boxes/pictures.html.j2", rows=rows, n=votes.n_tasks, by_url=bool(origins - {""}))
    return Section("pictures", "Pictures", "Most disputed pictures", body), tuple(sorted(origins - {""}))


def _truth(result: Result, truth: Any) -> Section:
    scores = evaluate(result, truth, told=gold_tasks(result), resamples=1)
    tables = [Table(f"{scores.n:,} pictures", ["score", "value", "95 % interval"], scores.rows()), *scores.tables()]
    return Section("truth", "Truth", "Against the truth", Markup(fragment("tables.html.j2", tables=tables)))
