"""Whole fits of other methods beside crowd-kit's: glad, mace, mmsr, one_coin."""

from __future__ import annotations

import math
from typing import Any

from . import child, peers
from .data import Size
from .plan import Plan
from .section import Section, at_least, ratio

# Ours, crowd-kit's name and settings, what to say of it, and labels.
PAIRS: tuple[tuple[str, str, dict[str, Any], str, int], ...] = (
    ("glad", "GLAD", {"n_iter": 1}, "one of its up to 100 iterations", 100_000),
    ("mace", "MACE", {}, "defaults: 10 restarts × 50 iterations", 100_000),
    ("mmsr", "MMSR", {}, "defaults", 50_000),
    ("one_coin", "OneCoinDawidSkene", {}, "defaults", 50_000),
)


def methods(plan: Plan) -> Section:
    """Section 8."""
    section = Section(
        "Other methods against crowd-kit",
        "CPU seconds of one whole fit on one thread, default parameters on both sides, after a small fit; each in its "
        "own process, ours the best of three. crowd-kit's GLAD takes long at this size, so only ONE of its "
        "iterations is run and set against our whole fit: the true ratio is larger.",
        ["method", "size", "crowdwise", "crowd-kit", "crowd-kit's run", "crowd-kit / ours"],
    )
    python = peers.crowd_kit()
    if python is None:
        section.notes.append("crowd-kit could not be installed here")
    for ours, theirs, settings, remark, labels in PAIRS:
        size = Size(labels // (50 if plan.quick else 5), 5, 100 if plan.quick else 500, 5)
        warm = plan.crowd(Size(10_000, 5, 100, max(size.classes, 4)))  # large enough for the compiled kernels
        own = min(
            child.run("whole:fit", threads=1, path=plan.crowd(size), method=ours, limit=600, warm=warm)["cpu"]
            for _ in range(plan.rounds)
        )
        peer = math.nan
        if python is not None:
            found = child.run(
                "crowdkit:whole", python=python, threads=1, path=plan.crowd(size), method=theirs, settings=settings
            )
            peer = found["cpu"]
        faster = None if math.isnan(peer) else ratio(peer, own)
        section.rows.append(
            [ours, str(size), f"{own:.3f}", f"{peer:.1f}", remark, "-" if faster is None else f"{faster:,.0f}"]
        )
        section.bars.append(at_least(f"{ours}, {labels:,} labels", 50, faster, judged=plan.judged))
    return section
