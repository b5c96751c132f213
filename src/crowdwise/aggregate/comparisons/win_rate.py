"""The share of its comparisons that an item wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import Positive
from ...engine.em import Callback
from ...maths.comparisons.fit import PairFit
from ...maths.comparisons.rows import PairRows
from ...maths.comparisons.simple import win_rates
from .base import ComparisonAggregator


@dataclass(frozen=True, kw_only=True)
class WinRate(ComparisonAggregator):
    """Log-odds of the share of wins; `smoothing` wins and losses are added, a tie is half a win.

    It does not ask whom an item won against: with unequal opponents the order is wrong.

    >>> WinRate().name
    'win_rate'
    """

    name: ClassVar[str] = "win_rate"
    smoothing: Positive = 1.0

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:  # noqa: ARG002
        """See the class."""
        return PairFit(win_rates(rows, self.smoothing))
