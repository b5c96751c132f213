"""Drawings with axes: reliability of the confidence, and curves over epochs, iterations or a worker's labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from ..scoring.bins import Bin
from .svg import drawing, short, words

# Points of a curve at most; more are thinned out evenly.
POINTS = 120


@dataclass(frozen=True)
class Frame:
    """A box with two axes; `x` and `y` turn values into coordinates."""

    x_range: tuple[float, float]
    y_range: tuple[float, float]
    width: float = 340.0
    height: float = 220.0
    left: float = 44.0
    bottom: float = 34.0
    top: float = 8.0

    def x(self, value: float) -> float:
        """Horizontal place of a value."""
        lo, hi = self.x_range
        return self.left + (value - lo) / ((hi - lo) or 1.0) * (self.width - self.left - 10)

    def y(self, value: float) -> float:
        """Vertical place of a value."""
        lo, hi = self.y_range
        return self.top + (hi - value) / ((hi - lo) or 1.0) * (self.height - self.bottom - self.top)

    def axes(self, x_name: str, y_name: str) -> list[str]:
        """Grid lines, numbers and names."""
        body = []
        for v in _ticks(*self.y_range):
            body.append(f'<path class="grid" d="M{short(self.left)} {short(self.y(v))}H{short(self.width - 10)}"/>')
            body.append(words(self.left - 5, self.y(v) + 3.5, _tick(v, self.y_range), "axis", "end"))
        for u in _ticks(*self.x_range):
            body.append(words(self.x(u), self.height - self.bottom + 14, _tick(u, self.x_range), "axis", "middle"))
        body.append(words((self.left + self.width - 10) / 2, self.height - 4, x_name, "axis name", "middle"))
        if y_name:
            body.append(words(2, 12, y_name, "axis name"))
        return body


def _ticks(low: float, high: float, at_most: int = 6) -> list[float]:
    """Round numbers between two values."""
    width = high - low
    if not width > 0:
        return [low]
    step = 10.0 ** math.floor(math.log10(width / at_most))
    step *= next(m for m in (1, 2, 5, 10, 20) if width / (step * m) <= at_most)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _tick(value: float, between: tuple[float, float]) -> str:
    width = abs(between[1] - between[0])
    if not 0.05 <= width < 1e7:
        return f"{value:.3g}"
    if width >= 8:
        return f"{value:,.0f}"
    return f"{value:.1f}" if width >= 2 else f"{value:.2f}"


def reliability(bins: Sequence[Bin], label: str) -> Markup:
    """Accuracy against confidence; a dot's size is the number of labels, its whisker the 95 % interval."""
    start = math.floor(10 * min([b.confidence for b in bins] + [0.9])) / 10
    low = math.floor(10 * min([b.low for b in bins] + [0.9])) / 10
    frame = Frame((start, 1.0), (low, 1.0), width=420, height=300, top=22)
    body = frame.axes("confidence", "share that is right")
    lo = max(start, low)
    body.append(
        f'<path class="ideal" d="M{short(frame.x(lo))} {short(frame.y(lo))}L{short(frame.x(1))} {short(frame.y(1))}"/>'
    )
    largest = max((b.n for b in bins), default=1)
    for b in bins:
        x, r = frame.x(b.confidence), 3 + 7 * math.sqrt(b.n / largest)
        tip = escape(f"{b.n:,} labels, {b.confidence:.1%} sure on average, {b.accuracy:.1%} right")
        body.append(f'<path class="whisker" d="M{short(x)} {short(frame.y(b.low))}V{short(frame.y(b.high))}"/>')
        at = f'cx="{short(x)}" cy="{short(frame.y(b.accuracy))}" r="{short(r)}"'
        body.append(f'<circle class="dot" {at}><title>{tip}</title></circle>')
    return drawing(frame.width, frame.height, body, "chart", label)


def curves(
    series: Sequence[tuple[str, Sequence[float], Sequence[float]]],
    x_name: str,
    label: str,
    *,
    y_range: tuple[float, float] | None = None,
    at: float | None = None,
    width: float = 340.0,
    height: float = 220.0,
) -> Markup:
    """Lines (name, xs, ys) in one frame; `at` marks one place on the horizontal axis."""
    kept = [(n, *_thin(xs, ys)) for n, xs, ys in series]
    xs = [x for _, each, _ in kept for x in each]
    ys = [y for _, _, each in kept for y in each]
    if not xs:
        return Markup("")
    frame = Frame((min(xs), max(xs)), y_range or room(min(ys), max(ys)), width, height)
    body = frame.axes(x_name, "")
    if at is not None:
        body.append(
            f'<path class="ideal" d="M{short(frame.x(at))} {short(frame.top)}V{short(height - frame.bottom)}"/>'
        )
    for i, (name, us, vs) in enumerate(kept):
        points = " ".join(f"{short(frame.x(u))},{short(frame.y(v))}" for u, v in zip(us, vs, strict=True))
        body.append(f'<polyline class="line line{i % 4}" points="{points}"><title>{escape(name)}</title></polyline>')
    return drawing(width, height, body, "chart", label)


def room(low: float, high: float) -> tuple[float, float]:
    """A range with a little air at both ends."""
    gap = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    return low - gap, high + gap


def _thin(xs: Sequence[float], ys: Sequence[float]) -> tuple[list[float], list[float]]:
    pairs = [(float(x), float(y)) for x, y in zip(xs, ys, strict=True) if math.isfinite(x) and math.isfinite(y)]
    if len(pairs) > POINTS:
        step = (len(pairs) - 1) / (POINTS - 1)
        pairs = [pairs[round(i * step)] for i in range(POINTS)]
    return [x for x, _ in pairs], [y for _, y in pairs]
