"""crowd-kit's methods; runs in crowd-kit's own environment."""

from __future__ import annotations

import platform
import resource
import time
from importlib.metadata import version

import numpy as np


def _frame(path: str):
    import pandas as pd

    task, worker, label = np.load(path)
    return pd.DataFrame({"task": task, "worker": worker, "label": label})


def _fit(frame, passes: int) -> None:
    from crowdkit.aggregation import DawidSkene

    # It stops when the objective rises by less than tol: never, with this one.
    model = DawidSkene(n_iter=passes, tol=-np.inf).fit(frame)
    if len(model.loss_history_) != passes:
        raise RuntimeError(f"crowd-kit stopped after {len(model.loss_history_)} of {passes} iterations")


def iteration(path: str, first: int, last: int) -> dict[str, float]:
    """CPU seconds per iteration: the difference of two run lengths."""
    frame = _frame(path)
    _fit(frame.head(1_000), 1)  # imports and first calls
    took = {}
    for passes in (first, last):
        start = time.process_time()
        _fit(frame, passes)
        took[passes] = time.process_time() - start
    return {"cpu": (took[last] - took[first]) / (last - first)}


def whole(path: str, method: str, limit: int) -> dict[str, float]:
    """CPU seconds of a whole fit of any classification method, after a small one; the process ends at the limit."""
    from crowdkit.aggregation import classification

    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    frame = _frame(path)
    cls = getattr(classification, method)
    cls().fit(frame[frame["task"] < 5])
    start = time.process_time()
    cls().fit(frame)
    return {"cpu": time.process_time() - start}


def memory(path: str, passes: int) -> dict[str, float]:
    """From a frame of integers to a fitted model; the peak is what counts."""
    start = time.perf_counter()
    _fit(_frame(path), passes)
    return {"wall": time.perf_counter() - start}


def versions() -> dict[str, str]:
    """What is installed here."""
    found = {name: version(name) for name in ("crowd-kit", "pandas", "numpy")}
    return {**found, "python": platform.python_version()}
