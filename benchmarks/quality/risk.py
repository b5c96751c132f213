"""The curves of risk and coverage as a small SVG: one panel for each group of crowds, one line for each method."""

from __future__ import annotations

from .. import DOCS
from .rows import COVERAGES

IMAGE = DOCS.parent / "images" / "risk-coverage.svg"
WIDTH, HEIGHT, MARGIN = 320, 220, 44
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#666666")
Curve = tuple[str, str, list[float]]


def drawn(curves: list[Curve]) -> str:
    """The picture; `curves` are (group, method, risk at each coverage)."""
    groups = list(dict.fromkeys(group for group, _, _ in curves))
    methods = list(dict.fromkeys(method for _, method, _ in curves))
    top = 1.1 * max(max(values) for _, _, values in curves)
    width, height = MARGIN + (WIDTH + MARGIN) * len(groups), HEIGHT + 2 * MARGIN + 16 * len(methods)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11">'
    )
    out = [head, f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for place, group in enumerate(groups):
        left = MARGIN + place * (WIDTH + MARGIN)
        out += _axes(left, group, top)
        for _, method, values in (curve for curve in curves if curve[0] == group):
            points = " ".join(
                f"{left + WIDTH * c:.1f},{MARGIN + HEIGHT * (1 - value / top):.1f}"
                for c, value in zip(COVERAGES, values, strict=True)
            )
            colour = COLOURS[methods.index(method) % len(COLOURS)]
            out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    for line, method in enumerate(methods):
        y = HEIGHT + 2 * MARGIN + 16 * line
        out.append(f'<line x1="{MARGIN}" y1="{y - 4}" x2="{MARGIN + 24}" y2="{y - 4}" '
                   f'stroke="{COLOURS[line % len(COLOURS)]}" stroke-width="2"/>'
                   f'<text x="{MARGIN + 30}" y="{y}">{method}</text>')  # fmt: skip
    return "\n".join([*out, "</svg>"]) + "\n"


def _axes(left: int, title: str, top: float) -> list[str]:
    bottom = MARGIN + HEIGHT
    out = [
        f'<text x="{left}" y="{MARGIN - 14}" font-weight="bold">{title}: error among the surest labels</text>',
        f'<path d="M{left},{MARGIN} V{bottom} H{left + WIDTH}" fill="none" stroke="#000000"/>',
        f'<text x="{left + WIDTH}" y="{bottom + 30}" text-anchor="end">share of the labels</text>',
    ]
    out += [f'<text x="{left + WIDTH * c:.1f}" y="{bottom + 15}" text-anchor="middle">{c:.0%}</text>'
            for c in COVERAGES[1::2]]  # fmt: skip
    for step in range(1, 5):
        y = MARGIN + HEIGHT * (1 - step / 4)
        out.append(f'<text x="{left - 4}" y="{y + 4:.1f}" text-anchor="end">{top * step / 4:.2f}</text>')
        out.append(f'<path d="M{left},{y:.1f} H{left + WIDTH}" stroke="#dddddd"/>')
    return out
