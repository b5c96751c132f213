"""What would workers say who work alone? The one null behind `colluding` and `copying`.

The crowd is fitted with levels of difficulty and common mistakes (`maths/levels`). A label is then predicted from what
everybody *else* said of the task, and from the worker's own skill and habits: on a hard task two independent workers
are often wrong together, and where one answer tempts, wrong in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..annotations import Annotations
from ..maths import levels
from .pairs import label_pairs

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Pairs of labels looked at (of evenly spaced tasks), numbers worked out and numbers held at a time, at most.
PAIRS, MOST, PART = 2_000_000, 100_000_000, 2_000_000


@dataclass(frozen=True)
class Alone:
    """Annotations with one label a task and worker, and the fit to them."""

    votes: Annotations
    fit: levels.Levels

    def meetings(self) -> tuple[I8, I8]:
        """Rows of every two labels of one task."""
        return label_pairs(self.votes, min(PAIRS, MOST // int(np.prod(self.fit.score.shape[1:]))))

    def chance(self, first: I8, second: I8) -> F8:
        """Two rows of one task have the same label: the probability that one would, given the other and the labels of
        all others, for workers who work alone; the harmonic mean of both directions."""
        out = np.empty(len(first))
        step = max(1, PART // int(np.prod(self.fit.score.shape[1:])))
        for start in range(0, len(first), step):
            part = slice(start, start + step)
            out[part] = self._chance(first[part], second[part])
        return out

    def _chance(self, first: I8, second: I8) -> F8:
        votes, fit = self.votes, self.fit
        label, a, b = votes.label[first], votes.worker[first], votes.worker[second]
        belief, said = self._without_both(first, second)
        one, other = fit.says(a, label, said), fit.says(b, label, said)
        both = (belief * one * fit.says(b, label, _more(said, label))).sum(axis=(1, 2))
        return np.asarray(2 * both / (belief * (one + other)).sum(axis=(1, 2)))

    def _without_both(self, first: I8, second: I8) -> tuple[F8, F8]:
        """belief[i, class, level] of the task of two rows and what is said[i, label] of it, without these two."""
        votes, fit = self.votes, self.fit
        task, said = votes.task[first], fit.said[votes.task[first]]
        score = fit.score[task]
        for rows in (first, second):
            worker, label = votes.worker[rows], votes.label[rows]
            said[np.arange(len(rows)), label] -= fit.voice[worker]
            score = score - fit.row(worker, label)
        return _normal(score), np.maximum(said, 0.0)

    def matches(self, first: I8, second: I8) -> F8:
        """The probability that two rows of one task have one label, whatever it is, from the labels of all others."""
        votes, fit = self.votes, self.fit
        a, b = votes.worker[first], votes.worker[second]
        belief, said = self._without_both(first, second)
        out = np.zeros(len(first))
        for label in range(votes.n_classes):
            same = np.full(len(first), label)
            p = fit.says(a, same, said) * fit.says(b, same, _more(said, same))
            out += (belief * p).sum(axis=(1, 2))
        return np.minimum(out, 1.0)

    def in_turn(self, members: Sequence[int], last: int | None = None) -> tuple[F8, F8]:
        """The labels of a group one by one, on tasks where it met: the share of the labels before, on that task, that
        are the same, and the chance of the label for who works alone, knowing everybody's but those to come.

        With `last`, their labels only, when all others of the group have spoken.
        """
        votes, fit = self.votes, self.fit
        rows = np.flatnonzero(np.isin(votes.worker, members))
        if last is not None:
            rows = rows[np.lexsort((votes.worker[rows] == last, votes.task[rows]))]
        tasks, place, size = np.unique(votes.task[rows], return_inverse=True, return_counts=True)
        turn = np.arange(len(rows)) - (np.cumsum(size) - size)[place]
        score = fit.score[tasks] - _sum(fit.row(votes.worker[rows], votes.label[rows]), place, len(tasks))
        said = fit.said[tasks].copy()
        np.add.at(said, (place, votes.label[rows]), -fit.voice[votes.worker[rows]])
        said = np.maximum(said, 0.0)
        heard = np.zeros_like(said)
        same, chance, kept = np.zeros(len(rows)), np.ones(len(rows)), np.zeros(len(rows), dtype=bool)
        for now in range(int(turn.max(initial=-1)) + 1):
            at = np.flatnonzero(turn == now)
            i, w, label = place[at], votes.worker[rows[at]], votes.label[rows[at]]
            p = fit.says(w, label, said[i])
            if now:
                same[at] = heard[i, label] / now
                chance[at] = (_normal(score[i]) * p).sum(axis=(1, 2))
                kept[at] = True if last is None else w == last
            score[i] += np.log(np.maximum(p, 1e-300))
            said[i, label] += 1
            heard[i, label] += 1
        return same[kept], chance[kept]


def alone(votes: Annotations, gold: F8, voice: F8) -> Alone:
    """Fit to the annotations, from the votes on: gold[task, class] is zero where the class is not known."""
    pair = votes.task.astype(np.int64) * max(votes.n_workers, 1) + votes.worker
    votes = votes.take(np.r_[True, pair[1:] != pair[:-1]]) if len(pair) else votes  # of repeats, the first
    task, worker, label = (x.astype(np.int64) for x in (votes.task, votes.worker, votes.label))
    n, k = shape = votes.n_tasks, votes.n_classes
    said = np.bincount(task * k + label, weights=voice[worker], minlength=n * k).reshape(shape) + 0.5 / k
    known = np.asarray(gold.any(axis=1), dtype=bool)
    start = np.where(known[:, None], gold, said / said.sum(axis=1, keepdims=True))
    return Alone(votes, levels.fit(task, worker, label, (n, votes.n_workers, k), start, known, voice))


def _more(said: F8, label: levels.Codes) -> F8:
    out = said.copy()
    out[np.arange(len(said)), label] += 1
    return out


def _normal(score: F8) -> F8:
    out = np.exp(score - score.max(axis=(1, 2), keepdims=True))
    return np.asarray(out / out.sum(axis=(1, 2), keepdims=True))


def _sum(rows: F8, place: I8, n: int) -> F8:
    out = np.zeros((n, *rows.shape[1:]))
    np.add.at(out, place, rows)
    return out
