"""Kemeny's order: the fewest disagreements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Whole
from ...engine.em import Callback
from ...maths.rankings.fit import RankFit
from ...maths.rankings.kemeny import kemeny_places
from ...maths.rankings.rows import RankRows
from .base import RankingAggregator


@dataclass(frozen=True, kw_only=True)
class Kemeny(RankingAggregator):
    """The order that goes against the fewest preferences; of several best ones the mean place of each item.

    Lists of up to `exact` items are solved exactly, longer ones by local search from several starts drawn by `seed`.

    >>> import crowdwise as cw
    >>> votes = cw.ranking_votes([1, 1, 1], [*"xyz"], ["a>b>c", "b>c>a", "a>b>c"])
    >>> Kemeny().fit(votes).to_table()["ranking"].to_list()
    ['a>b>c']
    """

    name: ClassVar[str] = "kemeny"
    exact: Whole = 12

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:  # noqa: ARG002
        """See the class."""
        rng = np.random.default_rng(self.seed)
        score = np.zeros(rows.n_entries)
        for task in range(len(rows.by_task)):
            own = slice(int(rows.begin[task]), int(rows.begin[task + 1]))
            score[own] = -kemeny_places(rows.preferences(task), rng, min(self.exact, 16))[0]
        return RankFit(score)
