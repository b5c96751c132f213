"""What a section of the benchmark reports: a table, its bars, and remarks; as text for a terminal and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..markdown import figures, table


@dataclass(frozen=True)
class Bar:
    """A promise and what was measured. `met` is None where nothing can be said (peer missing, --quick)."""

    what: str
    bar: str
    measured: str
    met: bool | None

    @property
    def verdict(self) -> str:
        return {True: "PASS", False: "MISS", None: "not judged"}[self.met]

    def cells(self) -> list[str]:
        return [self.what, self.bar, self.measured, self.verdict]


@dataclass
class Section:
    """One table of figures."""

    title: str
    about: str
    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        parts = [f"\n## {self.title}", self.about, "", aligned([self.header, *self.rows])]
        if self.bars:
            parts += ["", aligned([BAR_HEADER, *(bar.cells() for bar in self.bars)])]
        return "\n".join([*parts, *(f"  note: {note}" for note in self.notes)])

    def markdown(self) -> str:
        parts = [f"## {self.title}", "", self.about, "", figures(self.header, self.rows)]
        if self.bars:
            parts += ["", table(BAR_HEADER, [bar.cells() for bar in self.bars])]
        if self.notes:
            parts += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(parts)


BAR_HEADER = ["what", "bar", "measured", "verdict"]


def aligned(rows: list[list[str]]) -> str:
    """Columns padded to their widest cell."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join("  " + line for line in lines)


def at_least(what: str, bar: float, measured: float | None, unit: str = "x", judged: bool = True) -> Bar:
    """Passes from `bar` up."""
    return _bar(what, f"at least {bar:g}{unit}", measured, unit, judged, lambda value: value >= bar)


def at_most(what: str, bar: float, measured: float | None, unit: str = "x", judged: bool = True) -> Bar:
    """Passes up to `bar`."""
    return _bar(what, f"at most {bar:g}{unit}", measured, unit, judged, lambda value: value <= bar)


def _bar(what: str, bar: str, measured: float | None, unit: str, judged: bool, test) -> Bar:
    if measured is None:
        return Bar(what, bar, "-", None)
    return Bar(what, bar, f"{measured:.3g}{unit}", test(measured) if judged else None)


def ms(seconds: float | None) -> str:
    """Milliseconds, or a dash."""
    if seconds is None:
        return "-"
    return f"{seconds * 1e3:,.1f}" if seconds < 1 else f"{seconds * 1e3:,.0f}"


def ratio(above: float | None, below: float | None) -> float | None:
    """above / below where both were measured."""
    return None if above is None or below is None else above / below
