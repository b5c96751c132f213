"""Texts as runs of numbers (of words or of characters), and the distances between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

I8 = npt.NDArray[np.int64]
F8 = npt.NDArray[np.float64]
GRAMS = 4


@dataclass(frozen=True, eq=False)
class Runs:
    """The words of text t are offsets[t] .. offsets[t + 1] of word, as numbers."""

    offsets: I8
    word: I8

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def size(self) -> I8:
        """How many words each text has."""
        return np.diff(self.offsets)

    @cached_property
    def grams(self) -> tuple[I8, I8]:
        """(offsets, numbers): the n-grams of one to four words of every text, sorted, repeated ones repeated."""
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
        return np.concatenate([[0], np.cumsum(count)]).astype(np.int64), number[order].astype(np.int64)


def edit_counts(runs: Runs, i: I8, j: I8) -> I8:
    """Words to change, insert or delete between texts i and j."""
    from .kernels import edits

    out = np.empty(len(i), dtype=np.int64)
    edits(runs.offsets, runs.word, np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64), out)
    return out


def edit_distance(runs: Runs, i: I8, j: I8) -> F8:
    """The same over the words of the longer text: 0 to 1; 0 for two empty ones."""
    longer = np.maximum(runs.size[i], runs.size[j])
    return np.asarray(np.divide(edit_counts(runs, i, j), longer, out=np.zeros(len(i)), where=longer > 0))


def gleu(runs: Runs, i: I8, j: I8) -> F8:
    """Common n-grams of one to four words over those of the text that has more; 1 for two empty texts.

    Wu et al. (2016), arXiv:1609.08144.
    """
    from .kernels import common

    offsets, gram = runs.grams
    both = np.empty(len(i), dtype=np.int64)
    common(offsets, gram, np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64), both)
    more = np.maximum(np.diff(offsets)[i], np.diff(offsets)[j])
    return np.asarray(np.divide(both, more, out=np.ones(len(i)), where=more > 0))


# ----------------------------------------------------------------
# What a crowd of texts says together: the text in the middle, workers' weights, and a vote word by word.

# Answers' worth of the crowd's own distance that stand beside each worker's.
PSEUDO = 2.0


def pairs_within(offsets: I8) -> tuple[I8, I8]:
    """Every ordered pair of different rows of one task."""
    count = np.diff(offsets)
    task = np.repeat(np.arange(len(count)), count)
    many = count[task]
    i = np.repeat(np.arange(len(task)), many)
    begin = np.concatenate([[0], np.cumsum(many)])[:-1]
    j = np.arange(int(many.sum())) - np.repeat(begin - offsets[:-1][task], many)
    keep = i != j
    return i[keep], j[keep]


def middle(offsets: I8, off: F8, weight: F8, text: I8) -> I8:
    """The row of each task that is nearest to the others (-1: no rows); ties go to weight, then to the text."""
    n_tasks = len(offsets) - 1
    task = np.repeat(np.arange(n_tasks), np.diff(offsets))
    order = np.lexsort((text, -np.round(weight, 12), np.round(off, 12), task))
    out = np.full(n_tasks, -1, dtype=np.int64)
    has = np.diff(offsets) > 0
    out[has] = order[offsets[:-1][has]]
    return out


def weights_of(error: F8, power: float) -> F8:
    """Weights that fall with the error: its inverse to a power, the crowd's mean one."""
    floor = 0.05 * float(np.median(error)) if len(error) else 0.0
    raw = 1.0 / np.maximum(error, max(floor, 1e-6)) ** power
    return np.asarray(raw / raw.mean()) if len(raw) else raw


def voted_words(offsets: I8, order: I8, runs: Runs, weight: F8, plain: bool = False) -> tuple[I8, I8, I8, F8]:
    """(offsets of tasks, row, place in its text, share of the vote) of every word that the vote keeps; runs by row.

    With `plain` an alignment costs 0 or 1 a place, as in the paper, and ties go to the word with the greater number.
    """
    from .kernels import rover

    n = int(runs.offsets[-1])
    row, place, share = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n)
    out = np.zeros(len(offsets), dtype=np.int64)
    used = rover(offsets, order, runs.offsets, runs.word, weight, plain, row, place, share, out)
    # Tasks without words begin where the next one does.
    return np.maximum.accumulate(out), row[:used], place[:used], share[:used]
