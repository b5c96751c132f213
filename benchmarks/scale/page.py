"""docs/benchmarks/scale.md from what was measured."""

from __future__ import annotations

import math
from typing import Any

from ..markdown import figures, table

HEAD = """# More votes than memory
`python -m benchmarks.scale` measures and writes this page ({machine}). The crowd is planted and generated in pieces:
ten labels a task, 100,000 workers, 5 classes, ids as text, the labels of a task in ten different files. How to use it
all is in [scale](../scale.md).
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
    """What was promised, and what came out."""
    fifty, large = (_at(found, "whole", n) for n in (50_000_000, 200_000_000))
    rows = []
    for answer in found.get("same", {}).values():
        if "failed" not in answer:
            same = answer["digests"] == 1
            kept = ("yes", "met") if same else ("no", "missed")
            rows.append(["1, 2, 7, 64 jobs: the same bits", "yes", *kept])
            gap = answer["gap"]
            rows.append(_row("posterior against memory", "1e-9", gap, 1e-9, f"{gap:.1e}"))
    peak = large.get("peak_gb")
    rows.append(_row("200 M labels: peak memory", "3 GB", peak, 3.0, f"{peak or 0:.2f} GB"))
    ratio = peak / fifty["peak_gb"] if peak and fifty else None
    rows.append(_row("the same, against 50 M labels", "1.5×", ratio, 1.5, f"{ratio or 0:.2f}×"))
    both = found.get("passes", {}).get("50000000", {})
    ratio = None
    if "pass" in both.get("disk", {}) and "pass" in both.get("memory", {}):
        ratio = both["disk"]["pass"] / both["memory"]["pass"]
    rows.append(_row("a pass from disk against one in memory, 50 M", "2×", ratio, 2.0, f"{ratio or 0:.2f}×"))
    ours, theirs = fifty.get("plan"), _at(found, "sort", 50_000_000).get("wall")
    ratio = ours / theirs if ours and theirs else None
    rows.append(_row("planning against polars' scan, sort, write, 50 M", "3×", ratio, 3.0, f"{ratio or 0:.2f}×"))
    return "## Bars\n" + table(["", "at most", "measured", ""], rows) + "\n"


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
                rows.append([f"{int(n):,}", f"a pass, {where}", f"{a['pass']:.2f} s", f"{each:.1f} ns a label"])
    for n, a in found.get("sort", {}).items():
        if "wall" in a:
            peak = f"{a['peak_gb']:.2f} GB peak"
            rows.append([f"{int(n):,}", "polars: scan, sort, write", f"{a['wall']:.1f} s", peak])
            plan = _at(found, "whole", int(n)).get("plan")
            if plan:
                rows.append([f"{int(n):,}", "plan", f"{plan:.1f} s", ""])
    return "" if not rows else "## Speed\n" + figures(["labels", "what", "wall", ""], rows) + "\n"


def peers(found: dict[str, Any]) -> str:
    """crowd-kit."""
    lines = []
    for n, a in found.get("peers", {}).items():
        said = f"read in {a['read']:,.0f} s; " if "read" in a else ""
        if "failed" in a:
            said += f"the fit failed within {a.get('limit_gb', 0)} GB: {a['failed']}"
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
    rows = [
        ["c1", "a label and class in a pass, one core", f"{a['c1'] * 1e9:.2f} ns"],
        ["c2", "a cell of the workers' tables added", f"{a['c2'] * 1e9:.2f} ns"],
        ["c3", "a label planned (read, hash, sort, write), one core", f"{a['c3'] * 1e6:.2f} µs"],
        ["latency", "a part opened", f"{a['latency'] * 1e3:.2f} ms"],
        ["bytes", "a label of the parts on disk", f"{a['bytes_a_label']:.1f}"],
    ]
    return "## Cost model\n" + table(["constant", "of", "measured"], rows) + "\n\n" + projected(a) + "\n"


def projected(a: dict[str, float], workers: int = 100_000, classes: int = 5, passes: int = 50) -> str:
    """Hours and memory for large runs, by the model."""
    rows = []
    cells = workers * classes**2
    for labels in SIZES:
        parts = 64
        while parts < 4096 and labels > parts * (1 << 22):
            parts *= 2
        for machines in MACHINES:
            slots = CORES * machines
            work = labels * classes * a["c1"] / slots
            reduce = cells * a["c2"] * (parts / min(slots, parts) + math.log2(min(slots, parts)))
            wait = a["latency"] * parts / slots
            plan = labels * a["c3"] / CORES  # one machine plans
            part = labels / parts * 16 + labels / parts / 10 * classes * 24
            need = cells * 8 * (5 + math.log2(parts) + 3 * CORES) + part * CORES
            one = work + reduce + wait
            rows.append([f"{labels:.0e}".replace("e+", "e"), str(machines), f"{plan / 3600:.2f} h", f"{one:,.1f} s",
                         f"{reduce / one:.0%}", f"{passes * one / 3600:.2f} h", f"{need / 1e9:.1f} GB"])  # fmt: skip
    head = ["labels", "machines", "plan (one machine)", "a pass", "of it sums", f"{passes} passes", "memory a machine"]
    said = (
        "By the model, not measured: machines of 16 cores, 100,000 workers, 5 classes, ten labels a task. Disk and "
        "network are taken to keep up; the plan is made by one machine."
    )
    return f"{said}\n\n" + figures(head, rows)
