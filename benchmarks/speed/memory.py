"""Peak memory of a whole fit from integer arrays, beside crowd-kit's."""

from __future__ import annotations

from . import child, peers
from .plan import Plan
from .section import Section, at_most, ratio


def memory(plan: Plan) -> Section:
    """Section 4."""
    section = Section(
        "Memory",
        f"Peak resident memory of a process that loads {plan.large} as integers, makes Annotations (crowd-kit: a "
        "pandas frame) and runs 5 iterations; interpreter and libraries included.",
        ["", "peak (MB)", "wall (s)"],
    )
    path = plan.crowd(plan.large)
    found = {"crowdwise": child.run("ours:memory", threads=1, path=path, passes=5)}
    python = peers.crowd_kit()
    if python is not None:
        found["crowd-kit"] = child.run("crowdkit:memory", python=python, threads=1, path=path, passes=5)
    else:
        section.notes.append("crowd-kit could not be installed here")
    for name, answer in found.items():
        section.rows.append([name, f"{answer['peak_mb']:,.0f}", f"{answer['wall']:.1f}"])
    share = ratio(found["crowdwise"]["peak_mb"], found.get("crowd-kit", {}).get("peak_mb"))
    section.bars.append(at_most(f"{plan.large}: share of crowd-kit's peak", 0.35, share, judged=plan.judged))
    return section
