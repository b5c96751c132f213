"""Bradley and Terry's model: one score an item, all workers alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import Count, NonNegative, Positive
from ...engine.em import Callback
from ...maths.comparisons.bradley_terry import bradley_terry
from ...maths.comparisons.fit import PairFit
from ...maths.comparisons.rows import PairRows
from .base import ComparisonAggregator


@dataclass(frozen=True, kw_only=True)
class BradleyTerry(ComparisonAggregator):
    """The log-odds that one item beats another are the difference of their scores; a tie is half a win.

    `strength` draws scores to 0 (the precision of a normal prior): items that always win have a score too.

    >>> import crowdwise as cw
    >>> votes = cw.comparison_votes([*"aab"], [*"bcc"], ["left"] * 3, worker=[*"xyx"])
    >>> BradleyTerry().fit(votes).leaderboard()["item"].to_list()
    ['a', 'b', 'c']
    """

    name: ClassVar[str] = "bradley_terry"
    strength: Positive = 0.1
    max_iter: Count = 100
    tol: NonNegative = 1e-10

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:  # noqa: ARG002
        """See the class."""
        return bradley_terry(rows, self.strength, self.max_iter, self.tol)
