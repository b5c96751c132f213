"""Drawings as SVG text, so that the page shows them without scripts.

Colours are classes of report.css (the page's style policy forbids style attributes), numbers are attributes, and every
text goes through `escape`. A drawing beside its own numbers is hidden from screen readers; others have a label.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from ..core.arrays import F8
from ..evaluation.calibration import Bin
from .text import shown

# Used if there is nothing to draw.
NOTHING = Markup("")


# Above this share a cell is dark enough for light digits.
_DARK = 0.66
# Width of a letter beside a drawing.
_LETTER = 6.6


def drawing(width: float, height: float, body: list[str], kind: str, label: str = "") -> Markup:
    """An <svg> of this size; without a label it is hidden from screen readers."""
    about = Markup(' role="img" aria-label="{}"').format(label) if label else Markup(' aria-hidden="true"')
    head = Markup('<svg class="{}" viewBox="0 0 {} {}" width="{}" height="{}"{}>').format(
        kind, short(width), short(height), short(width), short(height), about
    )
    return head + Markup("".join(body)) + Markup("</svg>")


def short(x: float) -> str:
    """Format a coordinate with as few characters as possible."""
    return f"{x:.1f}".rstrip("0").rstrip(".") if x != int(x) else str(int(x))


def words(x: float, y: float, value: str, kind: str, anchor: str = "") -> str:
    """A <text>, escaped."""
    where = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{short(x)}" y="{short(y)}" class="{kind}"{where}>{escape(value)}</text>'


def interval(
    value: float | None,
    low: float | None,
    high: float | None,
    *,
    start: float = 0.0,
    stop: float = 1.0,
    mark: float | None = None,
) -> Markup:
    """A dot with its 95 % interval on a line from `start` to `stop`; `mark` is a second, hollow dot (gold)."""
    width, height, edge = 130.0, 16.0, 5.0

    def x(v: float) -> float:
        return edge + (min(max(v, start), stop) - start) / (stop - start) * (width - 2 * edge)

    body = [f'<path class="track" d="M{short(edge)} 8H{short(width - edge)}"/>']
    if start < 0 < stop:
        body.append(f'<path class="tick" d="M{short(x(0))} 3V13"/>')
    if low is not None and high is not None and math.isfinite(low) and math.isfinite(high):
        body.append(f'<path class="span" d="M{short(x(low))} 8H{short(max(x(high), x(low) + 0.5))}"/>')
    if mark is not None and math.isfinite(mark):
        body.append(f'<circle class="mark" cx="{short(x(mark))}" cy="8" r="4"/>')
    if value is not None and math.isfinite(value):
        body.append(f'<circle class="dot" cx="{short(x(value))}" cy="8" r="4"/>')
    return drawing(width, height, body, "interval")


def bar(share: float, width: float = 90.0) -> Markup:
    """A horizontal bar, 0 to 1."""
    full = min(max(share, 0.0), 1.0) * width
    body = [
        f'<rect class="trough" width="{short(width)}" height="8" rx="2"/>',
        f'<rect class="fill" width="{short(full)}" height="8" rx="2"/>',
    ]
    return drawing(width, 8, body, "bar")


def bands(parts: Sequence[tuple[str, int]], label: str) -> Markup:
    """Draw one long bar in pieces, each as wide as its number; the classes of the pieces are band0, band1..."""
    width, total, x, body = 1000.0, max(sum(n for _, n in parts), 1), 0.0, []
    for i, (name, n) in enumerate(parts):
        w = width * n / total
        tip = f"<title>{escape(f'{name}: {n:,}')}</title>"
        body.append(f'<rect class="band{i}" x="{short(x)}" width="{short(w)}" height="26">{tip}</rect>')
        x += w
    drawn = drawing(width, 26, body, "bands", label)
    return Markup(str(drawn).replace("<svg ", '<svg preserveAspectRatio="none" ', 1))


def matrix(p: F8, names: Sequence[str], label: str, tips: Sequence[Sequence[str]] | None = None) -> Markup:
    """Draw p[true, observed] as squares, true classes from top to bottom; with digits if there is room."""
    k = len(names)
    cell = 40.0 if k <= 5 else max(150.0 / k, 4.0)
    longest = 12
    left = 8 + _LETTER * min(max((len(n) for n in names), default=1), longest) if k <= 12 else 2.0
    top = 16.0 if k <= 12 else 2.0
    body = []
    for i in range(k):
        if k <= 12:
            body.append(words(left - 4, top + (i + 0.5) * cell + 3.5, shown(names[i], longest), "axis", "end"))
            fits = max(int(cell / _LETTER), 1)
            head = shown(names[i], fits) if fits > 3 else names[i][:fits]
            body.append(words(left + (i + 0.5) * cell, top - 5, head, "axis", "middle"))
        for j in range(k):
            share = float(p[i, j]) if math.isfinite(p[i, j]) else 0.0
            kind = "right" if i == j else "wrong"
            x, y = left + j * cell, top + i * cell
            at = f'x="{short(x)}" y="{short(y)}" width="{short(cell - 1)}" height="{short(cell - 1)}"'
            tip = f"<title>{escape(tips[i][j])}</title>" if tips else ""
            body.append(f'<rect class="{kind}" {at} fill-opacity="{share:.2f}">{tip}</rect>')
            if k <= 5 and share >= 0.005:
                ink = "digit light" if share > _DARK else "digit"
                body.append(words(x + cell / 2, y + cell / 2 + 4, f"{100 * share:.0f}", ink, "middle"))
    return drawing(left + k * cell + 2, top + k * cell + 2, body, "matrix", label)


def heat(values: F8, names: Sequence[str], tips: Sequence[Sequence[str]], label: str) -> Markup:
    """Draw values[i, j] between workers below the diagonal (NaN: too few common tasks), with the names on the diagonal.

    Cells carry data-i and data-j for the click handler.
    """
    m = len(names)
    cell = max(min(640.0 / max(m, 1), 34.0), 13.0)
    longest = min(max((len(n) for n in names), default=1), 14)
    left, top = 12 + 1.2 * _LETTER * longest, 4.0
    body = []
    for i in range(m):
        y = top + i * cell
        body.append(words(left - 6, y + cell / 2 + 3.5, shown(names[i], longest), "axis", "end"))
        body.append(words(left + i * cell + 3, y + cell / 2 + 3.5, shown(names[i], longest), "axis"))
        for j in range(i):
            v = float(values[i, j])
            if math.isfinite(v):
                at = f'x="{short(left + j * cell)}" y="{short(y)}" width="{short(cell - 1)}" height="{short(cell - 1)}"'
                tip = f"<title>{escape(tips[i][j])}</title>"
                body.append(f'<rect class="heat" {at} fill-opacity="{v:.2f}" data-i="{i}" data-j="{j}">{tip}</rect>')
    return drawing(left + m * cell + 0.85 * left, top + m * cell + 2, body, "heatmap", label)


# ----------------------------------------------------------------
# Drawings with axes: reliability of the confidence, and curves over epochs, iterations or a worker's labels.

# Maximum number of points of a curve; more are thinned out evenly.
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
        """Horizontal position of a value."""
        lo, hi = self.x_range
        return self.left + (value - lo) / ((hi - lo) or 1.0) * (self.width - self.left - 10)

    def y(self, value: float) -> float:
        """Vertical position of a value."""
        lo, hi = self.y_range
        return self.top + (hi - value) / ((hi - lo) or 1.0) * (self.height - self.bottom - self.top)

    def axes(self, x_name: str, y_name: str) -> list[str]:
        """Grid lines, tick labels and names."""
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
    """Draw accuracy against confidence; the size of a dot is the number of labels, its whisker the 95 % interval."""
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
    """Draw lines (name, xs, ys) in one frame; `at` marks a position on the horizontal axis."""
    thinned = [(n, *_thin(xs, ys)) for n, xs, ys in series]
    xs = [x for _, points, _ in thinned for x in points]
    ys = [y for _, _, points in thinned for y in points]
    if not xs:
        return Markup("")
    frame = Frame((min(xs), max(xs)), y_range or room(min(ys), max(ys)), width, height)
    body = frame.axes(x_name, "")
    if at is not None:
        body.append(
            f'<path class="ideal" d="M{short(frame.x(at))} {short(frame.top)}V{short(height - frame.bottom)}"/>'
        )
    for i, (name, us, vs) in enumerate(thinned):
        points = " ".join(f"{short(frame.x(u))},{short(frame.y(v))}" for u, v in zip(us, vs, strict=True))
        body.append(f'<polyline class="line line{i % 4}" points="{points}"><title>{escape(name)}</title></polyline>')
    return drawing(width, height, body, "chart", label)


def room(low: float, high: float) -> tuple[float, float]:
    """Return the range with a margin at both ends."""
    gap = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    return low - gap, high + gap


def _thin(xs: Sequence[float], ys: Sequence[float]) -> tuple[list[float], list[float]]:
    pairs = [(float(x), float(y)) for x, y in zip(xs, ys, strict=True) if math.isfinite(x) and math.isfinite(y)]
    if len(pairs) > POINTS:
        step = (len(pairs) - 1) / (POINTS - 1)
        pairs = [pairs[round(i * step)] for i in range(POINTS)]
    return [x for x, _ in pairs], [y for _, y in pairs]
