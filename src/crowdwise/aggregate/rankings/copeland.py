"""Copeland's rule: how many others a majority puts an item before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...engine.em import Callback
from ...maths.rankings.fit import RankFit
from ...maths.rankings.rows import RankRows
from ...maths.rankings.simple import copeland
from .base import RankingAggregator


@dataclass(frozen=True, kw_only=True)
class Copeland(RankingAggregator):
    """The share of the other items that a majority puts it before; a draw is a half. Equal shares stay tied.

    >>> Copeland().name
    'copeland'
    """

    name: ClassVar[str] = "copeland"

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:  # noqa: ARG002
        """See the class."""
        return RankFit(copeland(rows))
