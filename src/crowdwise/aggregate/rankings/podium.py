"""The default for rankings: plackett_luce with temperatures, or borda where too little is known of each worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...engine.em import Callback
from ...maths.rankings.fit import RankFit
from ...maths.rankings.rows import RankRows
from .base import RankingAggregator
from .borda import Borda
from .plackett_luce import PlackettLuce

# Items of a list from which one ranking tells something of its worker.
LONG = 6
# Choices for each item of a list from which workers may lie far apart, and from which a little: with fewer, scores are
# known so badly that honest workers would be taken for others. Chosen in planted crowds.
MANY, SOME, LITTLE = 4.0, 2.0, 0.3


@dataclass(frozen=True, kw_only=True)
class Podium(RankingAggregator):
    """`plackett_luce` where lists have six items or more, or half of the rankings come from workers who gave several;
    else, and where lists were ranked too rarely, `borda`. The result says which.

    >>> import crowdwise as cw
    >>> votes = cw.ranking_votes([1] * 4, [*"xyzu"], ["a>b>c", "a>c>b", "b>a>c", "a>b>c"])
    >>> Podium().fit(votes).extra["reason"]
    'borda, as lists are short and workers do not come back'
    """

    name: ClassVar[str] = "podium"

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:
        """See the class."""
        if not self._by_worker(rows):
            return Borda(seed=self.seed).solve(rows, callback)
        spread = 1.0 if rows.choices >= MANY else LITTLE
        return PlackettLuce(seed=self.seed, spread=spread).solve(rows, callback)

    def _by_worker(self, rows: RankRows) -> str:
        heard = rows.weights > 0
        if not heard.any() or rows.choices < SOME:
            return ""
        if float(rows.size[heard].mean()) >= LONG:
            return "lists are long"
        often = np.bincount(rows.worker[heard], minlength=rows.n_workers)
        return "workers come back" if float((often[rows.worker[heard]] > 1).mean()) >= 0.5 else ""

    def reason(self, rows: RankRows) -> str | None:
        """Which of the two."""
        why = self._by_worker(rows)
        if not why:
            few = "lists were ranked too rarely to tell workers apart"
            return f"borda, as {few if rows.choices < SOME else 'lists are short and workers do not come back'}"
        return f"plackett_luce, as {why}" + ("" if rows.choices >= MANY else "; workers are held together (spread 0.3)")
