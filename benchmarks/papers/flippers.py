"""Tanno et al.'s crowd: five annotators who flip pairs of classes, or guess, over the labels of real images."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from crowdwise import Annotations, MajorityVote

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Kind = Literal["flipper", "hammer"]


def flippers(
    p: float, seed: int, *, kind: Kind = "flipper", workers: int = 5, k: int = 10, dominant: bool | None = True
) -> F8:
    """Confusions [worker, true, observed]: skill ~ N(p, .01).

    A flipper says one other class for each class, with the rest of the mass; a hammer is right with probability p and
    guesses otherwise. The flips are drawn again until the mean confusion is diagonally dominant by column (or, for
    False, is not): with three flippers of one mind it is not, below p = .375.
    """
    rng = np.random.default_rng([seed, 3])
    for _ in range(100_000):
        skill = np.clip(rng.normal(p, 0.01, workers), 0, 1)
        confusion = np.zeros((workers, k, k))
        for w in range(workers):
            if kind == "hammer":
                confusion[w] = skill[w] * np.eye(k) + (1 - skill[w]) / k
                continue
            other = (np.arange(k) + rng.integers(1, k, k)) % k
            confusion[w, np.arange(k), np.arange(k)] = skill[w]
            confusion[w, np.arange(k), other] = 1 - skill[w]
        if dominant is None or column_dominant(confusion.mean(0)) == dominant:
            return confusion
    raise SystemExit(f"no crowd with p = {p} and dominant = {dominant} was drawn")


def column_dominant(mean: F8) -> bool:
    """Whether label l comes more often from truth l than from any other truth."""
    off = mean - np.diag(np.diag(mean))
    return bool((np.diag(mean) > off.max(axis=0)).all())


def say(confusion: F8, truth: I8, seed: int, *, dense: bool) -> Annotations:
    """Labels of images 0..N-1: of all annotators, or of one random annotator each."""
    rng = np.random.default_rng([seed, 4])
    m, k, _ = confusion.shape
    n = len(truth)
    task = np.repeat(np.arange(n), m) if dense else np.arange(n)
    worker = np.tile(np.arange(m), n) if dense else rng.integers(0, m, n)
    edges = confusion.cumsum(axis=2)[worker, truth[task]]
    label = (edges < rng.random(len(task))[:, None]).sum(axis=1).clip(0, k - 1)
    return Annotations.from_arrays(task, worker, label, tasks=range(n), workers=range(m), classes=range(k))


def majority(votes: Annotations) -> Annotations:
    """The vote as one annotator's labels: what the paper gives to methods that know no annotators."""
    n, label = votes.n_tasks, MajorityVote().fit(votes).labels
    return Annotations.from_arrays(np.arange(n), np.zeros(n, dtype=int), label, classes=votes.classes)


def confusion_error(found: F8, true: F8) -> float:
    """The paper's CM error: squared differences, summed over cells, over workers × classes."""
    return float(((found - true) ** 2).sum() / (true.shape[0] * true.shape[1]))
