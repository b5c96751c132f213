"""The critical-difference diagram of Demsar (2006, jmlr v7/demsar06a) as a stand-alone SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape

_WIDTH, _SIDE, _AXIS, _STEP, _BAR = 640, 170, 58, 20, 9


def groups(names: Sequence[str], alike: Callable[[str, str], bool]) -> list[tuple[int, int]]:
    """Return the longest runs (first, last) of methods in rank order of which no two differ.

    >>> groups(["a", "b", "c", "d"], lambda x, y: {x, y} in ({"a", "b"}, {"b", "c"}))
    [(0, 1), (1, 2)]
    """
    runs: list[tuple[int, int]] = []
    for first in range(len(names)):
        last = first
        while last + 1 < len(names) and all(alike(name, names[last + 1]) for name in names[first : last + 1]):
            last += 1
        if last > first and not any(low <= first and last <= high for low, high in runs):
            runs.append((first, last))
    return runs


def picture(ranks: Mapping[str, float], alike: Callable[[str, str], bool], difference: float | None = None) -> str:
    """Return the diagram: methods on an axis of mean ranks, with bars that join those that do not differ.

    Args:
        ranks: Mean rank of each method, best first.
        alike: Whether two methods do not differ significantly.
        difference: Critical difference, drawn above the axis, if there is one.
    """
    names = sorted(ranks, key=lambda name: ranks[name])
    joined = groups(names, alike)
    top = _AXIS + 14 + _BAR * len(joined)
    half = (len(names) + 1) // 2
    height = top + _STEP * half + 14
    last = max(len(names), 2)

    def at(rank: float) -> float:
        return _SIDE + (rank - 1) / (last - 1) * (_WIDTH - 2 * _SIDE)

    body = [_line(at(1), _AXIS, at(last), _AXIS)]
    for tick in range(1, last + 1):
        body += [_line(at(tick), _AXIS - 6, at(tick), _AXIS), _text(at(tick), _AXIS - 10, str(tick), "middle")]
    if difference is not None:
        end = min(1 + difference, last)
        body += [_line(at(1), 16, at(end), 16, 2), _text(at(end) + 6, 20, f"CD = {difference:.2f}", "start")]
    for i, (first, final) in enumerate(joined):
        y = _AXIS + 8 + _BAR * i
        body.append(_line(at(ranks[names[first]]) - 4, y, at(ranks[names[final]]) + 4, y, 4))
    for i, name in enumerate(names):
        is_left = i < half
        y = top + _STEP * (i if is_left else len(names) - 1 - i) + 10
        x, end = at(ranks[name]), (_SIDE - 12 if is_left else _WIDTH - _SIDE + 12)
        body += [_line(x, _AXIS, x, y), _line(x, y, end, y)]
        body.append(
            _text(end + (-5 if is_left else 5), y + 4, f"{name} ({ranks[name]:.2f})", "end" if is_left else "start")
        )
    label = "Mean ranks: " + ", ".join(f"{name} {ranks[name]:.2f}" for name in names)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img" aria-label="{escape(label)}" font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(body)}</svg>\n'
    )


def _line(x1: float, y1: float, x2: float, y2: float, width: float = 1) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="black" stroke-width="{width:g}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
