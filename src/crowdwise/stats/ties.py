"""Ties: detected with a tolerance, broken by seed, or shared in expectations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8

# Scores this close count as equal: sums over shards or in another class order differ in the last bits.
TOLERANCE = 1e-9
STREAM = 0x7135


def winners(scores: F8) -> npt.NDArray[np.bool_]:
    """Mask of the classes that share the top score of each task."""
    top = scores.max(axis=1, keepdims=True, initial=-np.inf)
    return np.asarray(scores >= top - TOLERANCE * np.maximum(1.0, np.abs(top)))


def tie_shares(scores: F8) -> F8:
    """1 / (number of winners) for each winner, 0 elsewhere: the expectation of a fair draw."""
    tied = winners(scores)
    return np.asarray(tied / tied.sum(axis=1, keepdims=True))


def break_ties(scores: F8, seed: int) -> npt.NDArray[np.int32]:
    """Return the winning class of each task; ties are broken by a draw that depends on the seed only."""
    tied = winners(scores)
    labels: npt.NDArray[np.int32] = tied.argmax(axis=1).astype(np.int32)
    several = np.flatnonzero(tied.sum(axis=1) > 1)
    if len(several):
        # One draw per task of the whole set, so that a task's draw does not depend on the other tasks' ties. The stream
        # is separate because a simulated truth is drawn from `seed` alone, and the same numbers would favour it.
        draw = np.random.default_rng([seed, STREAM]).random(len(scores))[several]
        rank = (draw * tied[several].sum(axis=1)).astype(np.int64)
        labels[several] = (np.cumsum(tied[several], axis=1) > rank[:, None]).argmax(axis=1)
    return labels
