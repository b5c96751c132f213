"""10 M rows of string ids from Parquet and from CSV into sorted, checked Annotations, beside polars and pandas."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from . import child
from .plan import Plan
from .section import Section, at_most

CONTENDERS = {
    "crowdwise: cw.read (sorted, checked)": ("reading:crowdwise", {}),
    "polars: read + categorical codes": ("reading:polars", {}),
    "pandas: read + factorize(sort=True)": ("reading:pandas", {}),
    "pandas, engine='pyarrow'": ("reading:pandas", {"engine": "pyarrow"}),
}
OURS, POLARS, PANDAS, ARROW = CONTENDERS


def read(plan: Plan) -> Section:
    """Section 5."""
    size = plan.file
    section = Section(
        "Reading",
        f"{size.labels:,} shuffled rows of string ids ({size.tasks:,} tasks, {size.workers:,} workers, "
        f"{size.classes} classes) from a file in the page cache; wall seconds and peak memory, each in its own "
        "process, in turns, best of several. Ours gives sorted vocabularies, rows sorted by task and worker, and a "
        "ledger, duplicates checked; the others give codes only.",
        ["", "Parquet (s)", "peak (MB)", "CSV (s)", "peak (MB)"],
    )
    folder = Path(plan.folder) / "files"
    folder.mkdir()
    child.run(
        "reading:make",
        folder=str(folder),
        tasks=size.tasks,
        per_task=size.per_task,
        workers=size.workers,
        classes=size.classes,
    )
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for kind in ("parquet", "csv"):
        path = folder / f"votes.{kind}"
        for _ in range(plan.rounds):
            for name, (job, options) in CONTENDERS.items():
                if name == ARROW and kind == "parquet":  # pandas reads Parquet with pyarrow anyway
                    continue
                found = child.run(job, path=str(path), **options)
                if found["rows"] != size.labels:
                    raise child.JobError(f"{name} read {found['rows']} of {size.labels} rows")
                old = best.setdefault((name, kind), found)
                best[name, kind] = {what: min(old[what], found[what]) for what in ("wall", "peak_mb")}
    shutil.rmtree(folder)
    for name in CONTENDERS:
        cells = []
        for kind in ("parquet", "csv"):
            found = best.get((name, kind))
            cells += ["-", "-"] if found is None else [f"{found['wall']:.2f}", f"{found['peak_mb']:,.0f}"]
        section.rows.append([name, *cells])
    for kind, label in (("parquet", "Parquet"), ("csv", "CSV")):
        ours = best[OURS, kind]
        for other, bar in ((POLARS, 2.0), (PANDAS, 1.0)):
            share = ours["wall"] / best[other, kind]["wall"]
            section.bars.append(at_most(f"{label}: time against {other}", bar, share, judged=plan.judged))
        share = ours["peak_mb"] / best[PANDAS, kind]["peak_mb"]
        section.bars.append(at_most(f"{label}: peak memory against {PANDAS}", 1.0, share, judged=plan.judged))
    return section
