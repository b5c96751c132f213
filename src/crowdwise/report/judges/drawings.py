"""Drawings of judges: errors made together by family, stated confidence, price against accuracy."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import polars as pl
from markupsafe import Markup, escape

from ...judges.study import Judges
from ..charts import Frame, curves
from ..svg import NOTHING, drawing, short, words
from ..text import shown

F8 = npt.NDArray[np.float64]

MOST = 40
CURVES = 4


def correlation_map(found: Judges) -> Markup:
    """Correlations of errors, relatives side by side; nothing where none is known."""
    known = found.pairs.filter(pl.col("known"))
    if not len(known):
        return NOTHING
    order = np.lexsort((-found.table["accuracy"].fill_null(0.0).to_numpy(), found.family))[:MOST]
    names = [str(found.votes.workers[int(i)]) for i in order]
    place = {name: i for i, name in enumerate(names)}
    values = np.full((len(names), len(names)), np.nan)
    for row in known.iter_rows(named=True):
        if row["judge"] in place and row["other"] in place:
            i, j = sorted((place[row["judge"]], place[row["other"]]), reverse=True)
            values[i, j] = row["error_correlation"]
    label = f"Map of {len(names)} judges: the stronger the colour of two, the more often they err on the same tasks"
    return _map(values, names, found.family[order], label)


def _map(values: F8, names: list[str], family: npt.NDArray[np.int64], label: str) -> Markup:
    m, cell, left = len(names), max(min(640.0 / max(len(names), 1), 30.0), 13.0), 110.0
    body = []
    for i in range(m):
        y = 4 + i * cell
        body.append(words(left - 6, y + cell / 2 + 3.5, shown(names[i], 15), "axis", "end"))
        body.append(words(left + i * cell + 3, y + cell / 2 + 3.5, shown(names[i], 15), "axis"))
        if i and family[i] != family[i - 1]:
            body.append(f'<path class="tick" d="M{short(left)} {short(y)}H{short(left + i * cell)}"/>')
        for j in range(i):
            v = float(values[i, j])
            if math.isfinite(v):
                at = f'x="{short(left + j * cell)}" y="{short(y)}" width="{short(cell - 1)}" height="{short(cell - 1)}"'
                tip = f"<title>{escape(f'{names[i]} and {names[j]}: {v:.2f}')}</title>"
                body.append(f'<rect class="right" {at} fill-opacity="{min(max(v, 0.0), 1.0):.2f}">{tip}</rect>')
    return drawing(left + m * cell + left, 6 + m * cell, body, "heatmap", label)


def confidence_curves(found: Judges) -> Markup:
    """Share right against stated confidence, of the judges who state it on most gold tasks."""
    told = [(i, s) for i, s in enumerate(found.stated) if s is not None and len(s.curve) > 1]
    told = sorted(told, key=lambda each: -each[1].n)[:CURVES]
    if not told:
        return NOTHING
    series = [(str(found.votes.workers[i]), [x for x, _, _ in s.curve], [y for _, y, _ in s.curve]) for i, s in told]
    series.append(("as stated", [0.5, 1.0], [0.5, 1.0]))
    label = f"Share of right verdicts against stated confidence of {len(told)} judges"
    return curves(series, "stated confidence", label, y_range=(0.0, 1.0))


def price_chart(table: pl.DataFrame) -> Markup:
    """Accuracy on held-out gold against the price a task; the chosen offer is the hollow dot."""
    cost, right = table["cost"].to_numpy(), table["accuracy"].to_numpy()
    low, high = float(cost.min()), float(cost.max())
    frame = Frame((min(low, 0.0), high or 1.0), (max(math.floor(10 * right.min()) / 10, 0.0), 1.0), width=420, top=22)
    body = frame.axes("price a task", "share that is right")
    for row in table.iter_rows(named=True):
        x, y = frame.x(row["cost"]), frame.y(row["accuracy"])
        foot, head = frame.y(max(row["accuracy_low"], frame.y_range[0])), frame.y(row["accuracy_high"])
        body.append(f'<path class="whisker" d="M{short(x)} {short(foot)}V{short(head)}"/>')
        tip = escape(f"{shown(row['judges'], 120)}: {row['accuracy']:.1%} for {row['cost']:g}")
        kind, size = ("mark", 7) if row["chosen"] else ("dot", 4)
        body.append(f'<circle class="{kind}" cx="{short(x)}" cy="{short(y)}" r="{size}"><title>{tip}</title></circle>')
    return drawing(frame.width, frame.height, body, "chart", "Accuracy against price of sets of judges")
