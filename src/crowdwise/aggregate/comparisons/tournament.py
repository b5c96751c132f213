"""The default for comparisons: the average of crowd_bt and davidson."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...engine.em import Callback
from ...maths.comparisons.fit import PairFit
from ...maths.comparisons.rows import PairRows
from .base import ComparisonAggregator
from .crowd_bt import CrowdBT
from .davidson import Davidson


@dataclass(frozen=True, kw_only=True)
class Tournament(ComparisonAggregator):
    """The mean of the scores of `crowd_bt` and of `davidson`, on the latter's scale.

    The first is better where many workers toss coins, the second where workers gave a few answers each; their mean is
    close to the better of the two in both, and often above. Chances, ties and intervals are `davidson`'s.

    >>> import crowdwise as cw
    >>> votes = cw.comparison_votes([*"aab"], [*"bcc"], ["left", "tie", "left"], worker=[*"xyx"])
    >>> Tournament().fit(votes).leaderboard()["item"][0]
    'a'
    """

    name: ClassVar[str] = "tournament"
    calibrates: ClassVar[bool] = True

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:
        """See the class."""
        ties = Davidson(seed=self.seed).solve(rows, callback)
        if not (rows.outcome[rows.weights > 0] != 2).any():
            return ties  # nothing but ties: no winner tells of anybody
        coins = CrowdBT(seed=self.seed).solve(rows, callback)
        wide, other = float(np.std(ties.score)), float(np.std(coins.score))
        scaled = coins.score * (wide / other) if other > 1e-9 else coins.score
        return replace(
            ties,
            score=(ties.score + scaled) / 2,
            reliability=coins.reliability,
            trace=np.empty(0),
            n_iter=ties.n_iter + coins.n_iter,
            converged=ties.converged and coins.converged,
        )
