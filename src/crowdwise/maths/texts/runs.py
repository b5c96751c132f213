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
    from ..kernels.texts_compiled import edits

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
    from ..kernels.texts_compiled import common

    offsets, gram = runs.grams
    both = np.empty(len(i), dtype=np.int64)
    common(offsets, gram, np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64), both)
    more = np.maximum(np.diff(offsets)[i], np.diff(offsets)[j])
    return np.asarray(np.divide(both, more, out=np.ones(len(i)), where=more > 0))
