"""Triplets for people: what a file holds, what a fit comes to, what a saved result shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.describe import common
from ...kinds.triplets.answers import Triplets
from ...kinds.triplets.estimate import TripletEstimate
from ..scored import Table

Row = list[str]


def describe(votes: Votes[Triplets]) -> dict[str, Any]:
    """Sizes, items, answers about an item, and how often the left side was said."""
    own = votes.answers
    three = np.bincount(np.concatenate([own.head, own.left, own.right]), minlength=len(own.items))
    return {
        **common(votes),
        "items": len(own.items),
        "answers_per_item": float(three.mean()) if len(three) else None,
        "said_left": float((own.side == 0).mean()) if len(own) else None,
    }


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Rows for the table of sizes, tables, and advice."""
    mean, left = facts["answers_per_item"], facts["said_left"]
    rows = [
        ["items", f"{facts['items']:,}"],
        ["answers about an item", "–" if mean is None else f"{mean:.1f}"],
        ["left side said", "–" if left is None else f"{left:.1%}"],
        ["triplets with several answers", f"{facts['tasks_with_several_labels']:,}"],
    ]
    few = mean is not None and mean < 10
    return rows, [], ["fewer than ten answers about an item: places will be rough"] if few else []


def sentences(votes: Votes[Triplets], result: Result) -> list[str]:  # noqa: ARG001
    """How the places are spread, and how many answers go with them."""
    own = result.estimate
    assert isinstance(own, TripletEstimate)
    picture: Any = result.picture
    n = result.labels_per_worker
    heard = np.isfinite(picture.skill) & (n > 0)
    out = [own.summary()]
    if heard.any():
        out.append(f"{np.average(picture.skill[heard], weights=n[heard]):.1%} of the answers go with the places")
    return out


def show(result: Result) -> tuple[str, list[Table]]:
    """The items at both ends of the first axis."""
    own = result.estimate
    assert isinstance(own, TripletEstimate)
    items = own.item_table().sort("axis_1")
    ends = items if len(items) <= 12 else items.head(6).vstack(items.tail(6))
    rows = [[f"{c:.3g}" if isinstance(c, float) else str(c) for c in row] for row in ends.iter_rows()]
    return own.summary(), [Table("Items at the ends of the first axis", items.columns, rows)]
