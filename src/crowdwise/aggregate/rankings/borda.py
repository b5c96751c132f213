"""Borda's count: the mean place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...engine.em import Callback
from ...maths.rankings.fit import RankFit
from ...maths.rankings.rows import RankRows
from ...maths.rankings.simple import borda
from .base import RankingAggregator


@dataclass(frozen=True, kw_only=True)
class Borda(RankingAggregator):
    """The share of the other items that an item is put before, mean over the rankings; a tie is a half.

    >>> import crowdwise as cw
    >>> votes = cw.ranking_votes([1, 1, 1], [*"xyz"], ["a>b>c", "a>c>b", "b>a>c"])
    >>> Borda().fit(votes).to_table()["ranking"].to_list()
    ['a>b>c']
    """

    name: ClassVar[str] = "borda"

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:  # noqa: ARG002
        """See the class."""
        return RankFit(*borda(rows))
