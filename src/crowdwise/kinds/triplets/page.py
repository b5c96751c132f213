"""The report page for triplets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup

from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.scores import Table
from ...report import svg
from ...report.page import fragment, truth_section
from ...report.plain_page import plain_page
from ...report.sheet import Section, Sheet
from ...report.text import shown
from .answers import Triplets
from .estimate import TripletEstimate
from .scoring import evaluate, sentences, show

WIDE, TALL, EDGE = 720.0, 420.0, 30.0
# Maximum number of items with a name beside their point.
NAMED = 80


def triplet_page(votes: Votes[Triplets], result: Result, *, truth: Any = None, blind: Result | None = None) -> Sheet:
    """Build the report page: the common sections, the map of the items, and scores where the truth is known."""
    del blind
    plain = plain_page(votes, result)
    estimate = result.estimate
    assert isinstance(estimate, TripletEstimate)
    words = fragment("plain_words.html.j2", lines=sentences(votes, result))
    tables = [Table(t.title, t.header, [[shown(c) for c in row] for row in t.rows]) for t in show(result)[1]]
    body = words + item_map(estimate) + fragment("tables.html.j2", tables=tables)
    sheet = replace(plain, tables=[*plain.tables, ("items.csv", "every item", estimate.item_table())])
    sheet = sheet.insert(1, Section("map", "Map", "Map of the items", body))
    return sheet if truth is None else sheet.append(truth_section(evaluate(result, truth, resamples=1)))


def item_map(estimate: TripletEstimate) -> Markup:
    """Draw the items by their first two axes."""
    if not len(estimate.place):
        return svg.NOTHING
    x = estimate.place[:, 0]
    y = estimate.place[:, 1] if estimate.place.shape[1] > 1 else np.zeros(len(x))
    unit = max(float(np.ptp(x)) / (WIDE - 2 * EDGE - 60), float(np.ptp(y)) / (TALL - 2 * EDGE), 1e-12)
    left, top = EDGE + (x - x.min()) / unit, TALL / 2 - (y - (y.max() + y.min()) / 2) / unit
    body = [f'<rect x="0" y="0" width="{svg.short(WIDE)}" height="{svg.short(TALL)}" class="canvas-ground"/>']
    for i, name in enumerate(estimate.items.to_list()):
        body.append(
            f'<circle cx="{svg.short(float(left[i]))}" cy="{svg.short(float(top[i]))}" r="3" class="canvas-fused"/>'
        )
        if i < NAMED:
            body.append(svg.words(float(left[i]) + 5, float(top[i]) + 4, shown(name, 14), "canvas-label"))
    return svg.drawing(WIDE, TALL, body, "canvas", f"{len(x):,} items by their first two axes")
