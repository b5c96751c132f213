"""Boxes for people: what a file holds, what a fit comes to, what a saved result shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.boxes.answers import Boxes
from ...kinds.boxes.estimate import BoxEstimate
from ...kinds.describe import common
from ..scored import Table

Row = list[str]
# A box that no more than this share of the lookers drew is worth another look.
CLOSE = 2 / 3


def describe(votes: Votes[Boxes]) -> dict[str, Any]:
    """Sizes, boxes an answer, classes, and how large boxes are."""
    own = votes.answers
    wide = own.corner[:, 2:] - own.corner[:, :2]
    count = np.bincount(own.tag, minlength=len(own.tags)).tolist()
    return {
        **common(votes),
        "boxes": len(own.corner),
        "boxes_per_answer": float(own.size.mean()) if len(own) else None,
        "answers_without_boxes": int((own.size == 0).sum()),
        "class_counts": dict(zip(own.tags.to_list(), count, strict=True)),
        "median_width": float(np.median(wide[:, 0])) if len(wide) else None,
        "median_height": float(np.median(wide[:, 1])) if len(wide) else None,
    }


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:
    """Rows for the table of sizes, tables, and advice."""
    mean = facts["boxes_per_answer"]
    rows = [
        ["boxes", f"{facts['boxes']:,}"],
        ["boxes an answer", "–" if mean is None else f"{mean:.2f}"],
        ["answers without boxes", f"{facts['answers_without_boxes']:,}"],
        ["pictures that several looked at", f"{facts['tasks_with_several_labels']:,}"],
    ]
    if facts["median_width"] is not None:
        rows.append(["usual box", f"{facts['median_width']:.4g} × {facts['median_height']:.4g}"])
    tables = []
    if list(facts["class_counts"]) != [""]:
        counts = sorted(facts["class_counts"].items(), key=lambda item: -item[1])
        said = [[str(name) or "(no class)", f"{n:,}"] for name, n in counts[:limit]]
        tables.append(Table("Classes", ["class", "boxes"], said))
    advice = []
    if not facts["boxes"]:
        advice.append("nobody drew a box: is it the right column?")
    width = facts["median_width"]
    if width is not None and width <= 1.5 and facts["boxes"]:
        advice.append("boxes are as small as shares of the picture; that is fine as long as all of them are")
    return rows, tables, advice


def sentences(votes: Votes[Boxes], result: Result) -> list[str]:
    """How many boxes there are, how sure they are, and how many that were drawn are left out."""
    own = result.estimate
    assert isinstance(own, BoxEstimate)
    n = int(own.n_boxes.sum())
    empty = int((own.n_boxes == 0).sum())
    line = f"{n:,} boxes on {len(own):,} pictures, {empty:,} of them without any"
    if n:
        close = int((own.support <= CLOSE).sum())
        line += f"; {close:,} boxes were drawn by no more than two in three of those who looked" if close else ""
    out = [line]
    if not (votes.labels_per_task > 1).any():
        out.append("no picture was looked at twice, so every box that was drawn stays")
    return out


def show(result: Result) -> tuple[str, list[Table]]:
    """The boxes in all; the least certain ones."""
    own = result.estimate
    assert isinstance(own, BoxEstimate)
    table = own.box_table(result.tasks).sort("support", maintain_order=True).head(5)
    header = ["task", "x1", "y1", "x2", "y2", "class", "drawn by"]
    rows = [[f"{c:.4g}" if isinstance(c, float) else str(c) for c in row[:-1]] + [f"{row[-1]:.0%}"]
            for row in table.iter_rows()]  # fmt: skip
    return own.summary(), [Table("Least certain boxes", header, rows)]
