"""How far two answers about a triplet are apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .answers import Triplets

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


def distance(answers: Triplets, i: I8, j: I8) -> F8:
    """Of one triplet 0 where the same item was named, else 1; of different triplets, whether the same side was."""
    here = (answers.head[i] == answers.head[j]) & (
        np.minimum(answers.left, answers.right)[i] == np.minimum(answers.left, answers.right)[j]
    ) & (np.maximum(answers.left, answers.right)[i] == np.maximum(answers.left, answers.right)[j])  # fmt: skip
    apart = np.where(here, answers.near[i] != answers.near[j], answers.side[i] != answers.side[j])
    return np.asarray(apart, dtype=np.float64)
