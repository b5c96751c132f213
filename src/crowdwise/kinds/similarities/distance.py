"""How far two answers about a pair are apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .answers import Similarities

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


def distance(answers: Similarities, i: I8, j: I8) -> F8:
    """0 where both say the same, 1 where they do not."""
    return np.asarray(answers.same[i] != answers.same[j], dtype=np.float64)
