"""CROWDLAB beside cleanlab's: 100 k labels of 500 annotators, every table that cleanlab gives."""

from __future__ import annotations

from . import child, peers
from .data import Size
from .plan import Plan
from .section import Section, at_least, ms, ratio


def crowdlab(plan: Plan) -> Section:
    """The section."""
    section = Section(
        "CROWDLAB",
        "Milliseconds of CPU on one thread of `get_label_quality_multiannotator`, from a wide matrix to all of "
        "cleanlab's tables, each in its own process, the best of the rounds.",
        ["size", "crowdwise", "cleanlab 2.9.0", "cleanlab / ours", "same consensus"],
    )
    size = Size(2_000, 5, 50, 5) if plan.quick else Size(20_000, 5, 500, 5)
    path, python = plan.crowd(size), peers.cleanlab()
    ours, theirs = [], []
    for turn in range(plan.rounds):
        job = {"threads": 1, "path": path}
        ours.append(child.run("crowdlab:quality", **job, module="crowdwise.compat.cleanlab", repeats=3))
        if python is not None and turn < 2:  # cleanlab takes long, and two rounds tell
            theirs.append(child.run("crowdlab:quality", python, **job, module="cleanlab.multiannotator", repeats=1))
    best = min(found["cpu"] for found in ours)
    peer = min((found["cpu"] for found in theirs), default=None)
    same = None
    if theirs:
        pairs = list(zip(ours[0]["consensus"], theirs[0]["consensus"], strict=True))
        same = 100 * sum(a == b for a, b in pairs) / len(pairs)
    faster = ratio(peer, best)
    shown = ["-" if v is None else f"{v:.{d}f}{unit}" for v, d, unit in ((faster, 0, ""), (same, 2, " %"))]
    section.rows.append([str(size), ms(best), ms(peer), *shown])
    section.bars.append(at_least(f"{size}: faster than cleanlab", 20, faster, judged=plan.judged))
    section.bars.append(at_least(f"{size}: same consensus", 99.5, same, unit=" %", judged=plan.judged))
    if python is None:
        section.notes.append("cleanlab could not be installed here")
    return section
