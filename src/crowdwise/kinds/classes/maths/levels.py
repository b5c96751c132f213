"""What do independent workers say of tasks that are not all alike? Classes, levels of difficulty, common mistakes.

    task     class k and level d ~ Cat(share[k, d])
    right    P(worker w says k) = expit(slope[d] · (ability[w] + lean[w, k]) + ease[d])
    wrong    otherwise another class: by the worker's own habits, own[w, k]; or from an urn of the task that starts with
             strength · usual[k] and gains a ball of each wrong answer: what tempts one tempts the next

With ease zero this is GLAD (Whitehill et al. 2009), with slope one it is Rasch's model; which of the two, and how
hard the levels are, is learnt from the crowd. Fitted by EM; abilities, leanings and levels by Newton steps under weak
priors.
The class is the one that workers tend to, true or not: a task that misleads everybody is an easy one of another class.
Tasks are told apart by the habits alone; the urn is for predicting a label, where the likelier of the two counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ....stats.dirichlet import log_rows

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Codes = npt.NDArray[np.integer[Any]]

# How easy the levels are at the start, in logits, and rounds of EM.
EASE = np.array([2.0, 0.5, -0.5, -1.5])
ROUNDS = 20
# Strengths of the urn that are tried: balls at the start.
STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
# Variances of abilities around their mean and of leanings around zero; precision of slopes around one and of ease.
ABILITY, LEAN, SLOPE_PRECISION, EASE_PRECISION = 2.0, 0.5, 4.0, 0.5
# A class that has this share of the leader's votes may be meant.
NEAR = 1 / 3
# No worker is surer than this to be right, or to be wrong.
EDGE = 1e-4


@dataclass(frozen=True)
class Levels:
    """The fit. `score[task, class, level]` is the joint log-likelihood, `right[worker, class, level]` and
    `own[worker, class, label]` (their wrong answers) what workers say, `usual[class, label]` what they say wrongly,
    `strength` that of the urn; `said[task, label]` the votes and `voice[worker]` what each of theirs counted."""

    score: F8
    right: F8
    own: F8
    usual: F8
    strength: float
    said: F8
    voice: F8

    @property
    def posterior(self) -> F8:
        """posterior[task, class, level]."""
        return _normal(self.score)

    def row(self, worker: Codes, label: Codes) -> F8:
        """row[i, class, level]: what a label adds to the score of its task."""
        out = np.log1p(-self.right[worker]) + np.log(self.own[worker, :, label])[:, :, None]
        at = np.arange(len(label)), label
        out[at] = np.log(self.right[worker, label])
        return np.asarray(out * self.voice[worker][:, None, None])

    def says(self, worker: Codes, label: Codes, said: F8) -> F8:
        """says[i, class, level]: the probability of a label, given said[i, label] by others of the same task.

        A wrong answer gets the higher of what the task's others and the worker's own habits make of it.
        """
        i = np.arange(len(label))
        there = said[i, label][:, None] + self.strength * self.usual[:, label].T
        urn = there / (self.strength + said.sum(axis=1)[:, None] - said)
        wrong = np.maximum(urn, self.own[worker, :, label]) if said.shape[1] > 2 else np.ones_like(urn)
        out = (1 - self.right[worker]) * wrong[:, :, None]
        out[i, label] = self.right[worker, label]
        return np.asarray(out)


class _Crowd:
    """The annotations as sparse tables: task × worker, task · label × worker · label, task × worker · label."""

    def __init__(self, task: I8, worker: I8, label: I8, shape: tuple[int, int, int], voice: F8) -> None:
        from scipy.sparse import csr_array

        n, m, k = self.shape = shape
        self.labels: Any  # sparse products of dense tables are dense, which their types do not know
        self.hits: Any
        self.cells: Any
        each, self.voice = voice[worker], voice
        self.labels = csr_array((each, (task, worker)), shape=(n, m))
        self.hits = csr_array((each, (task * k + label, worker * k + label)), shape=(n * k, m * k))
        self.cells = csr_array((each, (task, worker * k + label)), shape=(n, m * k))
        self.said = np.bincount(task * k + label, weights=each, minlength=n * k).reshape(n, k).astype(np.float64)

    def likelihood(self, right: F8, own: F8) -> F8:
        """Sum over a task's labels of their log-probabilities [task, class, level]."""
        n, m, k = self.shape
        wrong = np.log1p(-right)
        out = (self.labels @ wrong.reshape(m, -1)).reshape(n, k, -1)
        out += (self.hits @ (np.log(right) - wrong).reshape(m * k, -1)).reshape(n, k, -1)
        if k > 2:  # of two classes only one is wrong
            out += (self.cells @ np.log(own).transpose(0, 2, 1).reshape(m * k, k))[:, :, None]
        return np.asarray(out)

    def counts(self, posterior: F8) -> tuple[F8, F8]:
        """Labels and right ones, [worker, class, level], each worker's in full whatever their voice."""
        n, m, k = self.shape
        full = 1 / self.voice[:, None, None]
        labels = (self.labels.T @ posterior.reshape(n, -1)).reshape(m, k, -1) * full
        return labels, (self.hits.T @ posterior.reshape(n * k, -1)).reshape(m, k, -1) * full

    def wrong(self, classes: F8) -> F8:
        """Wrong labels [worker, class, label], given classes[task, class]."""
        _, m, k = self.shape
        out = (self.cells.T @ classes).reshape(m, k, k).transpose(0, 2, 1) / self.voice[:, None, None]
        out[:, np.arange(k), np.arange(k)] = 0.0
        return np.asarray(out)


@dataclass
class _Curves:
    """ability[worker], lean[worker, class], slope[level] and ease[level], while they are learnt."""

    ability: F8
    lean: F8
    slope: F8
    ease: F8

    def right(self) -> F8:
        from scipy.special import expit

        x = self.ability[:, None] + self.lean
        return np.clip(np.asarray(expit(x[:, :, None] * self.slope + self.ease)), EDGE, 1 - EDGE)

    def climb(self, labels: F8, hits: F8, voice: F8) -> None:
        """One Newton step of each: given labels and hits [worker, class, level]."""
        rest, weight = self._slopes(labels, hits)
        down = (self.ability - self.ability.mean()) / ABILITY
        step = ((self.slope * rest).sum(axis=(1, 2)) - down) / ((self.slope**2 * weight).sum(axis=(1, 2)) + 1 / ABILITY)
        self.ability = np.clip(self.ability + np.clip(step, -1, 1), -8, 8)
        rest, weight = self._slopes(labels, hits)
        step = ((self.slope * rest).sum(axis=2) - self.lean / LEAN) / ((self.slope**2 * weight).sum(axis=2) + 1 / LEAN)
        self.lean = np.clip(self.lean + np.clip(step, -1, 1), -6, 6)
        rest, weight = (part * voice[:, None, None] for part in self._slopes(labels, hits))
        x = (self.ability[:, None] + self.lean)[:, :, None]
        up = np.stack([(x * rest).sum(axis=(0, 1)) - (self.slope - 1) * SLOPE_PRECISION,
                       rest.sum(axis=(0, 1)) - (self.ease - EASE) * EASE_PRECISION])  # fmt: skip
        aa = (x**2 * weight).sum(axis=(0, 1)) + SLOPE_PRECISION
        ab, bb = (x * weight).sum(axis=(0, 1)), weight.sum(axis=(0, 1)) + EASE_PRECISION
        det = aa * bb - ab**2
        self.slope = np.maximum(self.slope + np.clip((bb * up[0] - ab * up[1]) / det, -0.7, 0.7), 0.0)
        self.ease = self.ease + np.clip((aa * up[1] - ab * up[0]) / det, -0.7, 0.7)

    def _slopes(self, labels: F8, hits: F8) -> tuple[F8, F8]:
        p = self.right()
        return hits - labels * p, labels * p * (1 - p)


def fit(
    task: I8, worker: I8, label: I8, shape: tuple[int, int, int], start: F8, known: npt.NDArray[np.bool_], voice: F8
) -> Levels:
    """Fit to codes, each worker at most once a task; shape is (tasks, workers, classes).

    start[task, class] is a posterior to begin with, which stays where `known`; voice[worker] is what their word counts.
    """
    crowd = _Crowd(task, worker, label, shape, voice)
    held = np.where(known[:, None], np.log(np.maximum(start, 1e-300)), 0.0)[:, :, None]
    # What is learnt is learnt from classes that have votes. A class that nobody names could else come to mean a common
    # mistake: everybody wrong in the same way.
    most = crowd.said.max(axis=1, keepdims=True, initial=0.0)
    far = np.where((crowd.said >= NEAR * most) | known[:, None], 0.0, -np.inf)[:, :, None]
    posterior = np.repeat(start[:, :, None], len(EASE), axis=2) / len(EASE)
    labels, hits = (part.sum(axis=(1, 2)) for part in crowd.counts(posterior))
    share = (hits + 2) / (labels + 3)
    curves = _Curves(np.log(share / (1 - share)), np.zeros(shape[1:]), np.ones(len(EASE)), EASE.copy())
    mass = np.repeat(start.mean(axis=0)[:, None] + 1e-3, len(EASE), axis=1)
    for _ in range(ROUNDS):
        classes = posterior.sum(axis=2)
        usual, own = _mistakes(crowd, classes)
        right = curves.right()
        score = crowd.likelihood(right, own) + np.log(mass / mass.sum()) + held
        posterior = _normal(score + far)
        mass = posterior.sum(axis=0) + 1 / len(EASE)
        counts = crowd.counts(posterior)
        for _ in range(2):
            curves.climb(*counts, voice)
    return Levels(score, right, own, usual, _strength(crowd.said, usual, classes), crowd.said, voice)


def _normal(score: F8) -> F8:
    out = np.exp(score - score.max(axis=(1, 2), keepdims=True))
    return np.asarray(out / out.sum(axis=(1, 2), keepdims=True))


def _mistakes(crowd: _Crowd, classes: F8) -> tuple[F8, F8]:
    """usual[class, label] of the crowd and own[worker, class, label], given that the label is wrong; one where right.

    A worker's own is held to their mistakes in all classes by K pseudo-labels, and those to the crowd's by K more.
    """
    k = crowd.shape[2]
    same = np.arange(k)
    table = classes.T @ crowd.said + 0.5 / k
    table[same, same] = 0.0
    table += 0.02 * table.sum(axis=1, keepdims=True) / k  # nothing is beyond anybody
    usual = _without_right(table)
    wrong = crowd.wrong(classes)
    pooled = wrong.sum(axis=1) + usual.sum(axis=0) - 1
    habit = _without_right(np.repeat(pooled[:, None, :], k, axis=1))
    habit[:, same, same] = 0.0
    return usual, _without_right(wrong + k * habit)


def _without_right(table: F8) -> F8:
    """Rows that sum to one except for the right answer, whose cell is one."""
    same = np.arange(table.shape[-1])
    table[..., same, same] = 0.0
    table = table / np.maximum(table.sum(axis=-1, keepdims=True), 1e-300)
    table[..., same, same] = 1.0
    return table


def _log_urn(said: F8, usual: F8, strength: float) -> F8:
    """log-probability [task, class] of the wrong answers among said[task, label], drawn from the task's urn."""
    n, k = said.shape
    out: Any = np.zeros((n, k))
    for true in range(k if k > 2 else 0):  # of two classes only one is wrong
        balls = np.delete(usual[true], true) * strength
        drawn = np.delete(said, true, axis=1)
        out[:, true] = log_rows(drawn, balls, axis=1)
    return np.asarray(out)


def _strength(said: F8, usual: F8, classes: F8) -> float:
    """The strength under which the wrong answers are likeliest."""
    return max(STRENGTHS, key=lambda each: float((classes * _log_urn(said, usual, each)).sum()))
