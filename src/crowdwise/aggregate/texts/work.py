"""Votes of texts made ready for a method: distances within tasks, weights of workers, and what is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core.errors import DataError
from ...core.votes import Votes
from ...kinds.texts.answers import Texts
from ...kinds.texts.words import letter_runs
from ...maths.texts.crowd import PSEUDO, middle, pairs_within, weights_of
from ...maths.texts.runs import F8, I8, edit_distance, gleu

# What the user gives: how far two texts are apart.
Given = Callable[[str, str], float]
# Rounds in which workers are judged by others who weigh what they are worth.
ROUNDS = 5


@dataclass(frozen=True, eq=False)
class Work:
    """`known[task]` is the code of a known text among the answers' texts, or -1; `apart(i, j)` how far texts differ."""

    votes: Votes[Texts]
    known: I8
    apart: Callable[[I8, I8], F8]

    @property
    def text(self) -> I8:
        """The text of each row."""
        return self.votes.answers.text

    @cached_property
    def row_weight(self) -> F8:
        """Weights of the rows themselves."""
        return np.ones(len(self.votes)) if self.votes.weight is None else np.asarray(self.votes.weight)

    @cached_property
    def pairs(self) -> tuple[I8, I8, F8]:
        """Rows of one task, two by two, and how far they are apart."""
        i, j = pairs_within(self.votes.task_offsets)
        return i, j, self.apart(self.text[i], self.text[j])

    def off(self, weight: F8) -> F8:
        """How far each row is from the others of its task; from the truth where it is known."""
        i, j, apart = self.pairs
        n = len(self.votes)
        w = self.row_weight * weight[self.votes.worker]
        total = np.bincount(i, weights=w[j] * apart, minlength=n)
        size = np.bincount(i, weights=w[j], minlength=n)
        out = np.divide(total, size, out=np.zeros(n), where=size > 0)
        told = self.known[self.votes.task]
        at = np.flatnonzero(told >= 0)
        out[at] = self.apart(self.text[at], told[at])
        return np.asarray(out)

    def errors(self, off: F8) -> F8:
        """Each worker's mean distance, a little of the crowd's mixed in; rows that stand alone do not count."""
        use = (self.votes.labels_per_task[self.votes.task] > 1) | (self.known[self.votes.task] >= 0)
        m = self.votes.n_workers
        mean = float(off[use].mean()) if use.any() else 0.0
        total = np.bincount(self.votes.worker[use], weights=off[use], minlength=m) + PSEUDO * mean
        return np.asarray(total / (np.bincount(self.votes.worker[use], minlength=m) + PSEUDO))

    def weights(self, power: float) -> F8:
        """Weights of workers that fall with their distance from the others, each by their own weight, in rounds."""
        weight = np.ones(self.votes.n_workers)
        for _ in range(ROUNDS):
            weight = weights_of(self.errors(self.off(weight)), power)
        return weight

    def nearest(self, weight: F8) -> tuple[I8, F8]:
        """(row in the middle of each task or -1, distance of each row from the others)."""
        off = self.off(weight)
        return middle(self.votes.task_offsets, off, weight[self.votes.worker], self.text), off


def distance_of(answers: Texts, name: str, given: Given | None) -> Callable[[I8, I8], F8]:
    """words, characters, gleu, or a function of two texts."""
    if given is not None:
        return _given(answers, given)
    if name == "gleu":
        return lambda i, j: 1 - gleu(answers.mark_runs, i, j)
    if name == "characters":
        runs = letter_runs(answers.texts.to_list())
        return lambda i, j: edit_distance(runs, i, j)
    return lambda i, j: edit_distance(answers.word_runs, i, j)


def _given(answers: Texts, given: Given) -> Callable[[I8, I8], F8]:
    texts = answers.texts.to_list()

    def apart(i: I8, j: I8) -> F8:
        both = np.stack([np.minimum(i, j), np.maximum(i, j)], axis=1)
        pairs, back = np.unique(both, axis=0, return_inverse=True)
        out = np.array([float(given(texts[a], texts[b])) for a, b in pairs.tolist()])
        if not np.isfinite(out).all() or (out < 0).any():
            bad = int(np.flatnonzero(~np.isfinite(out) | (out < 0))[0])
            raise DataError(f"the distance given is {out[bad]} for two texts; it must be a number from 0 up")
        return np.asarray(out[back.ravel()]) if len(out) else np.zeros(len(i))

    return apart


def usual_distance(work: Work) -> float:
    """The median distance of two answers to one task; 0 where no task has two."""
    apart = work.pairs[2]
    return float(np.median(apart)) if len(apart) else 0.0
