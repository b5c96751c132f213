"""How far two comparisons of the same items are apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .answers import Comparisons


def distance(answers: Comparisons, i: npt.NDArray[Any], j: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """0 where the same item wins (or both are ties), 1 where the other one does, a half where one is a tie.

    Sides do not matter. Answers about different pairs are compared by the side that won: between tasks nothing else is
    alike in them.
    """
    one, two = answers.outcome[i], answers.outcome[j]
    turned = (answers.left[i] == answers.right[j]) & (answers.right[i] == answers.left[j])
    two = np.where(turned, np.array([1, 0, 2], dtype=two.dtype)[two], two)
    return np.where(one == two, 0.0, np.where((one == 2) | (two == 2), 0.5, 1.0))
