"""The default for comparisons: crowd_bt, or davidson where there are ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...engine.em import Callback
from ...maths.comparisons.fit import PairFit
from ...maths.comparisons.rows import PairRows
from .base import ComparisonAggregator
from .crowd_bt import CrowdBT
from .davidson import Davidson


@dataclass(frozen=True, kw_only=True)
class Tournament(ComparisonAggregator):
    """`crowd_bt` where every answer names a winner, `davidson` where some are ties; the result says which.

    >>> import crowdwise as cw
    >>> votes = cw.comparison_votes([*"aab"], [*"bcc"], ["left", "tie", "left"], worker=[*"xyx"])
    >>> Tournament().fit(votes).extra["reason"]
    'davidson, as some answers are ties'
    """

    name: ClassVar[str] = "tournament"

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:
        """See the class."""
        method = Davidson(seed=self.seed) if rows.has_ties else CrowdBT(seed=self.seed)
        return method.solve(rows, callback)

    def reason(self, rows: PairRows) -> str | None:
        """Which of the two."""
        return "davidson, as some answers are ties" if rows.has_ties else "crowd_bt, as there are no ties"
