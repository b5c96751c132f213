"""Null model of independent workers, used by the flags `colluding` and `copying`.

The crowd is fitted with levels of difficulty and common mistakes (`maths/levels`). A label is then predicted from the
labels of the *other* workers on the task, and from the skill and habits of the worker: on hard tasks two independent
workers are often wrong together, and where mistakes are common, wrong in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....core.arrays import F8, I8
from ..annotations import Annotations
from ..maths import levels
from .pairs import label_pairs

# Limits: pairs of labels (of evenly spaced tasks), numbers computed, and numbers held in memory at a time.
PAIRS, MOST, PART = 2_000_000, 100_000_000, 2_000_000


@dataclass(frozen=True)
class IndependenceNull:
    """Annotations with one label per task and worker, and the model fitted to them."""

    votes: Annotations
    fit: levels.Levels

    def label_pairs(self) -> tuple[I8, I8]:
        """Return the rows of all pairs of labels on the same task."""
        return label_pairs(self.votes, min(PAIRS, MOST // int(np.prod(self.fit.score.shape[1:]))))

    def chance(self, first: I8, second: I8) -> F8:
        """Return the probability of an equal label for pairs of rows with the same task and label, under independence.

        It is the harmonic mean of the probabilities of either label given the other and the labels of all others.
        """
        out = np.empty(len(first))
        step = max(1, PART // int(np.prod(self.fit.score.shape[1:])))
        for start in range(0, len(first), step):
            part = slice(start, start + step)
            out[part] = self._chance(first[part], second[part])
        return out

    def _chance(self, first: I8, second: I8) -> F8:
        votes, fit = self.votes, self.fit
        label, a, b = votes.label[first], votes.worker[first], votes.worker[second]
        belief, votes_of_others = self._without_both(first, second)
        p_first, p_second = (
            fit.label_probability(a, label, votes_of_others),
            fit.label_probability(b, label, votes_of_others),
        )
        p_both = (belief * p_first * fit.label_probability(b, label, _more(votes_of_others, label))).sum(axis=(1, 2))
        return np.asarray(2 * p_both / (belief * (p_first + p_second)).sum(axis=(1, 2)))

    def _without_both(self, first: I8, second: I8) -> tuple[F8, F8]:
        """Return belief[i, class, level] and the votes[i, label] of the task of two rows, without these two."""
        votes, fit = self.votes, self.fit
        task, label_votes = votes.task[first], fit.votes[votes.task[first]]
        score = fit.score[task]
        for rows in (first, second):
            worker, label = votes.worker[rows], votes.label[rows]
            label_votes[np.arange(len(rows)), label] -= fit.vote_weight[worker]
            score = score - fit.row(worker, label)
        return _normal(score), np.maximum(label_votes, 0.0)

    def match_probability(self, first: I8, second: I8) -> F8:
        """Return the probability that two rows of one task have the same label, given the labels of all others."""
        votes, fit = self.votes, self.fit
        a, b = votes.worker[first], votes.worker[second]
        belief, label_votes = self._without_both(first, second)
        out = np.zeros(len(first))
        for label in range(votes.n_classes):
            same = np.full(len(first), label)
            p = fit.label_probability(a, same, label_votes) * fit.label_probability(b, same, _more(label_votes, same))
            out += (belief * p).sum(axis=(1, 2))
        return np.minimum(out, 1.0)

    def sequential(self, members: Sequence[int], last: int | None = None) -> tuple[F8, F8]:
        """Go through the labels of a group one by one, on tasks with several of its members.

        Args:
            members: The group.
            last: A member that comes last on every task; then only this member's labels are returned.

        Returns:
            For each label, the share of the group's earlier labels on the task that are the same, and the probability
            of the label under independence given these and the labels of all workers outside the group.
        """
        votes, fit = self.votes, self.fit
        rows = np.flatnonzero(np.isin(votes.worker, members))
        if last is not None:
            rows = rows[np.lexsort((votes.worker[rows] == last, votes.task[rows]))]
        tasks, task_index, size = np.unique(votes.task[rows], return_inverse=True, return_counts=True)
        turn = np.arange(len(rows)) - (np.cumsum(size) - size)[task_index]
        score = fit.score[tasks] - _sum(fit.row(votes.worker[rows], votes.label[rows]), task_index, len(tasks))
        label_votes = fit.votes[tasks].copy()
        np.add.at(label_votes, (task_index, votes.label[rows]), -fit.vote_weight[votes.worker[rows]])
        label_votes = np.maximum(label_votes, 0.0)
        previous_votes = np.zeros_like(label_votes)
        same, chance, is_used = np.zeros(len(rows)), np.ones(len(rows)), np.zeros(len(rows), dtype=bool)
        for turn_ in range(int(turn.max(initial=-1)) + 1):
            current = np.flatnonzero(turn == turn_)
            i, w, label = task_index[current], votes.worker[rows[current]], votes.label[rows[current]]
            p = fit.label_probability(w, label, label_votes[i])
            if turn_:
                same[current] = previous_votes[i, label] / turn_
                chance[current] = (_normal(score[i]) * p).sum(axis=(1, 2))
                is_used[current] = True if last is None else w == last
            score[i] += np.log(np.maximum(p, 1e-300))
            label_votes[i, label] += 1
            previous_votes[i, label] += 1
        return same[is_used], chance[is_used]


def fit_independence_null(votes: Annotations, gold: F8, vote_weight: F8) -> IndependenceNull:
    """Fit the null model to the annotations; gold[task, class] is zero for tasks without gold."""
    pair = votes.task.astype(np.int64) * max(votes.n_workers, 1) + votes.worker
    votes = votes.take(np.r_[True, pair[1:] != pair[:-1]]) if len(pair) else votes  # keep the first of repeats
    task, worker, label = (x.astype(np.int64) for x in (votes.task, votes.worker, votes.label))
    n, k = shape = votes.n_tasks, votes.n_classes
    label_votes = np.bincount(task * k + label, weights=vote_weight[worker], minlength=n * k).reshape(shape) + 0.5 / k
    has_gold = np.asarray(gold.any(axis=1), dtype=bool)
    start = np.where(has_gold[:, None], gold, label_votes / label_votes.sum(axis=1, keepdims=True))
    return IndependenceNull(
        votes, levels.fit(task, worker, label, (n, votes.n_workers, k), start, has_gold, vote_weight)
    )


def _more(label_votes: F8, label: levels.Codes) -> F8:
    out = label_votes.copy()
    out[np.arange(len(label_votes)), label] += 1
    return out


def _normal(score: F8) -> F8:
    out = np.exp(score - score.max(axis=(1, 2), keepdims=True))
    return np.asarray(out / out.sum(axis=(1, 2), keepdims=True))


def _sum(rows: F8, index: I8, n: int) -> F8:
    out = np.zeros((n, *rows.shape[1:]))
    np.add.at(out, index, rows)
    return out
