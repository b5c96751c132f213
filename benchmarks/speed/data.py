"""A planted Dawid-Skene crowd of any size, made in seconds and stored once for all the processes that read it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Size:
    """How many tasks, labels per task, workers and classes."""

    tasks: int
    per_task: int
    workers: int
    classes: int

    @property
    def labels(self) -> int:
        return self.tasks * self.per_task

    def __str__(self) -> str:
        return f"{_short(self.tasks)}×{self.per_task}, M={_short(self.workers)}, K={self.classes}"


def _short(n: int) -> str:
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if n >= unit and n % (unit // 10) == 0:
            return f"{n / unit:g}{name}"
    return f"{n:,}"


def planted(size: Size, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """task, worker, label as int32; each task is labelled by different workers, each with a matrix of its own."""
    rng = np.random.default_rng(seed)
    n, per, m, k = size.tasks, size.per_task, size.workers, size.classes
    truth = rng.integers(0, k, n, dtype=np.int32)
    task = np.repeat(np.arange(n, dtype=np.int32), per)
    # An arithmetic progression modulo m that is shorter than one round: no worker meets a task twice.
    start = rng.integers(0, m, n, dtype=np.int64)
    stride = rng.integers(1, max(2, m // per), n, dtype=np.int64)
    worker = ((start[:, None] + stride[:, None] * np.arange(per)) % m).astype(np.int32).ravel()
    accuracy = rng.beta(8, 4, (m, k))
    favourite = rng.integers(0, k, (m, k), dtype=np.int32)  # the class that a worker confuses it with most
    true = truth[task]
    dice = rng.random(len(task))
    right = accuracy[worker, true]
    label = rng.integers(0, k, len(task), dtype=np.int32)
    label = np.where(dice < right + (1 - right) / 2, favourite[worker, true], label)
    label = np.where(dice < right, true, label).astype(np.int32)
    return task, worker, label


def store(size: Size, folder: Path, seed: int = 0) -> Path:
    """The crowd as one .npy of shape [3, labels]; made only once."""
    path = folder / f"crowd-{size.tasks}-{size.per_task}-{size.workers}-{size.classes}-{seed}.npy"
    if not path.exists():
        np.save(path, np.stack(planted(size, seed)))
    return path


def load(path: str | Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """task, worker, label of a stored crowd."""
    task, worker, label = np.load(path)
    return task, worker, label
