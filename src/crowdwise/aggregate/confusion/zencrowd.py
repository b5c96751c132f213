"""ZenCrowd: one reliability per worker, all classes equally likely beforehand, fitted by EM.

    P(y_iw = z_i) = p_w,   every wrong label (1 - p_w) / (K - 1),   z_i uniform

Demartini, Difallah & Cudré-Mauroux (2012), WWW, doi:10.1145/2187836.2187900.
`one_coin` with the class prior held uniform: a frequent class draws no further tasks to itself, which keeps it from
the collapse of `one_coin` where classes are lopsided. Fails with class-biased workers, whom it cannot describe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Positive
from ...core.rules import Above, Below
from ..spread import Shape, Spread
from .base import ConfusionAggregator, ConfusionModel
from .one_coin import CoinModel
from .starts import Reliable, Start

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ZenCrowd(ConfusionAggregator):
    """`start` (1/K..1) is every worker's reliability before the first step; `smoothing` (> 0, usually 0.01 to 2)
    counts each worker that many times right and K - 1 times as often wrong.

    >>> from crowdwise import Annotations

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> ZenCrowd().fit(votes).class_prior
    array([0.5, 0.5])
    """

    name: ClassVar[str] = "zencrowd"
    smoothing: Positive = 0.01
    start: Annotated[float, Above(0), Below(1)] = 0.8

    def model(self, shape: Shape) -> ConfusionModel:  # noqa: ARG002
        """One probability per worker, no class prior to learn."""
        return _Even(np.full((1, 1), float(self.smoothing)), 0.0)

    def starts(self, data: Spread) -> list[Start]:
        """The E-step at equal reliabilities first, then what all confusion methods restart from."""
        odds = self.start * max(data.n_classes - 1, 1) / (1 - self.start)
        return [Reliable(odds), *super().starts(data)[1:]]


class _Even(CoinModel):
    def class_prior(self, mass: F8) -> F8:
        return np.full(len(mass), 1 / len(mass))
