"""The default at a million labels of four classes and two million of forty: CPU seconds, and EM passes in that time.

A pass is one iteration of dawid_skene on the same labels. The default is several fits, tests and averages, all of them
passes over the same tables, so the ratio says more than seconds where other programs compete for the memory.
"""

from __future__ import annotations

from crowdwise.core import method_registry as registry

from . import child
from .data import Size
from .plan import Plan
from .section import Section, at_most

# The crowds, and the CPU seconds that a fit may take.
SIZES = (
    (Size(200_000, 5, 2_000, 4), 5.0),
    (Size(400_000, 5, 1_000, 40), 25.0),
    (Size(400_000, 5, 4_000, 40), 25.0),
)
QUICK = ((Size(2_000, 5, 40, 4), 5.0),)
LIMIT = 150


def default(plan: Plan) -> Section:
    """Section 10."""
    section = Section(
        "The default at one and two million labels",
        f"CPU seconds of a whole fit of `{registry.DEFAULT}` on one thread, each in its own process, after a small fit "
        "that loads the compiled code; the best of the rounds. A pass is one EM iteration of dawid_skene on the same "
        "labels, its M-step included.",
        ["size", "labels", "CPU (s)", "one pass (s)", "fit / pass", "peak memory (MB)"],
    )
    for size, bar in QUICK if plan.quick else SIZES:
        path, warm = plan.crowd(size), plan.crowd(Size(2_000, 5, 40, size.classes))
        fits = [
            child.run("whole:fit", threads=1, path=path, method=registry.DEFAULT, limit=LIMIT, warm=warm)
            for _ in range(plan.rounds)
        ]
        cpu = min(fit["cpu"] for fit in fits)
        one = child.run("ours:iteration", threads=1, path=path, first=2, last=6, repeats=plan.rounds)["cpu"]
        memory = min(fit["peak_mb"] for fit in fits)
        section.rows.append(
            [str(size), f"{size.labels:,}", f"{cpu:.1f}", f"{one:.3f}", f"{cpu / one:.0f}", f"{memory:,.0f}"]
        )
        section.bars.append(at_most(f"{size}: CPU seconds", bar, cpu, unit=" s", judged=plan.judged))
    return section
