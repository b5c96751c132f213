"""Whole fits of other methods beside crowd-kit's: glad, mace, mmsr, one_coin."""

from __future__ import annotations

import math

from . import child, peers
from .data import Size
from .plan import Plan
from .section import Section, at_least, ratio

# Ours, crowd-kit's, and labels.
PAIRS = (
    ("glad", "GLAD", 100_000),
    ("mace", "MACE", 100_000),
    ("mmsr", "MMSR", 50_000),
    ("one_coin", "OneCoinDawidSkene", 50_000),
)
# A fit of crowd-kit's is ended after this many CPU seconds: its GLAD does not end one iteration of 100 in four
# minutes and asks for more than 20 GB by then.
LIMIT = 150


def methods(plan: Plan) -> Section:
    """Section 8."""
    section = Section(
        "Other methods against crowd-kit",
        "CPU seconds of one whole fit on one thread, default parameters on both sides, after a small fit; each in its "
        f"own process, ours the best of three. A fit of crowd-kit's is ended after {LIMIT} CPU seconds; the ratio is "
        "then at least what is shown.",
        ["method", "size", "crowdwise", "crowd-kit", "crowd-kit / ours"],
    )
    python = peers.crowd_kit()
    if python is None:
        section.notes.append("crowd-kit could not be installed here")
    for ours, theirs, labels in PAIRS:
        size = Size(labels // (50 if plan.quick else 5), 5, 100 if plan.quick else 500, 5)
        warm = plan.crowd(Size(10_000, 5, 100, max(size.classes, 4)))  # large enough for the compiled kernels
        own = min(
            child.run("whole:fit", threads=1, path=plan.crowd(size), method=ours, limit=600, warm=warm)["cpu"]
            for _ in range(plan.rounds)
        )
        peer, over = (math.nan, "") if python is None else _theirs(python, plan.crowd(size), theirs)
        faster = None if math.isnan(peer) else ratio(peer, own)
        shown = "-" if faster is None else f"{over}{faster:,.0f}"
        section.rows.append([ours, str(size), f"{own:.3f}", f"{over}{peer:.1f}", shown])
        section.bars.append(at_least(f"{ours}, {labels:,} labels", 50, faster, judged=plan.judged))
    return section


def _theirs(python: str, path: str, method: str) -> tuple[float, str]:
    """CPU seconds of crowd-kit's fit, and "over " where it was ended."""
    try:
        return child.run("crowdkit:whole", python=python, threads=1, path=path, method=method, limit=LIMIT)["cpu"], ""
    except child.JobError as error:
        if str(error).endswith(("code -24", "code -9")):
            return float(LIMIT), "over "
        raise
