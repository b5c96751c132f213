"""What a user waits for at the command line: a small file, warm and as the very first run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .. import ROOT
from . import child
from .data import Size, load
from .plan import Plan
from .section import Section, at_most

BLUEBIRD = "bluebird/labels.csv"
COMMAND = [sys.executable, "-m", "crowdwise.cli", "aggregate"]


def cli(plan: Plan) -> Section:
    """Section 6."""
    section = Section(
        "Command line",
        "Wall seconds of `crowdwise aggregate FILE`, from the shell and back. Very first run: numba's cache on disk "
        "is empty. The larger file is one that the compiled kernels serve.",
        ["file", "warm (best)", "very first run"],
    )
    small, name = _bluebird(plan)
    larger = Size(5_000, 5, 100, 10) if plan.quick else Size(20_000, 5, 500, 10)
    files = ((small, name, True), (_simulated(plan, larger), f"simulated, {larger}", False))
    for path, title, barred in files:
        try:
            warm, first = _times(path, rounds=2 if plan.quick else 5)
        except child.JobError as error:
            section.notes.append(str(error))
            warm = first = None
        section.rows.append([title, *("-" if t is None else f"{t:.2f}" for t in (warm, first))])
        if barred:
            section.bars.append(at_most(f"{title}: warm", 2, warm, unit=" s"))
            section.bars.append(at_most(f"{title}: very first run", 8, first, unit=" s"))
    return section


def _times(path: Path, rounds: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as cache:
        first = _once(path, {"NUMBA_CACHE_DIR": cache})
        return min(_once(path, {"NUMBA_CACHE_DIR": cache}) for _ in range(rounds)), first


def _once(path: Path, env: dict[str, str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(
        [*COMMAND, str(path)], cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    took = time.perf_counter() - start
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise child.JobError(f"`crowdwise aggregate` did not run: {last[0].removeprefix(sys.executable + ': ')}")
    return took


def _bluebird(plan: Plan) -> tuple[Path, str]:
    """The data set, or a simulated file of its size: 108 tasks, 39 workers, everyone labels everything."""
    folder = os.environ.get("CROWDWISE_DATA")
    if folder and (Path(folder) / BLUEBIRD).exists():
        return Path(folder) / BLUEBIRD, BLUEBIRD
    size = Size(108, 39, 39, 2)
    return _simulated(plan, size), f"simulated, {size}"


def _simulated(plan: Plan, size: Size) -> Path:
    path = Path(plan.folder) / f"votes-{size.tasks}.csv"
    rows = zip(*(codes.tolist() for codes in load(plan.crowd(size))), strict=True)
    path.write_text("task,worker,label\n" + "".join(f"t{t},w{w},c{c}\n" for t, w, c in rows))
    return path
