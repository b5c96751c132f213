"""Sparse regular crowds with spammers, and the accuracies of an independent implementation on them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

import crowdwise as cw
from crowdwise import simulate


@dataclass(frozen=True)
class Row:
    """Truth Beta(a, b), model Beta(a, b), spammers, and the reference: means and spreads (None: not given)."""

    truth: tuple[float, float]
    model: tuple[float, float]
    spammers: int
    mean: tuple[float, ...]
    spread: tuple[float | None, ...]

    def __str__(self) -> str:
        spam = f" + {self.spammers} spammer{'s' * (self.spammers > 1)}" if self.spammers else ""
        return f"Beta({self.truth[0]:g}, {self.truth[1]:g}){spam}, model ({self.model[0]:g}, {self.model[1]:g})"


_NONE = (None, None, None, None)
ROWS = (
    Row((0.2, 0.1), (0.2, 0.1), 0, (0.742, 0.876, 0.940, 0.983), (0.020, 0.029, 0.018, 0.003)),
    Row((0.5, 0.25), (0.5, 0.25), 0, (0.741, 0.853, 0.895, 0.925), (0.012, 0.021, 0.016, 0.013)),
    Row((1, 0.5), (1, 0.5), 0, (0.746, 0.799, 0.817, 0.827), (0.014, 0.015, 0.023, 0.017)),
    Row((2, 1), (2, 1), 0, (0.744, 0.758, 0.755, 0.765), (0.017, 0.017, 0.019, 0.018)),
    Row((2, 1), (2, 0.8), 1, (0.686, 0.758, 0.754, 0.766), _NONE),
    Row((2, 1), (2, 1), 1, (0.686, 0.759, 0.752, 0.766), _NONE),
    Row((2, 1), (2, 1.2), 1, (0.686, 0.650, 0.746, 0.768), (None, 0.119, None, None)),
    Row((2, 1), (2, 1.4), 1, (0.686, 0.499, 0.634, 0.763), (None, None, 0.108, None)),
    Row((2, 1), (2, 1.6), 1, (0.686, 0.499, 0.523, 0.746), _NONE),
    Row((2, 1), (2, 1.4), 0, (0.744, 0.760, 0.745, 0.765), _NONE),
    Row((2, 1), (2, 1.4), 2, (0.684, 0.510, 0.623, 0.755), (None, None, 0.095, None)),
)


def crowd(row: Row, seed: int) -> tuple[cw.Annotations, np.ndarray]:
    """The crowd of a row and the truth."""
    drawn = simulate.crowd(
        1000, 2, [simulate.OneCoin(750, low=0, high=1, beta=row.truth)], simulate.Regular(3, 4), seed=seed
    )
    votes, rng = drawn.annotations, np.random.default_rng(seed)
    task = np.concatenate([votes.task, np.tile(np.arange(1000), row.spammers)])
    worker = np.concatenate([votes.worker, 750 + np.repeat(np.arange(row.spammers), 1000)])
    label = np.concatenate([votes.label, rng.integers(2, size=1000 * row.spammers)])
    return cw.Annotations.from_arrays(task, worker, label), drawn.truth


def accuracies(row: Row, seeds: int) -> np.ndarray:
    """accuracy[seed, column], ties shared."""
    right, wrong = row.model
    methods = (
        cw.MajorityVote(),
        cw.classes.MeanField(coin="two", prior_diagonal=right, prior_off=wrong),
        cw.classes.MeanField(coin="one", prior_diagonal=right, prior_off=wrong),
        cw.classes.BeliefPropagation(prior_right=right, prior_wrong=wrong, max_iter=200, damping=0.1),
    )
    found = np.empty((seeds, len(methods)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.errors.ConvergenceWarning)
        for seed in range(seeds):
            votes, truth = crowd(row, seed)
            answers = dict(enumerate(truth.tolist()))
            found[seed] = [cw.evaluate(method.fit(votes), answers).expected_accuracy for method in methods]
    return found
