"""Annotators that are machines: scikit-learn classifiers trained on a handful of images each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.learn.mnist_data import mnist
from crowdwise import Annotations

F4 = npt.NDArray[np.float32]
I8 = npt.NDArray[np.int64]
POOL, TRAINERS = 40, 2000  # classifiers tried, and images kept aside to train them
SIZES = (10, 15, 25, 40, 70, 120, 200)  # images that a classifier sees


@dataclass(frozen=True)
class Digits:
    """MNIST as 50 principal components (or images), and said[image, annotator] by the pool."""

    x: F4
    y: I8
    test_x: F4
    test_y: I8
    said: I8


@lru_cache(maxsize=2)
def digits(n: int, n_test: int, *, images: bool = False) -> Digits:
    """n images, and the answers of a pool of annotators of accuracy 15 to 85 %."""
    x, y, test_x, test_y = mnist(n + TRAINERS, n_test)
    flat, test = x.reshape(len(x), -1), test_x.reshape(len(test_x), -1)
    small, small_test = principal(flat, test)
    said = _pool(small[n:], y[n:], small[:n], y[:n])
    if images:
        return Digits(x[:n], y[:n], test_x, test_y, said)
    return Digits(small[:n], y[:n], small_test, test_y, said)


def principal(x: F4, test: F4, d: int = 50) -> tuple[F4, F4]:
    """The first d principal components, standardised together."""
    mean = x.mean(0)
    _, _, axes = np.linalg.svd((x - mean)[:4000], full_matrices=False)
    a, b = ((part - mean) @ axes[:d].T for part in (x, test))
    scale = a.std()
    return (a / scale).astype(np.float32), (b / scale).astype(np.float32)


def _pool(x: F4, y: I8, asked: F4, truth: I8) -> I8:
    """Answers [image, annotator] of those whose accuracy is between 15 and 85 %."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(31)
    out = []
    for number in range(POOL):
        seen = rng.choice(len(x), SIZES[number % len(SIZES)], replace=False)
        models: list[Any] = [
            LogisticRegression(max_iter=200), DecisionTreeClassifier(random_state=number), KNeighborsClassifier(1),
            GaussianNB(var_smoothing=0.1),
        ]  # fmt: skip
        answers = models[number % 4].fit(x[seen], y[seen]).predict(asked)
        if 0.15 <= (answers == truth).mean() <= 0.85:
            out.append(answers)
    return np.stack(out, axis=1)


def asked(said: I8, workers: int, share: float, seed: int, k: int = 10) -> tuple[Annotations, I8]:
    """Labels of so many random annotators of the pool, each on a random share of the images; who they are."""
    rng = np.random.default_rng([seed, 37])
    who = rng.choice(said.shape[1], workers, replace=False)
    task, worker = np.nonzero(rng.random((len(said), workers)) < share)
    label = said[task, who[worker]]
    made = Annotations.from_arrays(
        task, worker, label, tasks=range(len(said)), workers=range(workers), classes=range(k)
    )
    return made, who
