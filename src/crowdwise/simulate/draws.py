"""Random draws that the simulators of several kinds share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.arrays import I4, I8

A = TypeVar("A")

_ONSETS = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "dr", "kl", "st", "tr"]
_VOWELS = ["a", "e", "i", "o", "u"]


def numbered(prefix: str, n: int) -> pl.Series:
    """Names such as t00, t01, ..., padded so that their sorted order is the order of the numbers."""
    return pl.Series([f"{prefix}{i:0{len(str(n - 1))}d}" for i in range(n)], dtype=pl.String)


def vocabulary(n: int, rng: np.random.Generator) -> list[str]:
    """Draw n different made-up words of two or three syllables."""
    words: dict[str, None] = {}
    while len(words) < n:
        syllables = rng.integers(2, 4)
        word = "".join(_ONSETS[rng.integers(len(_ONSETS))] + _VOWELS[rng.integers(5)] for _ in range(syllables))
        words[word] = None
    return list(words)


def draw_kinds(n_workers: int, shares: Mapping[str, float], rng: np.random.Generator) -> list[str]:
    """Assign each share of the workers its kind, in random order; the remaining workers are honest."""
    kinds = [name for name, share in shares.items() for _ in range(round(share * n_workers))]
    kinds += ["honest"] * (n_workers - len(kinds))
    return [kinds[i] for i in rng.permutation(n_workers)]


def draw_workers(n_tasks: int, n_workers: int, per_task: int, rng: np.random.Generator) -> I8:
    """worker[task, i]: different random workers of each task, in ascending order."""
    everyone = np.tile(np.arange(n_workers), (n_tasks, 1))
    return np.sort(rng.permuted(everyone, axis=1)[:, :per_task], axis=1)


def draw_rows(n_tasks: int, n_workers: int, per_task: int, rng: np.random.Generator) -> tuple[I8, I8]:
    """Draw different random workers of each task; return task and worker of each row, sorted by both."""
    return np.repeat(np.arange(n_tasks), per_task), draw_workers(n_tasks, n_workers, per_task, rng).ravel()


def draw_pairs(n_items: int, n_pairs: int, rng: np.random.Generator) -> tuple[I8, I8]:
    """Draw pairs of different items. The first pairs form a ring that connects all items."""
    ring, n_more = rng.permutation(n_items), max(n_pairs - n_items, 0)
    one = np.concatenate([ring, rng.integers(0, n_items, n_more)])[:n_pairs]
    two = np.concatenate([np.roll(ring, 1), (one[n_items:] + rng.integers(1, n_items, n_more)) % n_items])[:n_pairs]
    return one, two


def draw_sources(kind: Sequence[str], rng: np.random.Generator, distinct: bool = True) -> I4:
    """Draw the honest worker that each copier copies; -1 for all other workers.

    Args:
        kind: The kind of each worker.
        rng: The random generator.
        distinct: Draw different sources as long as there are enough honest workers.
    """
    names = np.array(kind)
    sources = np.full(len(names), -1, dtype=np.int32)
    honest, copiers = np.flatnonzero(names == "honest"), np.flatnonzero(names == "copier")
    if len(honest) and len(copiers):
        if distinct:
            sources[copiers] = rng.choice(honest, len(copiers), replace=len(copiers) > len(honest))
        else:
            sources[copiers] = [honest[int(rng.integers(len(honest)))] for _ in copiers]
    return sources


def draw_answers(workers_of: I8, source: I4, answer: Callable[[int, int], A]) -> tuple[I4, I4, list[A]]:
    """Return task, worker and answer of each row; copiers have the answer of their source if it answered the task too.

    Args:
        workers_of: workers_of[task, i], the workers of each task.
        source: The worker that each worker copies, -1 for none.
        answer: Called as answer(task, worker) for the other rows; those who copy come last in each task.
    """
    answers: dict[tuple[int, int], A] = {}
    for t, workers in enumerate(workers_of.tolist()):
        for w in sorted(workers, key=lambda w: source[w] >= 0):
            original = (t, int(source[w]))
            answers[t, w] = answers[original] if source[w] >= 0 and original in answers else answer(t, w)
    rows = [(t, w) for t, workers in enumerate(workers_of.tolist()) for w in workers]
    task, worker = np.array(rows, dtype=np.int32).reshape(-1, 2).T
    return task, worker, [answers[row] for row in rows]


def copy_answers(task: npt.NDArray[Any], worker: npt.NDArray[Any], answers: npt.NDArray[Any], source: I4) -> Any:
    """Replace the answers of copiers by those of their source, on tasks that the source answered too."""
    if not (source >= 0).any():
        return answers
    n_workers = len(source)
    row_key, source_key = task * n_workers + worker, task * n_workers + source[worker]
    row = np.minimum(np.searchsorted(row_key, source_key), len(row_key) - 1)
    is_copied = (source[worker] >= 0) & (row_key[row] == source_key)
    return np.where(is_copied.reshape(-1, *[1] * (answers.ndim - 1)), answers[row], answers)


def source_names(workers: pl.Series, source: I4) -> pl.Series:
    """Name of the worker that each worker copies, null for workers who do not copy."""
    return pl.Series([workers[w] if w >= 0 else None for w in source.tolist()], dtype=pl.String)
