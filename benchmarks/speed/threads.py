"""One thread, two threads, and the same bits from any number of them; then the cost from 1 M to 20 M labels."""

from __future__ import annotations

import math
from pathlib import Path

from . import child
from .em import WINDOW
from .plan import Plan
from .section import Bar, Section, at_least, at_most, ms

PASSES = 10


def threads(plan: Plan) -> Section:
    """Section 2."""
    section = Section(
        "Threads",
        "Milliseconds of wall time per iteration with CROWDWISE_THREADS=1 and 2, each in its own process, in turns, "
        "best of several.",
        ["size", "1 thread", "2 threads", "speed-up"],
    )
    first, last = WINDOW
    for size, bar in ((plan.large, 1.3), (plan.wide, 1.6)):
        best = {1: math.inf, 2: math.inf}
        for _ in range(plan.rounds):
            for n in best:
                found = child.run("ours:iteration", threads=n, path=plan.crowd(size), first=first, last=last, repeats=3)
                best[n] = min(best[n], found["wall"])
        gain = best[1] / best[2]
        section.rows.append([str(size), ms(best[1]), ms(best[2]), f"{gain:.2f}"])
        section.bars.append(at_least(f"{size}: two threads", bar, gain, judged=plan.judged))
    section.bars += _same_answer(plan)
    return section


def _same_answer(plan: Plan) -> list[Bar]:
    path, out = plan.crowd(plan.large), Path(plan.folder) / "posterior.npy"
    digests = {
        child.run("ours:posterior", threads=n, path=path, passes=PASSES, out=str(out))["digest"] for n in (1, 2, 4)
    }
    same = len(digests) == 1
    apart = child.run("sparse:difference", path=path, passes=PASSES, posterior=str(out))["difference"]
    out.unlink()
    what = f"{plan.large}, posterior after {PASSES} passes"
    return [
        Bar(f"{what}: 1, 2, 4 threads", "the same bits", "the same bits" if same else "different bits", same),
        at_most(f"{what}: largest difference from scipy.sparse", 1e-9, apart, unit=""),
    ]


def scaling(plan: Plan) -> Section:
    """Section 3."""
    section = Section(
        "Scaling",
        "CPU time of one iteration on one thread, per label and class: flat means linear. The tables (workers × "
        "classes² × 8 bytes, one to read and one to add to) grow from what the caches hold to what they do not.",
        ["size", "labels", "one table (MB)", "ms per iteration", "ns per label × class"],
    )
    costs = []
    for size in plan.ladder:
        path = plan.crowd(size)
        found = [
            child.run("ours:iteration", threads=1, path=path, first=3, last=8, repeats=3)["cpu"]
            for _ in range(min(plan.rounds, 2))
        ]
        cost = min(found) / (size.labels * size.classes) * 1e9
        costs.append(cost)
        table = size.workers * size.classes**2 * 8 / 1e6
        section.rows.append([str(size), f"{size.labels:,}", f"{table:.1f}", ms(min(found)), f"{cost:.2f}"])
    section.notes.append(f"costliest / cheapest label × class: {max(costs) / min(costs):.2f}")
    return section
