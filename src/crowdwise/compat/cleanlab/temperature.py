"""Temperature scaling of a classifier's probabilities to the annotators' label shares."""

from __future__ import annotations

import numpy as np

from ...core.arrays import F8
from ...kinds.classes.annotations import Annotations
from ...stats.logspace import normalise_rows

# cleanlab's grid search: these temperatures, then four steps to the neighbour on either side of the best.
COARSE = (0.1, 0.2, 0.5, 0.8, 1.0, 2.0, 3.0, 5.0, 8.0)
STEPS = 4
TINY = 1e-30


def best_temperature(votes: Annotations, probs: F8) -> float:
    """Return the temperature with the lowest cross entropy between label shares and scaled probabilities."""
    shares = votes.votes / np.maximum(votes.labels_per_task, 1)[:, None]

    def cross_entropy(temperature: float) -> float:
        return -float((shares * np.log(np.maximum(scaled(probs, temperature), TINY))).sum())

    at = int(np.argmin([cross_entropy(t) for t in COARSE]))
    below = np.linspace(COARSE[max(at - 1, 0)], COARSE[at], STEPS, endpoint=False)
    above = np.linspace(COARSE[at], COARSE[min(at + 1, len(COARSE) - 1)], STEPS + 1)
    fine = np.concatenate([below, above])
    return float(fine[np.argmin([cross_entropy(t) for t in fine])])


def scaled(probs: F8, temperature: float) -> F8:
    """Return probabilities to the power 1 / temperature, normalised."""
    return normalise_rows(np.log(np.maximum(probs, TINY)) / temperature)[0]
