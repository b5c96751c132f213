"""What every method for rankings gives."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..comparisons.uncertainty import Block

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankFit:
    """score[entry], higher is better; blocks: its covariance, task by task (None: not known); temperature and
    dispersion of the workers (None: the method has none)."""

    score: F8
    blocks: list[Block] | None = None
    temperature: F8 | None = None
    dispersion: F8 | None = None
    trace: F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 0
    converged: bool = True
