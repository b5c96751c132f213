"""python -m benchmarks.kinds: every open set of the other kinds, beside the best figure on the set's own page.

Writes docs/benchmarks/kinds.md.
"""

from __future__ import annotations

import argparse

import numpy as np

from .. import DOCS
from ..markdown import table, write_section
from .sets import ROWS, Row, quietly

PAGE = DOCS / "kinds.md"
HEAD = "# Every kind of answer: our defaults beside the figures that came with the sets\n"


def verdict(row: Row, ours: float, half: float) -> str:
    """Ahead, level (within half the 95 % interval) or behind."""
    gap = (row.best - ours) if row.lower else (ours - row.best)
    if gap >= -0.5 * 10.0 ** -digits(row.best):  # as written, ours is no worse
        return "at least as good"
    word = "within noise" if np.isfinite(half) and -gap <= half else "below"
    return f"{word}: {row.why}" if row.why else word


def digits(value: float) -> int:
    """Digits behind the point of the figure that came with a set."""
    return len(repr(value).partition(".")[2])


def main() -> None:
    """All sets."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    lines = []
    for row in ROWS:
        ours, half = quietly(row)
        shown = f"{ours:.4g}" + (f" ± {half:.2g}" if np.isfinite(half) else "")
        way = f"{row.measure}{' (lower is better)' if row.lower else ''}"
        lines.append([row.name, way, f"{row.best:g} ({row.by})", shown, verdict(row, ours, half)])
        print(*lines[-1], sep=" | ", flush=True)
    PAGE.write_text(HEAD, encoding="utf-8")
    about = (
        "Ours is the default of the kind unless a method is named, with nothing set by hand; ±: half the 95 % interval "
        "over tasks. Methods by sets stand on the page of each kind. popquorn_offensive and rank_sushi have no truth "
        "and no figure; polygons_cats has no truth.\n\n"
    )
    header = ["set", "measure", "best figure that came with it", "ours", ""]
    write_section(PAGE, "sets", "Set by set", "python -m benchmarks.kinds", about + table(header, lines))


if __name__ == "__main__":
    main()
