"""A pass of bsc over a million tokens against a bare forward-backward in numpy, batched over texts."""

from __future__ import annotations

import time

import numpy as np

from crowdwise.kinds.spans.maths import Cells, ChainData, TextUnits, allowed, e_step

TOKENS, LENGTH, WORKERS, TAGS, READERS = 1_000_000, 25, 50, 9, 3


def data(tokens: int = TOKENS, seed: int = 0) -> ChainData:
    """Texts of 25 tokens, each read by three of fifty workers, 9 tags (19 labels)."""
    rng = np.random.default_rng(seed)
    n = tokens // LENGTH
    offsets = np.arange(n + 1) * LENGTH
    units = TextUnits(offsets, np.arange(n * LENGTH), np.arange(n * LENGTH) + 1)
    row_task = np.repeat(np.arange(n), READERS)
    unit = (row_task[:, None] * LENGTH + np.arange(LENGTH)).ravel()
    label = np.where(rng.random(len(unit)) < 0.8, 0, rng.integers(1 + 2 * TAGS, size=len(unit))).astype(np.int32)
    cells = Cells(np.arange(n * READERS + 1) * LENGTH, unit, np.repeat(np.arange(n * READERS), LENGTH), label)
    worker = rng.integers(WORKERS, size=n * READERS).astype(np.int32)
    known = np.full(n * LENGTH, -1)
    return ChainData(units, cells, np.arange(n + 1) * READERS, worker, np.ones(n * READERS), WORKERS, TAGS, known)


def tables(k: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.dirichlet(np.ones(k), size=(WORKERS, k, k)).swapaxes(2, 3)
    first, then = allowed(TAGS)
    start, move = np.where(first, 1.0, 0), np.where(then, rng.random((k, k)), 0)
    return np.log(np.ascontiguousarray(a)), start / start.sum(), move / move.sum(axis=1, keepdims=True)


def bare(evidence: np.ndarray, start: np.ndarray, move: np.ndarray) -> np.ndarray:
    """Posteriors of texts of one length: forward and backward for all of them at once, and nothing else."""
    n, length, k = evidence.shape
    ahead, scale = np.empty((length, n, k)), np.empty((length, n, 1))
    here = start * evidence[:, 0]
    for i in range(length):
        if i:
            here = (ahead[i - 1] @ move) * evidence[:, i]
        scale[i] = here.sum(axis=1, keepdims=True)
        ahead[i] = here / scale[i]
    back = np.ones((n, k))
    out = np.empty((length, n, k))
    for i in range(length - 1, -1, -1):
        out[i] = ahead[i] * back
        if i:
            back = (back * evidence[:, i] / scale[i]) @ move.T
    return out


def measure(repeats: int = 3) -> tuple[float, float]:
    """CPU seconds (least of some runs) of a pass with evidence and counts, and of the bare one without either."""
    some = data()
    k = some.n_states
    log_a, start, move = tables(k)
    q = np.zeros((TOKENS, k))
    small = data(LENGTH * 10)
    e_step(small, log_a, start, move, np.zeros((LENGTH * 10, k)))  # compiled before the clock runs
    evidence = np.random.default_rng(2).random((TOKENS // LENGTH, LENGTH, k))
    ours, theirs = [], []
    for _ in range(repeats):
        began = time.process_time()
        e_step(some, log_a, start, move, q)
        ours.append(time.process_time() - began)
        began = time.process_time()
        bare(evidence, start, move)
        theirs.append(time.process_time() - began)
    return min(ours), min(theirs)
