"""Cost, as ratios to what any implementation needs: four weighted bincounts (two by task, two by worker)."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from crowdwise.kinds.numbers import maths as numbers
from crowdwise.kinds.numbers.maths.passes import Message, ShardedRows
from crowdwise.kinds.numbers.maths.rows import NumberRows

TASKS, WORKERS, ANSWERS = 200_000, 10_000, 1_000_000


def crowd() -> NumberRows:
    """A million answers of ten thousand workers."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(TASKS, dtype=np.int32), ANSWERS // TASKS)
    worker = rng.integers(WORKERS, size=ANSWERS).astype(np.int32)
    value = rng.normal(size=TASKS)[task] + rng.normal(size=WORKERS)[worker] / 3 + rng.normal(size=ANSWERS)
    return NumberRows(task, worker, value, None, TASKS, WORKERS)


def least(run: Callable[[], object], times: int = 7) -> float:
    """CPU seconds of the fastest run."""
    out = []
    for _ in range(times):
        start = time.process_time()
        run()
        out.append(time.process_time() - start)
    return min(out)


def floor(rows: NumberRows) -> Callable[[], object]:
    """Four bincounts."""

    def run() -> None:
        for codes, n in ((rows.task, rows.n_tasks), (rows.worker, rows.n_workers)):
            np.bincount(codes, weights=rows.value, minlength=n)
            np.bincount(codes, weights=rows.value, minlength=n)

    return run


def speed_rows() -> list[list[str]]:
    """What, and how many times the four bincounts."""
    rows = crowd()
    base = least(floor(rows))
    q, b = np.ones(WORKERS), np.zeros(WORKERS)
    plain, sloped = Message(q, b), Message(q, b, 0.0, 1.0, q, q, b)
    out = []
    for name, message in (("gaussian, one pass", plain), ("gaussian with slopes, one pass", sloped)):
        for compiled in (True, False):
            space = ShardedRows.of(rows, None, compiled=compiled)
            space.accumulate(message)
            way = "compiled" if compiled else "plain numpy"
            out.append([f"{name}, {way}", f"{least(lambda s=space, m=message: s.accumulate(m)) / base:.2f}"])
    wholes = {
        "mean": numbers.mean,
        "median": numbers.median,
        "gaussian": numbers.gaussian,
        "combined": numbers.combined,
    }
    numbers.combined(
        NumberRows(rows.task[:50_000], rows.worker[:50_000], rows.value[:50_000], None, TASKS, WORKERS)
    )  # compiles
    for name, method in wholes.items():
        out.append([f"{name}, whole fit", f"{least(lambda m=method: m(rows), 1) / base:,.0f}"])
    for line in out:
        print(*line, flush=True)
    return out
