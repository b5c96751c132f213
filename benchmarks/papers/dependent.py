"""Crowds whose workers depend on each other: planted groups with a hidden answer each, and trained classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

import crowdwise as cw
from benchmarks.learn.mnist_data import mnist

from .experts import votes

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Grouped:
    """said[task, worker], the truth, group[worker], and between[group, true, hidden], within[worker, hidden, said]."""

    said: I8
    truth: I8
    group: I8
    between: F8
    within: F8

    def oracle(self) -> I8:
        """The most probable class when all matrices are known (classes alike)."""
        score = np.zeros((len(self.truth), self.between.shape[1]))
        for j, between in enumerate(self.between):
            members = np.flatnonzero(self.group == j)
            message = sum(np.log(self.within[m])[:, self.said[:, m]].T for m in members)
            score += logsumexp(np.log(between)[None] + np.asarray(message)[:, None, :], axis=2)
        return np.asarray(score.argmax(1))


def grouped(sizes: Sequence[int], skill: float, seed: int, *, n: int = 5000, k: int = 3) -> Grouped:
    """Each group's hidden answer is right with probability about `skill`; members report it, right in .7 to .95."""
    rng = np.random.default_rng([seed, 23])
    group = np.repeat(np.arange(len(sizes)), sizes)
    truth = rng.integers(0, k, n)
    between = coins(np.clip(rng.normal(skill, 0.05, len(sizes)), 0.36, 0.99), k)
    within = coins(rng.uniform(0.7, 0.95, len(group)), k)
    hidden = np.stack([draw(between[j], truth, rng) for j in range(len(sizes))])
    said = np.stack([draw(within[m], hidden[group[m]], rng) for m in range(len(group))], axis=1)
    return Grouped(said, truth, group, between, within)


def coins(right: F8, k: int) -> F8:
    """Confusions with these diagonals, errors evenly spread."""
    return np.where(np.eye(k) > 0, right[:, None, None], (1 - right)[:, None, None] / (k - 1))


def draw(confusion: F8, truth: I8, rng: np.random.Generator) -> I8:
    """One answer for each true class."""
    edges = confusion.cumsum(1)[truth]
    return np.asarray((edges < rng.random(len(truth))[:, None]).sum(1).clip(0, confusion.shape[1] - 1))


def named(annotations: cw.Annotations, group: I8) -> tuple[tuple[Any, ...], ...]:
    """Group numbers as lists of workers, for group_aware."""
    return tuple(tuple(annotations.workers.gather(np.flatnonzero(group == g)).to_list()) for g in np.unique(group))


# Three families that err in ways of their own; members see almost the same few images.
TRAINED = {"good": 300, "poor": 25}


def classifiers(level: str, seed: int, n: int) -> tuple[cw.Annotations, I8, I8]:
    """15 classifiers in three families of five: votes on n images of MNIST, the truth, the family of each."""
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    x, y, test, truth = mnist(4000, 10_000)
    flat, asked = x.reshape(len(x), -1), test.reshape(len(test), -1)[:n]
    rng = np.random.default_rng([seed, 29])
    said = []
    for kind in ("tree", "neighbours", "bayes"):
        pool = rng.choice(len(x), TRAINED[level], replace=False)
        for member in range(5):
            seen = rng.choice(pool, int(0.9 * len(pool)), replace=False)
            model = {
                "tree": DecisionTreeClassifier(random_state=member, max_features=100),
                "neighbours": KNeighborsClassifier(3),
                "bayes": GaussianNB(var_smoothing=0.1),
            }[kind]
            said.append(model.fit(flat[seen], y[seen]).predict(asked))
    return votes(np.stack(said, axis=1), 10), truth[:n], np.repeat(np.arange(3), 5)
