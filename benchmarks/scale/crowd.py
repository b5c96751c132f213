"""A planted crowd of any size, written in pieces: nobody ever holds it.

Ten rounds; in each, every task gets one label of another worker. So the labels of a task lie in ten files, and a plan
has to bring them together. Workers are right with a probability of their own, .5 to .95.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl

ROUNDS, WORKERS, CLASSES = 10, 100_000, 5
# Smaller crowds have fewer workers, 500 labels each.
EACH = 500
BLOCK = 2_000_000
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def mixed(x: np.ndarray) -> np.ndarray:
    """Numbers that look random and are the same everywhere."""
    x = (x + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


def truth_of(task: np.ndarray) -> np.ndarray:
    """The class of each task."""
    return (mixed(task.astype(np.uint64) ^ np.uint64(1 << 60)) % np.uint64(CLASSES)).astype(np.int64)


def rows(tasks: np.ndarray, turn: int, seed: int, workers: int) -> tuple[np.ndarray, np.ndarray]:
    """Worker and label of each of these tasks in a round; the ten workers of a task are ten."""
    worker = ((mixed(tasks.astype(np.uint64)) + np.uint64(7919 * turn)) % np.uint64(workers)).astype(np.int64)
    skill = 0.5 + 0.45 * (mixed(worker.astype(np.uint64) ^ np.uint64(1 << 61)) % np.uint64(1000)) / 1000
    rng = np.random.default_rng([seed, turn, int(tasks[0])])
    right = rng.random(len(tasks)) < skill
    other = (truth_of(tasks) + rng.integers(1, CLASSES, size=len(tasks))) % CLASSES
    return worker, np.where(right, truth_of(tasks), other)


def write(folder: Path, labels: int, seed: int = 0) -> str:
    """So many labels as Parquet files of text ids; the pattern that finds them."""
    done = folder / "done.json"
    told = {"labels": labels, "seed": seed}
    if not done.is_file() or json.loads(done.read_text()) != told:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*"):
            old.unlink()
        n = labels // ROUNDS
        for turn in range(ROUNDS):
            for lo in range(0, n, BLOCK):
                tasks = np.random.default_rng([seed, turn, lo]).permutation(np.arange(lo, min(lo + BLOCK, n)))
                worker, label = rows(tasks, turn, seed, min(WORKERS, max(labels // EACH, 200)))
                pl.DataFrame(
                    {
                        "task": "t" + pl.Series(tasks).cast(pl.String),
                        "worker": "w" + pl.Series(worker).cast(pl.String),
                        "label": pl.Series(list("abcde")).gather(label),
                    }
                ).write_parquet(folder / f"v{turn:02d}-{lo // BLOCK:03d}.parquet")
        done.write_text(json.dumps(told))
    return str(folder / "*.parquet")
