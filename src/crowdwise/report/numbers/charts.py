"""Drawings of numbers: how answers and estimates are spread, and estimates against the truth."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from markupsafe import Markup, escape

from ..charts import Frame, room
from ..svg import NOTHING, drawing, short
from ..text import shown

F8 = npt.NDArray[np.float64]

# Bars at most; a scale with no more steps than this has a bar for each.
BARS, STEPS = 30, 21
# Dots of the scatter plot at most, and at most so many with their intervals.
DOTS, WHISKERS = 600, 150
# The outermost answers of each end stand in the end bars, so that one slip does not flatten all the others.
TAIL = 0.005


def edges_of(answers: F8, estimates: F8) -> F8:
    """Edges of the bars: one for each step of a scale, else equal ones over all answers except the outermost."""
    steps = np.unique(answers)
    if 1 < len(steps) <= STEPS:
        gaps = np.diff(steps)
        step = float(gaps.min())
        whole = np.round(gaps / step)
        if np.allclose(gaps, whole * step) and whole.sum() < 2 * STEPS:
            return np.arange(steps[0] - step / 2, steps[-1] + step, step)
    low, high = np.quantile(np.concatenate([answers, estimates]), [TAIL, 1 - TAIL])
    if not high > low:
        low, high = room(float(low), float(high))
    return np.linspace(low, high, BARS + 1)


def histogram(answers: F8, estimates: F8, label: str) -> Markup:
    """Shares of the answers as bars, of the estimates as a line of steps."""
    answers, estimates = answers[np.isfinite(answers)], estimates[np.isfinite(estimates)]
    if not len(answers):
        return NOTHING
    edges = edges_of(answers, estimates)
    said, found = (_shares(values, edges) for values in (answers, estimates))
    top = max(float(said.max()), float(found.max(initial=0.0)))
    frame = Frame((float(edges[0]), float(edges[-1])), (0.0, 1.05 * top), width=640, height=240, top=22)
    body = frame.axes("value", "share")
    floor = frame.y(0.0)
    for low, high, share in zip(edges[:-1], edges[1:], said, strict=True):
        x, y = frame.x(float(low)), frame.y(float(share))
        tip = escape(f"{low:.4g} to {high:.4g}: {share:.1%} of the answers")
        at = f'x="{short(x + 0.5)}" y="{short(y)}" width="{short(max(frame.x(float(high)) - x - 1, 0.5))}"'
        body.append(f'<rect class="said" {at} height="{short(floor - y)}"><title>{tip}</title></rect>')
    body.append(_steps(frame, edges, found))
    return drawing(frame.width, frame.height, body, "chart", label)


def _shares(values: F8, edges: F8) -> F8:
    count = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
    return np.asarray(count / max(len(values), 1), dtype=np.float64)


def _steps(frame: Frame, edges: F8, shares: F8) -> str:
    points = [f"{short(frame.x(float(edges[0])))},{short(frame.y(0.0))}"]
    for low, high, share in zip(edges[:-1], edges[1:], shares, strict=True):
        points += [f"{short(frame.x(float(u)))},{short(frame.y(float(share)))}" for u in (low, high)]
    points.append(f"{short(frame.x(float(edges[-1])))},{short(frame.y(0.0))}")
    return f'<polyline class="line" points="{" ".join(points)}"><title>estimates</title></polyline>'


def scatter(truth: F8, value: F8, low: F8, high: F8, names: list[str], label: str) -> Markup:
    """Estimates against the truth, with their intervals where there are few; on the dashed line they are equal."""
    use = np.flatnonzero(np.isfinite(truth) & np.isfinite(value))
    if not len(use):
        return NOTHING
    if len(use) > DOTS:
        use = use[np.linspace(0, len(use) - 1, DOTS).round().astype(np.int64)]
    ends = [truth[use], value[use]]
    span = room(float(min(e.min() for e in ends)), float(max(e.max() for e in ends)))
    frame = Frame(span, span, width=420, height=380, left=56, top=22)
    body = frame.axes("truth", "estimate")
    corners = [f"{short(frame.x(v))} {short(frame.y(v))}" for v in span]
    body.append(f'<path class="ideal" d="M{corners[0]}L{corners[1]}"/>')
    for i in use.tolist():
        x = short(frame.x(float(truth[i])))
        if len(use) <= WHISKERS and all(map(math.isfinite, (low[i], high[i]))):
            below, above = (short(frame.y(min(max(float(v), span[0]), span[1]))) for v in (low[i], high[i]))
            body.append(f'<path class="whisker thin" d="M{x} {below}V{above}"/>')
        tip = escape(f"{shown(names[i], 40)}: {value[i]:.4g}, in truth {truth[i]:.4g}")
        at = f'cx="{x}" cy="{short(frame.y(float(value[i])))}" r="{3.5 if len(use) <= WHISKERS else 2.5}"'
        body.append(f'<circle class="dot" {at}><title>{tip}</title></circle>')
    return drawing(frame.width, frame.height, body, "chart", label)
