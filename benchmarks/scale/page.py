"""docs/benchmarks/scale.md from what was measured."""

from __future__ import annotations

import math
from typing import Any

from crowdwise.out_of_core.planning import n_parts

from ..markdown import figures, table
from .crowd import CLASSES, WORKERS

HEAD = """# More votes than memory
`python -m benchmarks.scale` measures and writes this page ({machine}). The crowd is planted and generated in pieces:
ten labels a task, 5 classes, 500 labels a worker up to 100,000 workers, ids as text, the labels of a task in ten
files. How to use it all is in [scale](../scale.md).
"""
MACHINES, CORES, SIZES = (1, 8, 64), 16, (10**8, 10**9, 10**10)


def page(found: dict[str, Any]) -> str:
    """The page."""
    parts = [HEAD.format(machine=found.get("machine", "nothing measured yet"))]
    for make in (bars, answers, memory, speed, peers, constants):
        text = make(found)
        if text:
            parts.append(text)
    return "\n".join(parts)


def _at(found: dict[str, Any], what: str, labels: int) -> dict[str, Any]:
    answer: dict[str, Any] = found.get(what, {}).get(str(labels), {})
    return {} if "failed" in answer else answer


def _row(name: str, bar: str, value: float | None, limit: float, shown: str) -> list[str]:
    if value is None:
        return [name, bar, "not measured", ""]
    return [name, bar, shown, "met" if value <= limit else "missed"]


def bars(found: dict[str, Any]) -> str:
    """What was promised, and what came out: at the promised size where it was measured there, else at the largest."""
    fifty, large = (_at(found, "whole", n) for n in (50_000_000, 200_000_000))
    rows = []
    for n, answer in found.get("same", {}).items():
        if "failed" not in answer:
            same, gap, of = answer["digests"] == 1, answer["gap"], f"{int(n):,} labels: "
            rows.append([f"{of}1, 2, 7, 64 jobs, same bits", "yes", *(("yes", "met") if same else ("no", "missed"))])
            rows.append(_row(f"{of}posterior against memory", "1e-9", gap, 1e-9, f"{gap:.1e}"))
    peak = large.get("peak_gb")
    rows.append(_row("200,000,000 labels: peak memory", "3 GB", peak, 3.0, f"{peak or 0:.2f} GB"))
    ratio = peak / fifty["peak_gb"] if peak and fifty else None
    rows.append(_row("the same, against 50,000,000 labels", "1.5×", ratio, 1.5, f"{ratio or 0:.2f}×"))
    n, ratio = _largest(found, "passes", lambda a, _: a["disk"]["pass"] / a["memory"]["pass"])
    rows.append(_row(f"{n} labels: a pass from disk, against memory", "2×", ratio, 2.0, f"{ratio or 0:.2f}×"))
    n, ratio = _largest(found, "sort", lambda a, n: _at(found, "whole", n)["plan_cpu"] / a["cpu"])
    name = f"{n} labels: planning against polars' scan, sort, write (CPU)"
    rows.append(_row(name, "3×", ratio, 3.0, f"{ratio or 0:.2f}×"))
    said = "Memory and passes were promised at 50 and 200 million labels; each row says how many it was measured at."
    return f"## Bars\n{said}\n\n" + table(["", "at most", "measured", ""], rows) + "\n"


def _largest(found: dict[str, Any], what: str, make: Any) -> tuple[str, float | None]:
    """A figure of the largest size that has it."""
    for n in sorted(map(int, found.get(what, {})), reverse=True):
        try:
            return f"{n:,}", float(make(found[what][str(n)], n))
        except KeyError:
            continue
    return "50,000,000", None


def answers(found: dict[str, Any]) -> str:
    """The same answer."""
    rows = [
        [f"{int(n):,}", str(a["passes"]), f"{a['digests']}", f"{a['gap']:.1e}", f"{a['labels_differ']:,}"]
        for n, a in found.get("same", {}).items()
        if "failed" not in a
    ]
    if not rows:
        return ""
    head = ["labels", "passes", "different bits in 5 ways to run it", "largest gap to memory", "labels that differ"]
    return "## The same answer\nDawid-Skene in one process and in 1, 2, 7 and 64 jobs.\n\n" + figures(head, rows) + "\n"


def memory(found: dict[str, Any]) -> str:
    """Whole runs."""
    rows = []
    for n, a in sorted(found.get("whole", {}).items(), key=lambda each: int(each[0])):
        if "failed" in a:
            rows.append([f"{int(n):,}", a["failed"], "", "", "", ""])
        else:
            made = "made before" if a["plan"] < 1 else f"{a['plan']:,.0f} s"
            rows.append([f"{int(n):,}", made, f"{a['fit']:,.0f} s", f"{a['peak_gb']:.2f} GB", f"{a['n_tasks']:,}",
                         f"{a['accuracy']:.4f}"])  # fmt: skip
    if not rows:
        return ""
    head = ["labels", "plan", "fit and write", "peak memory", "tasks", "accuracy"]
    text = "From files to a run folder: plan, three passes of Dawid-Skene, skills, labels written; two threads."
    return f"## Memory\n{text}\n\n" + figures(head, rows) + "\n"


def speed(found: dict[str, Any]) -> str:
    """Passes and planning."""
    rows = []
    for n, both in found.get("passes", {}).items():
        for where, a in both.items():
            if "pass" in a:
                each = a["pass"] / a["rows"] * 1e9
                rows.append(
                    [f"{int(n):,}", f"a pass, {where}, one thread", f"{a['pass']:.2f} s CPU", f"{each:.1f} ns a label"]
                )
    for n, a in found.get("sort", {}).items():
        if "cpu" in a:
            peak = f"{a['cpu']:.1f} s CPU, {a['peak_gb']:.2f} GB peak"
            rows.append([f"{int(n):,}", "polars: scan, sort, write", f"{a['wall']:.1f} s", peak])
            own = _at(found, "whole", int(n))
            if own.get("plan", 0) > 1:
                cpu = f"{own['plan_cpu']:.1f} s CPU" if "plan_cpu" in own else ""
                rows.append([f"{int(n):,}", "plan", f"{own['plan']:.1f} s", cpu])
    if not rows:
        return ""
    said = (
        "Every part has a table of all workers, which a pass clears and adds up. So the plan makes fewer and larger "
        "parts where tables are large: here no table has more cells than its part has labels. In memory the labels "
        "are cut too, for threads."
    )
    return f"## Speed\n{said}\n\n" + figures(["labels", "what", "wall", ""], rows) + "\n"


def peers(found: dict[str, Any]) -> str:
    """crowd-kit."""
    lines = []
    for n, a in found.get("peers", {}).items():
        said = f"read in {a['read']:,.0f} s; " if "read" in a else ""
        if "failed" in a:
            said += f"the fit failed within {a.get('limit_gb', 0)} GB of address space: {a['failed']}"
        elif "timeout" in a:
            said += f"three iterations were not done after {a['timeout']} s (limit {a['limit_gb']} GB)"
        else:
            said += f"three iterations in {a['fit']:,.0f} s, peak {a['peak_gb']:.1f} GB"
        lines.append(f"crowd-kit 1.4.2 on the same {int(n):,} labels, in its own environment: {said}.")
    return "" if not lines else "## Peers\n" + "\n".join(lines) + "\n"


def constants(found: dict[str, Any]) -> str:
    """The cost model: constants, and what they say of large runs."""
    measured = [a for a in found.get("constants", {}).values() if "failed" not in a]
    if not measured:
        return ""
    a = measured[-1]
    large = found.get("passes", {}).get("50000000", {}).get("disk", {})
    rows = [["c1", "a label and class in a pass, one core, tables that a cache holds", f"{a['c1'] * 1e9:.2f} ns"]]
    if "pass" in large:
        cells, n = WORKERS * CLASSES**2, large["rows"]
        a = {**a, "c1": (large["pass"] - cells * a["c2"] * n_parts(n, cells)) / (n * CLASSES)}
        told = f"the same with {WORKERS:,} workers, whose tables no cache holds"
        rows.append(["c1", told, f"{a['c1'] * 1e9:.2f} ns"])
    rows += [
        ["c2", "a cell of the workers' tables added", f"{a['c2'] * 1e9:.2f} ns"],
        ["c3", "a label planned (read, hash, sort, write), one core", f"{a['c3'] * 1e6:.2f} µs"],
        ["latency", "a part opened", f"{a['latency'] * 1e3:.2f} ms"],
        ["bytes", "a label of the parts on disk", f"{a['bytes_a_label']:.1f}"],
    ]
    return "## Cost model\n" + table(["constant", "of", "measured"], rows) + "\n\n" + projected(a) + "\n"


def projected(a: dict[str, float], passes: int = 50) -> str:
    """Hours and memory for large runs, by the model."""
    rows, classes = [], CLASSES
    cells = WORKERS * classes**2
    for labels in SIZES:
        parts = n_parts(labels, cells)
        for machines in MACHINES:
            slots = min(CORES * machines, parts)
            work = labels * classes * a["c1"] / slots
            reduce = cells * a["c2"] * (parts / slots + math.log2(slots))
            wait = a["latency"] * parts / slots
            plan = labels * a["c3"] / CORES  # one machine plans
            part = labels / parts * 16 + labels / parts / 10 * classes * 24
            need = cells * 8 * (5 + math.log2(parts) + 3 * CORES) + part * CORES
            one = work + reduce + wait
            rows.append([f"{labels:.0e}".replace("e+", "e"), str(machines), f"{plan / 60:,.1f} min", f"{one:,.2f} s",
                         f"{reduce / one:.0%}", f"{passes * one / 60:,.1f} min", f"{need / 1e9:.1f} GB"])  # fmt: skip
    head = ["labels", "machines", "plan (one machine)", "a pass", "of it sums", f"{passes} passes", "memory a machine"]
    said = (
        f"By the model, not measured: machines of {CORES} cores, {WORKERS:,} workers, {CLASSES} classes, ten labels a "
        "task. Disk and network are taken to keep up; the plan is made by one machine. Cores beyond the number of "
        "parts have nothing to do."
    )
    return f"{said}\n\n" + figures(head, rows)
