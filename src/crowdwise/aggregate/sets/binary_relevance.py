"""Binary relevance: every class is a question of its own, yes or no, answered by a method for classes.

Any method for classes can answer; what it learns of a worker on one class it does not know on the next, so rare classes
are judged by little. Boutell et al. (2004), Pattern Recognition 37(9), doi:10.1016/j.patcog.2004.03.009.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import ParameterError
from ...core.votes import Votes
from ...engine.em import Callback
from ...kinds.classes.annotations import Annotations
from ...kinds.sets.answers import Sets
from ...maths.kernels import many_fits
from ...maths.sets.rows import SetRows
from ..base import Aggregator, Run, Solution
from ..gold import Gold
from ..registry import card, method
from .base import SetAggregator, SetSolution

F8 = npt.NDArray[np.float64]
NO_YES = pl.Series("label", ["no", "yes"])


@dataclass(frozen=True, kw_only=True)
class BinaryRelevance(SetAggregator):
    """`by` is the name of the method for classes that answers for each class.

    >>> from crowdwise.kinds.sets.votes import set_votes
    >>> votes = set_votes([1, 1, 2, 2], [*"abab"], [["x"], ["x", "y"], ["y"], ["y"]])
    >>> BinaryRelevance(by="majority_vote").fit(votes).posterior.tolist()
    [[1.0, 0.5], [0.0, 1.0]]
    """

    name: ClassVar[str] = "binary_relevance"
    by: str = "hierarchical"

    def __post_init__(self) -> None:
        super().__post_init__()
        own = card(self.by)
        if own.takes != "classes":
            raise ParameterError(f"by must be a method for classes, and {self.by} is for {own.takes}")
        if "gold" in own.needs:
            raise ParameterError(f"by must be a method that needs no gold, and {self.by} does")

    def solve(
        self,
        votes: Votes[Sets],
        rows: SetRows,
        gold: npt.NDArray[np.int8] | None,
        callback: Callback | None,
    ) -> SetSolution:
        """One fit for each class."""
        n, m, k = rows.n_tasks, rows.n_workers, rows.n_classes
        posterior, rate = np.zeros((n, k)), np.zeros(k)
        hits: F8 | None = np.full((m, k), 0.5)
        alarms: F8 | None = np.full((m, k), 0.5)
        passes, settled = 0, True
        for j in range(k):
            with many_fits():
                found = self._one(votes, j, gold)
            posterior[:, j], rate[j] = found.posterior[:, 1], found.class_prior[1]
            passes, settled = max(passes, found.n_iter), settled and found.converged
            if found.confusion is None or hits is None or alarms is None:
                hits = alarms = None
            else:
                hits[:, j], alarms[:, j] = found.confusion[:, 1, 1], found.confusion[:, 0, 1]
            if callback is not None:
                callback(j + 1, float("nan"))
        return SetSolution(posterior, rate, hits, alarms, n_iter=passes, converged=settled)

    def _one(self, votes: Votes[Sets], j: int, gold: npt.NDArray[np.int8] | None) -> Solution:
        yes = said(votes, j)
        own = Annotations(
            votes.task,
            votes.worker,
            yes,
            votes.tasks,
            votes.workers,
            NO_YES,
            weight=votes.weight,
        )
        if votes.answers.menu is not None and votes.answers.menus is not None:
            own = own.take(votes.answers.menus[votes.answers.menu, j])
        known = None
        if gold is not None and (gold[:, j] >= 0).any():
            known = Gold(np.where(gold[:, j] >= 0, gold[:, j], 2).astype(np.int32), 2)
        asked: Aggregator = method(self.by, seed=self.seed)
        return asked.answer(own, known, Run())  # what it says of the tasks; skills of each class are not wanted


def said(votes: Votes[Sets], j: int) -> npt.NDArray[np.int32]:
    """Whether each row names class j."""
    yes = np.zeros(len(votes), dtype=np.int32)
    yes[votes.answers.row[votes.answers.code == j]] = 1
    return yes
