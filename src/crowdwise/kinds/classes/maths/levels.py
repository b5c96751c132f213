"""Model of independent workers on tasks of unequal difficulty: classes, levels of difficulty, common mistakes.

    task     class k and level d ~ Cat(share[k, d])
    right    P(worker w labels k) = expit(slope[d] · (ability[w] + lean[w, k]) + ease[d])
    wrong    otherwise another class: by the worker's habits[w, k], or from an urn of the task that starts with
             strength · common[k] and gains a ball for each wrong label, so that common mistakes attract more of them

With ease zero this is GLAD (Whitehill et al. 2009), with slope one it is the Rasch model; slopes and eases of the
levels are learned from the crowd. The model is fitted by EM, with Newton steps under weak priors for abilities,
leanings and levels.
The class is the one that workers tend to give, true or not: a task that misleads all workers is an easy one of another
class. The posterior of a task uses the habits only. The urn is used to predict a label, by the larger of the two
probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ....core.arrays import F8, I8, Mask
from ....stats.dirichlet import log_rows

Codes = npt.NDArray[np.integer[Any]]

# Initial ease of the levels, in logits, and rounds of EM.
EASE = np.array([2.0, 0.5, -0.5, -1.5])
ROUNDS = 20
# Strengths of the urn (initial number of balls) that are tried.
STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
# Variances of abilities around their mean and of leanings around zero; precision of slopes around one and of ease.
ABILITY, LEAN, SLOPE_PRECISION, EASE_PRECISION = 2.0, 0.5, 4.0, 0.5
# A class is a candidate if it has at least this share of the leading class's votes.
NEAR = 1 / 3
# Bound of the probabilities of a right label, from 0 and from 1.
EDGE = 1e-4


@dataclass(frozen=True)
class Levels:
    """The fitted model.

    Attributes:
        score: score[task, class, level], the joint log-likelihood.
        right: right[worker, class, level], the probability of the right label.
        habits: habits[worker, class, label], the worker's distribution of wrong labels.
        common: common[class, label], the crowd's distribution of wrong labels.
        strength: Strength of the urn.
        votes: votes[task, label], weighted.
        vote_weight: vote_weight[worker].
    """

    score: F8
    right: F8
    habits: F8
    common: F8
    strength: float
    votes: F8
    vote_weight: F8

    @property
    def posterior(self) -> F8:
        """posterior[task, class, level]."""
        return _normal(self.score)

    def row(self, worker: Codes, label: Codes) -> F8:
        """Return row[i, class, level], the contribution of a label to the score of its task."""
        out = np.log1p(-self.right[worker]) + np.log(self.habits[worker, :, label])[:, :, None]
        at = np.arange(len(label)), label
        out[at] = np.log(self.right[worker, label])
        return np.asarray(out * self.vote_weight[worker][:, None, None])

    def label_probability(self, worker: Codes, label: Codes, votes: F8) -> F8:
        """Return the probability [i, class, level] of a label given the votes[i, label] of others on the same task.

        A wrong label gets the higher of its probabilities by the urn and by the worker's habits.
        """
        i = np.arange(len(label))
        count = votes[i, label][:, None] + self.strength * self.common[:, label].T
        urn = count / (self.strength + votes.sum(axis=1)[:, None] - votes)
        wrong = np.maximum(urn, self.habits[worker, :, label]) if votes.shape[1] > 2 else np.ones_like(urn)
        out = (1 - self.right[worker]) * wrong[:, :, None]
        out[i, label] = self.right[worker, label]
        return np.asarray(out)


class _Crowd:
    """The votes as sparse tables: task × worker, task · label × worker · label, task × worker · label."""

    def __init__(self, task: I8, worker: I8, label: I8, shape: tuple[int, int, int], vote_weight: F8) -> None:
        from scipy.sparse import csr_array

        n, m, k = self.shape = shape
        self.labels: Any  # sparse products of dense tables are dense, which their types do not know
        self.hits: Any
        self.cells: Any
        row_weight, self.vote_weight = vote_weight[worker], vote_weight
        self.labels = csr_array((row_weight, (task, worker)), shape=(n, m))
        self.hits = csr_array((row_weight, (task * k + label, worker * k + label)), shape=(n * k, m * k))
        self.cells = csr_array((row_weight, (task, worker * k + label)), shape=(n, m * k))
        self.votes = np.bincount(task * k + label, weights=row_weight, minlength=n * k).reshape(n, k).astype(np.float64)

    def likelihood(self, right: F8, habits: F8) -> F8:
        """Sum of the log-probabilities of a task's labels [task, class, level]."""
        n, m, k = self.shape
        wrong = np.log1p(-right)
        out = (self.labels @ wrong.reshape(m, -1)).reshape(n, k, -1)
        out += (self.hits @ (np.log(right) - wrong).reshape(m * k, -1)).reshape(n, k, -1)
        if k > 2:  # of two classes only one is wrong
            out += (self.cells @ np.log(habits).transpose(0, 2, 1).reshape(m * k, k))[:, :, None]
        return np.asarray(out)

    def counts(self, posterior: F8) -> tuple[F8, F8]:
        """Numbers of labels and of right labels [worker, class, level], not multiplied by vote_weight."""
        n, m, k = self.shape
        full = 1 / self.vote_weight[:, None, None]
        labels = (self.labels.T @ posterior.reshape(n, -1)).reshape(m, k, -1) * full
        return labels, (self.hits.T @ posterior.reshape(n * k, -1)).reshape(m, k, -1) * full

    def wrong(self, classes: F8) -> F8:
        """Numbers of wrong labels [worker, class, label], given classes[task, class]."""
        _, m, k = self.shape
        out = (self.cells.T @ classes).reshape(m, k, k).transpose(0, 2, 1) / self.vote_weight[:, None, None]
        out[:, np.arange(k), np.arange(k)] = 0.0
        return np.asarray(out)


@dataclass
class _Curves:
    """Current ability[worker], lean[worker, class], slope[level] and ease[level] during the fit."""

    ability: F8
    lean: F8
    slope: F8
    ease: F8

    def right(self) -> F8:
        from scipy.special import expit

        x = self.ability[:, None] + self.lean
        return np.clip(np.asarray(expit(x[:, :, None] * self.slope + self.ease)), EDGE, 1 - EDGE)

    def climb(self, labels: F8, hits: F8, vote_weight: F8) -> None:
        """Take one Newton step for each parameter, given labels and hits [worker, class, level]."""
        residual, weight = self._slopes(labels, hits)
        down = (self.ability - self.ability.mean()) / ABILITY
        step = ((self.slope * residual).sum(axis=(1, 2)) - down) / (
            (self.slope**2 * weight).sum(axis=(1, 2)) + 1 / ABILITY
        )
        self.ability = np.clip(self.ability + np.clip(step, -1, 1), -8, 8)
        residual, weight = self._slopes(labels, hits)
        step = ((self.slope * residual).sum(axis=2) - self.lean / LEAN) / (
            (self.slope**2 * weight).sum(axis=2) + 1 / LEAN
        )
        self.lean = np.clip(self.lean + np.clip(step, -1, 1), -6, 6)
        residual, weight = (part * vote_weight[:, None, None] for part in self._slopes(labels, hits))
        x = (self.ability[:, None] + self.lean)[:, :, None]
        up = np.stack([(x * residual).sum(axis=(0, 1)) - (self.slope - 1) * SLOPE_PRECISION,
                       residual.sum(axis=(0, 1)) - (self.ease - EASE) * EASE_PRECISION])  # fmt: skip
        aa = (x**2 * weight).sum(axis=(0, 1)) + SLOPE_PRECISION
        ab, bb = (x * weight).sum(axis=(0, 1)), weight.sum(axis=(0, 1)) + EASE_PRECISION
        det = aa * bb - ab**2
        self.slope = np.maximum(self.slope + np.clip((bb * up[0] - ab * up[1]) / det, -0.7, 0.7), 0.0)
        self.ease = self.ease + np.clip((aa * up[1] - ab * up[0]) / det, -0.7, 0.7)

    def _slopes(self, labels: F8, hits: F8) -> tuple[F8, F8]:
        p = self.right()
        return hits - labels * p, labels * p * (1 - p)


def fit(
    task: I8, worker: I8, label: I8, shape: tuple[int, int, int], start: F8, has_gold: Mask, vote_weight: F8
) -> Levels:
    """Fit the model to codes, with at most one label per worker and task.

    Args:
        task: Task code of each label.
        worker: Worker code of each label.
        label: Class code of each label.
        shape: Numbers of tasks, workers and classes.
        start: start[task, class], the initial posterior; it is held fixed where `has_gold`.
        has_gold: has_gold[task].
        vote_weight: vote_weight[worker], the weight of the worker's labels.
    """
    crowd = _Crowd(task, worker, label, shape, vote_weight)
    gold_score = np.where(has_gold[:, None], np.log(np.maximum(start, 1e-300)), 0.0)[:, :, None]
    # Only classes with votes are learned from. Otherwise a class without votes could represent a common mistake.
    most = crowd.votes.max(axis=1, keepdims=True, initial=0.0)
    excluded = np.where((crowd.votes >= NEAR * most) | has_gold[:, None], 0.0, -np.inf)[:, :, None]
    posterior = np.repeat(start[:, :, None], len(EASE), axis=2) / len(EASE)
    labels, hits = (part.sum(axis=(1, 2)) for part in crowd.counts(posterior))
    share = (hits + 2) / (labels + 3)
    curves = _Curves(np.log(share / (1 - share)), np.zeros(shape[1:]), np.ones(len(EASE)), EASE.copy())
    mass = np.repeat(start.mean(axis=0)[:, None] + 1e-3, len(EASE), axis=1)
    for _ in range(ROUNDS):
        classes = posterior.sum(axis=2)
        common, habits = _mistakes(crowd, classes)
        right = curves.right()
        score = crowd.likelihood(right, habits) + np.log(mass / mass.sum()) + gold_score
        posterior = _normal(score + excluded)
        mass = posterior.sum(axis=0) + 1 / len(EASE)
        counts = crowd.counts(posterior)
        for _ in range(2):
            curves.climb(*counts, vote_weight)
    return Levels(score, right, habits, common, _strength(crowd.votes, common, classes), crowd.votes, vote_weight)


def _normal(score: F8) -> F8:
    out = np.exp(score - score.max(axis=(1, 2), keepdims=True))
    return np.asarray(out / out.sum(axis=(1, 2), keepdims=True))


def _mistakes(crowd: _Crowd, classes: F8) -> tuple[F8, F8]:
    """Return common[class, label] of the crowd and habits[worker, class, label] given a wrong label; one where right.

    A worker's habits in a class are shrunk to the worker's mistakes in all classes by K pseudo-labels, and these to
    the crowd's mistakes by K more.
    """
    k = crowd.shape[2]
    same = np.arange(k)
    table = classes.T @ crowd.votes + 0.5 / k
    table[same, same] = 0.0
    table += 0.02 * table.sum(axis=1, keepdims=True) / k  # every mistake is possible
    common = _without_right(table)
    wrong = crowd.wrong(classes)
    pooled = wrong.sum(axis=1) + common.sum(axis=0) - 1
    habit = _without_right(np.repeat(pooled[:, None, :], k, axis=1))
    habit[:, same, same] = 0.0
    return common, _without_right(wrong + k * habit)


def _without_right(table: F8) -> F8:
    """Normalise rows to sum to one without the right label, and set the cell of the right label to one."""
    same = np.arange(table.shape[-1])
    table[..., same, same] = 0.0
    table = table / np.maximum(table.sum(axis=-1, keepdims=True), 1e-300)
    table[..., same, same] = 1.0
    return table


def _log_urn(votes: F8, common: F8, strength: float) -> F8:
    """Log-probability [task, class] that the wrong labels among votes[task, label] are drawn from the task's urn."""
    n, k = votes.shape
    out: Any = np.zeros((n, k))
    for true in range(k if k > 2 else 0):  # of two classes only one is wrong
        balls = np.delete(common[true], true) * strength
        drawn = np.delete(votes, true, axis=1)
        out[:, true] = log_rows(drawn, balls, axis=1)
    return np.asarray(out)


def _strength(votes: F8, common: F8, classes: F8) -> float:
    """Return the strength with the highest likelihood of the wrong labels."""
    return max(STRENGTHS, key=lambda strength: float((classes * _log_urn(votes, common, strength)).sum()))
