"""The two ways to a text: one of the answers, or a vote word by word."""

from __future__ import annotations

import itertools

import numpy as np

from ...kinds.texts.words import put_together, written
from ...maths.texts.crowd import voted_words
from ...maths.texts.runs import F8, Runs
from .base import Said
from .work import Work


def picked(work: Work, weight: F8) -> Said:
    """The answer nearest to the others; sure as it is close to them."""
    row, off = work.nearest(weight)
    texts, has = work.votes.answers.texts.to_list(), row >= 0
    outputs = [texts[work.text[r]] if r >= 0 else "" for r in row.tolist()]
    sure = np.zeros(len(row))
    sure[has] = 1 - np.clip(off[row[has]], 0.0, 1.0)
    return Said(outputs, sure)


def by_words(work: Work, weight: F8) -> Said:
    """ROVER: answers aligned one after the other, the one nearest to the others first, and a vote on every place."""
    votes = work.votes
    _, off = work.nearest(weight)
    own = weight[votes.worker]
    order = np.lexsort((work.text, -np.round(own, 12), np.round(off, 12), votes.task))
    all_runs = votes.answers.word_runs
    count = all_runs.size[work.text]
    offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    first = np.repeat(all_runs.offsets[:-1][work.text] - offsets[:-1], count)
    runs = Runs(offsets, all_runs.word[first + np.arange(int(offsets[-1]))])
    at, row, place, share = voted_words(votes.task_offsets, order, runs, work.row_weight * np.maximum(own, 1e-9))
    texts = votes.answers.texts.to_list()
    parts: dict[int, list[str]] = {}
    words = []
    for code, k in zip(work.text[row].tolist(), place.tolist(), strict=True):
        if code not in parts:
            parts[code] = written(texts[code])
        words.append(parts[code][k])
    ends = at.tolist()
    outputs = [put_together(words[a:b]) for a, b in itertools.pairwise(ends)]
    n = np.diff(at)
    task = np.repeat(np.arange(len(n)), n)
    total = np.bincount(task, weights=share, minlength=len(n))
    sure = np.divide(total, n, out=np.where(votes.labels_per_task > 0, 1.0, 0.0), where=n > 0)
    return Said(outputs, sure, n.astype(np.int64), share)
