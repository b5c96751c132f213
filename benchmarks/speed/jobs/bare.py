"""The bare gather+scatter loop in C: how fast this machine can touch the memory that one EM iteration must touch."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from .. import data

SOURCE = Path(__file__).with_name("bare_loop.c")


def compiler() -> str | None:
    """The C compiler, if there is one."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def iteration(path: str, repeats: int, ahead: int = 0) -> dict[str, float]:
    """CPU seconds per sweep, the mean of `repeats` after one to warm up; memory is asked for `ahead` labels early."""
    task, worker, label = data.load(path)
    n, workers, classes = (int(codes.max()) + 1 for codes in (task, worker, label))
    order = np.lexsort((worker, task))  # as ours has them
    cell = (worker * np.int32(classes) + label)[order]
    offset = np.concatenate([[0], np.cumsum(np.bincount(task, minlength=n))]).astype(np.int64)
    table = np.random.default_rng(0).random(workers * classes * classes)
    counts = np.zeros_like(table)
    sweep = _compile(classes, ahead)
    arguments = (n, *(a.ctypes.data_as(ctypes.c_void_p) for a in (offset, cell, table, counts)))
    sweep(*arguments)
    start = time.process_time()
    for _ in range(repeats):
        sweep(*arguments)
    return {"cpu": (time.process_time() - start) / repeats}


def _compile(classes: int, ahead: int):
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "bare_loop.so"
        options = ["-O3", f"-DK={classes}", f"-DAHEAD={ahead}", "-shared", "-fPIC"]
        command = [compiler() or "cc", *options, "-o", str(library), str(SOURCE)]
        subprocess.run(command, check=True, capture_output=True)
        sweep = ctypes.CDLL(str(library)).sweep
    sweep.restype = ctypes.c_double
    sweep.argtypes = [ctypes.c_int64, *[ctypes.c_void_p] * 4]
    return sweep
