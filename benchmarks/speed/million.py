"""Every registered method at a million labels: CPU seconds of the whole fit, or the reason why it refuses."""

from __future__ import annotations

from crowdwise.core import method_registry as registry

from . import child
from .data import Size
from .plan import Plan
from .section import Bar, Section

BAR = 60
# Beyond this many CPU seconds a fit is ended; "over" is then all that is known.
LIMIT = 150


def million(plan: Plan) -> Section:
    """Section 9."""
    size, narrow = (
        (Size(4_000, 5, 200, 5), Size(4_000, 5, 50, 5))
        if plan.quick
        else (Size(200_000, 5, 2_000, 5), Size(200_000, 5, 200, 5))
    )
    section = Section(
        "Every method at a million labels",
        f"CPU seconds of a whole fit with default parameters on one thread, each in its own process, after a small fit "
        f"that loads the compiled code: {size}; for the methods of moments {narrow.workers} workers, for those that "
        f"need two classes K=2. A fit is ended after {LIMIT} CPU seconds. A method that refuses names the reason and "
        "what to take instead.",
        ["method", "size", "CPU (s)", "iterations", "refuses"],
    )
    over = []
    for name in registry.METHODS:
        row = one(plan, name, narrow if "overlap" in registry.card(name).needs else size)
        section.rows.append(row)
        print(*row, sep=" | ", flush=True)
        if not row[4] and not float(row[2].removeprefix("over ").replace(",", "")) < BAR:
            over.append(name)
    measured = "all" if not over else "not " + ", ".join(over)
    bar = f"under {BAR} CPU s, or a refusal that says what to use"
    section.bars.append(Bar(f"{len(section.rows)} methods", bar, measured, None if plan.quick else not over))
    return section


def one(plan: Plan, name: str, size: Size) -> list[str]:
    """The table's row of a method."""
    if "binary" in registry.card(name).needs:
        size = Size(size.tasks, size.per_task, size.workers, 2)
    warm = plan.crowd(Size(2_000, 5, 40, size.classes))
    try:
        found = child.run("whole:fit", threads=1, path=plan.crowd(size), method=name, limit=LIMIT, warm=warm)
    except child.JobError as error:
        ended = str(error).endswith(("code -24", "code -9"))  # by the limit
        return [name, str(size), f"over {LIMIT}", "", "" if ended else str(error)]
    if found["refusal"]:
        return [name, str(size), "", "", found["refusal"]]
    return [name, str(size), f"{found['cpu']:.1f}", f"{found['iterations']:,}", ""]
