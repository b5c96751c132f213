"""Outlines for people: what a file holds, what a fit comes to, its workers, what a saved result shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.describe import common
from ...kinds.outlines.answers import Outlines
from ...kinds.outlines.estimate import OutlineEstimate
from ..scored import Table

Row = list[str]


def describe(votes: Votes[Outlines]) -> dict[str, Any]:
    """Sizes, outlines an answer, points an outline."""
    own = votes.answers
    return {
        **common(votes),
        "outlines": len(own.length),
        "answers_without_outlines": int((own.size == 0).sum()),
        "points_per_outline": float(own.length.mean()) if len(own.length) else None,
    }


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Rows for the table of sizes, tables, and advice."""
    mean = facts["points_per_outline"]
    rows = [
        ["outlines", f"{facts['outlines']:,}"],
        ["answers without outlines", f"{facts['answers_without_outlines']:,}"],
        ["points an outline", "–" if mean is None else f"{mean:.1f}"],
        ["pictures that several looked at", f"{facts['tasks_with_several_labels']:,}"],
    ]
    return rows, [], [] if facts["outlines"] else ["nobody drew an outline: is it the right column?"]


def sentences(votes: Votes[Outlines], result: Result) -> list[str]:  # noqa: ARG001
    """How many outlines there are, and on how many pictures the workers differ much."""
    own = result.estimate
    assert isinstance(own, OutlineEstimate)
    far = int((own.agreement < 0.5).sum())
    n, empty = int(own.n_outlines.sum()), int((own.n_outlines == 0).sum())
    out = [f"{n:,} outlines on {len(own):,} pictures, {empty:,} of them without any"]
    return [*out, f"on {far:,} pictures the workers' masks overlap the result by less than half"] if far else out


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
    """The best and the worst by the overlap of their masks with the others' result."""
    table = result.worker_table().filter(result.worker_table()["iou"].is_not_null()).sort("iou", descending=True)
    some = table if len(table) <= 2 * limit else table.head(limit).vstack(table.tail(limit))
    rows = [[str(r["worker"]), f"{r['n_labels']:,}", f"{r['iou']:.3f}", f"{r['iou_low']:.3f} – {r['iou_high']:.3f}"]
            for r in some.to_dicts()]  # fmt: skip
    if len(some) < len(table):
        rows.insert(limit, ["…", "", "", ""])
    return ["worker", "pictures", "IoU with the others", "95 % interval"], rows


def show(result: Result) -> tuple[str, list[Table]]:
    """The pictures on which the workers differ most."""
    own = result.estimate
    assert isinstance(own, OutlineEstimate)
    order = np.argsort(np.nan_to_num(own.agreement, nan=2.0), kind="stable")[:5]
    rows = [
        [str(result.tasks[int(i)]), f"{own.n_outlines[i]}", f"{own.agreement[i]:.3f}", str(result.labels_per_task[i])]
        for i in order
    ]
    return own.summary(), [Table("Most disputed pictures", ["task", "outlines", "mean IoU", "answers"], rows)]
