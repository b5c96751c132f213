"""Ties: found with a tolerance, broken by seed, shared out where an expectation is wanted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]

# Scores this close are one score: sums over shards or in another class order differ in the last bits.
TOLERANCE = 1e-9
STREAM = 0x7135


def winners(scores: F8) -> npt.NDArray[np.bool_]:
    """Which classes share the top score of each task."""
    top = scores.max(axis=1, keepdims=True, initial=-np.inf)
    return np.asarray(scores >= top - TOLERANCE * np.maximum(1.0, np.abs(top)))


def tie_shares(scores: F8) -> F8:
    """1 / (number of winners) for each winner, 0 elsewhere: the expected outcome of a fair draw."""
    tied = winners(scores)
    return np.asarray(tied / tied.sum(axis=1, keepdims=True))


def break_ties(scores: F8, seed: int) -> npt.NDArray[np.int32]:
    """The winning class of each task; of several winners one is drawn, the same one for the same seed."""
    tied = winners(scores)
    labels: npt.NDArray[np.int32] = tied.argmax(axis=1).astype(np.int32)
    several = np.flatnonzero(tied.sum(axis=1) > 1)
    if len(several):
        # One draw per task of the whole set, so that a task's luck does not hang on the other tasks' ties. A stream of
        # its own: a simulated truth is drawn from `seed` alone, and the same numbers would break ties in its favour.
        draw = np.random.default_rng([seed, STREAM]).random(len(scores))[several]
        rank = (draw * tied[several].sum(axis=1)).astype(np.int64)
        labels[several] = (np.cumsum(tied[several], axis=1) > rank[:, None]).argmax(axis=1)
    return labels
