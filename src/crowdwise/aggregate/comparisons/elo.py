"""Elo's ratings: game after game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Count, Positive
from ...engine.em import Callback
from ...maths.comparisons.fit import PairFit
from ...maths.comparisons.rows import PairRows
from ...maths.comparisons.simple import elo
from .base import ComparisonAggregator


@dataclass(frozen=True, kw_only=True)
class Elo(ComparisonAggregator):
    """The winner takes `step` times the surprise from the loser (scores are natural logits: 1 is 174 Elo points).

    All games are gone through `passes` times, each time in another order drawn by `seed`, so that the order in which
    a file has them does not matter.

    >>> Elo(step=0.1).name
    'elo'
    """

    name: ClassVar[str] = "elo"
    step: Positive = 0.05
    passes: Count = 5

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:  # noqa: ARG002
        """See the class."""
        rng = np.random.default_rng(self.seed)
        return PairFit(elo(rows, self.step, self.passes, [rng.permutation(len(rows)) for _ in range(self.passes)]))
