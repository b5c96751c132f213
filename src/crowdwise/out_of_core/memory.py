"""Free memory, and the memory that a fit would take; a fit that cannot fit is refused before it begins."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ..core.errors import DataError
from ..core.faults import FAULTS
from ..em.kernels import n_threads
from .files import File

if TYPE_CHECKING:
    from .plan import PartitionPlan

# Bytes of a row while a file is read and fitted in memory, bytes of a line on average, and the compression ratio.
PER_ROW, PER_LINE, PACKED = 120, 24, 8
# Tables of all confusion matrices that a fit holds besides those of the tree of sums, and those of each thread.
TABLES, PER_THREAD = 5, 3


def free_memory() -> int | None:
    """Return the bytes that this process can still allocate; None if unknown."""
    sources = [_available(), _group()]
    available = [n_bytes for n_bytes in sources if n_bytes is not None]
    return min(available) if available else None


def _available() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (ValueError, OSError, AttributeError):
            return None
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    return int(fields["MemAvailable"].split()[0]) * 1024 if "MemAvailable" in fields else None


def _group() -> int | None:
    """Return the bytes that the container can still allocate."""
    try:
        most = Path("/sys/fs/cgroup/memory.max").read_text(encoding="utf-8").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return int(most) - int(used) if most.isdigit() and used.isdigit() else None


def rows_of(file: File) -> int:
    """Return the approximate number of rows of a file."""
    if file.remote:
        return file.size
    if file.format == "parquet":
        try:
            return int(pl.scan_parquet(file.name, glob=False).select(pl.len()).collect().item())
        except FAULTS:
            return 0  # the reader reports the error
    if file.name.endswith((".gz", ".zst")):
        return file.size * PACKED // PER_LINE
    with open(file.name, "rb") as lines:
        some = lines.read(1 << 16)
    return file.size * max(some.count(b"\n"), 1) // max(len(some), 1)


def too_large(files: list[File]) -> str | None:
    """Return why these files are to be fitted in parts (they need more than half of the free memory), else None."""
    free = free_memory()
    need = PER_ROW * sum(rows_of(file) for file in files)
    if free is None or need <= free / 2:
        return None
    return f"about {gigabytes(need)} would be needed in memory and {gigabytes(free)} are free"


def needed(plan: PartitionPlan, threads: int | None = None) -> int:
    """Return the bytes that a fit with confusion matrices takes: tables of all workers, and one part per thread."""
    k, threads = len(plan.classes), n_threads() if threads is None else threads
    table = 8 * len(plan.workers) * k * k
    part = max((16 * part.rows + 24 * k * part.tasks for part in plan.parts), default=0)
    return table * (TABLES + math.ceil(math.log2(len(plan.parts) + 1)) + PER_THREAD * threads) + part * threads


def check_cost(plan: PartitionPlan, keeps_tables: bool) -> str | None:
    """Return a sentence on the memory of the workers' tables; raise if they do not fit."""
    if not keeps_tables:
        return None
    m, k = len(plan.workers), len(plan.classes)
    need, free = needed(plan), free_memory()
    size = f"{m:,} workers × {k}² classes = {m * k * k:,} cells, {gigabytes(8 * m * k * k)} a table"
    if free is not None and need > free:
        raise DataError(
            f"{size}: the fit would take about {gigabytes(need)} and {gigabytes(free)} are free; take a vote (wawa), "
            "fewer workers or classes, or a larger machine"
        )
    return f"{size}; the fit takes about {gigabytes(need)}"


def gigabytes(n: float) -> str:
    """Format a number of bytes."""
    return f"{n / 1e9:,.1f} GB" if n >= 1e8 else f"{n / 1e6:,.0f} MB"
