"""Texts as runs of word or character codes, distances between them, medoids, worker weights and votes on words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core.arrays import F8, I8
from ...stats.ragged import spread, starts

GRAMS = 4


@dataclass(frozen=True, eq=False)
class Runs:
    """Word codes of texts: those of text t are word[offsets[t] : offsets[t + 1]]."""

    offsets: I8
    word: I8

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def size(self) -> I8:
        """Number of words of each text."""
        return np.diff(self.offsets)

    @cached_property
    def grams(self) -> tuple[I8, I8]:
        """Offsets and codes of the n-grams of one to four words of each text, sorted, with repetitions."""
        text = np.repeat(np.arange(len(self)), self.size)
        numbers, owners, base = [], [], 0
        code = np.unique(self.word, return_inverse=True)[1].ravel().astype(np.int64)
        first, last = code, np.arange(len(code))
        for n in range(1, GRAMS + 1):
            if n > 1:
                keep = (last + 1 < len(code)) & (text[np.minimum(last + 1, len(code) - 1)] == text[last])
                first, last = first[keep], last[keep] + 1
                first = np.unique(first * (int(code.max(initial=0)) + 1) + code[last], return_inverse=True)[1].ravel()
            if not len(first):
                break
            numbers.append(first + base)
            owners.append(text[last])
            base += int(first.max()) + 1
        if not numbers:
            return np.zeros(len(self) + 1, dtype=np.int64), np.empty(0, dtype=np.int64)
        number, owner = np.concatenate(numbers), np.concatenate(owners)
        order = np.lexsort((number, owner))
        count = np.bincount(owner, minlength=len(self))
        return starts(count), number[order].astype(np.int64)


def edit_counts(runs: Runs, i: I8, j: I8) -> I8:
    """Number of words to change, insert or delete between texts i and j."""
    from .kernels import edits

    out = np.empty(len(i), dtype=np.int64)
    edits(runs.offsets, runs.word, np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64), out)
    return out


def edit_distance(runs: Runs, i: I8, j: I8) -> F8:
    """Edit count relative to the longer text, 0 to 1; 0 for two empty texts."""
    longer = np.maximum(runs.size[i], runs.size[j])
    return np.asarray(np.divide(edit_counts(runs, i, j), longer, out=np.zeros(len(i)), where=longer > 0))


def gleu(runs: Runs, i: I8, j: I8) -> F8:
    """Number of common n-grams of one to four words, relative to the text with more; 1 for two empty texts.

    Wu et al. (2016), arXiv:1609.08144.
    """
    from .kernels import common

    offsets, gram = runs.grams
    shared = np.empty(len(i), dtype=np.int64)
    common(offsets, gram, np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64), shared)
    larger = np.maximum(np.diff(offsets)[i], np.diff(offsets)[j])
    return np.asarray(np.divide(shared, larger, out=np.ones(len(i)), where=larger > 0))


# ----------------------------------------------------------------
# Aggregation: medoids, worker weights, and a vote word by word.

# Weight of the crowd's mean distance in a worker's, in answers.
PSEUDO = 2.0


def pairs_within(offsets: I8) -> tuple[I8, I8]:
    """All ordered pairs of different rows of the same task."""
    count = np.diff(offsets)
    task = np.repeat(np.arange(len(count)), count)
    many = count[task]
    i, j = spread(offsets[:-1][task], many)
    keep = i != j
    return i[keep], j[keep]


def medoid_rows(offsets: I8, off: F8, weight: F8, text: I8) -> I8:
    """Row of each task that is closest to the others (-1 without rows); ties go to higher weight, then lower text."""
    n_tasks = len(offsets) - 1
    task = np.repeat(np.arange(n_tasks), np.diff(offsets))
    order = np.lexsort((text, -np.round(weight, 12), np.round(off, 12), task))
    out = np.full(n_tasks, -1, dtype=np.int64)
    has = np.diff(offsets) > 0
    out[has] = order[offsets[:-1][has]]
    return out


def weights_of(error: F8, power: float) -> F8:
    """Weights that decrease with the error: a power of its inverse, with mean one."""
    floor = 0.05 * float(np.median(error)) if len(error) else 0.0
    raw = 1.0 / np.maximum(error, max(floor, 1e-6)) ** power
    return np.asarray(raw / raw.mean()) if len(raw) else raw


def voted_words(offsets: I8, order: I8, runs: Runs, weight: F8, plain: bool = False) -> tuple[I8, I8, I8, F8]:
    """Vote on words: task offsets, and row, position in its text and share of the votes of each chosen word.

    `runs` are by row. With `plain`, an alignment costs 0 or 1 per slot, as in the paper, and ties go to the larger word
    code.
    """
    from .kernels import rover

    n = int(runs.offsets[-1])
    row, place, share = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n)
    out = np.zeros(len(offsets), dtype=np.int64)
    used = rover(offsets, order, runs.offsets, runs.word, weight, plain, row, place, share, out)
    # Tasks without words start where the next one does.
    return np.maximum.accumulate(out), row[:used], place[:used], share[:used]
