"""A million answers with 30 classes: CPU seconds of every method, and of reading them."""

from __future__ import annotations

import time

import numpy as np

import crowdwise as cw
from crowdwise.kinds.sets.answers import Sets
from crowdwise.kinds.sets.simulate import set_crowd

TASKS, WORKERS, CLASSES, EACH = 200_000, 2_000, 30, 5
METHODS = ("set_majority", "set_coin", "joint_sets")


def crowd() -> cw.Votes:
    """Blocks of planted answers, put together."""
    blocks, size = 40, TASKS // 40
    parts = [set_crowd(size, WORKERS // 40, CLASSES, per_task=EACH, seed=i) for i in range(blocks)]
    task = np.concatenate([p.task + i * size for i, p in enumerate(parts)]).astype(np.int32)
    worker = np.concatenate([p.worker + i * (WORKERS // 40) for i, p in enumerate(parts)]).astype(np.int32)
    said = np.concatenate([p.labels for p in parts])
    row, code = np.nonzero(said)
    start = np.searchsorted(row, np.arange(len(task) + 1)).astype(np.int64)
    import polars as pl

    names = pl.Series("label", [f"c{j:02d}" for j in range(CLASSES)])
    answers = Sets(start, code.astype(np.int32), names)
    return cw.Votes(task, worker, answers, pl.Series("task", range(TASKS)), pl.Series("worker", range(WORKERS)))


def rows() -> list[list[str]]:
    """CPU seconds."""
    votes = crowd()
    out = []
    for name in METHODS:
        began = time.process_time()
        found = cw.method(name).fit(votes)
        out.append([name, f"{time.process_time() - began:.1f}", str(found.n_iter)])
        print(*out[-1], flush=True)
    frame = votes.to_frame()
    began = time.process_time()
    cw.sets.set_votes(frame["task"], frame["worker"], frame["labels"])
    out.append(["reading a column of JSON lists", f"{time.process_time() - began:.1f}", "–"])
    print(*out[-1], flush=True)
    return out
