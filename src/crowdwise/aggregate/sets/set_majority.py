"""Majority by class: a class is in the set where enough of those who could name it did.

    posterior[i, k] = named / offered,   in the set from `cut` on

Fails where workers rarely name all that is true: half of them may then never come together. A lower `cut` helps, but
how low cannot be told without some truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import PositiveShare
from ...core.votes import Votes
from ...engine.em import Callback
from ...kinds.sets.answers import Sets
from ...maths.sets.rows import SetRows
from .base import SetAggregator, SetSolution


@dataclass(frozen=True, kw_only=True)
class SetMajority(SetAggregator):
    """A class is in the set where a share of at least `cut` (0..1) of the answers names it.

    >>> from crowdwise.kinds.sets.votes import set_votes
    >>> votes = set_votes([1, 1, 1], ["a", "b", "c"], [["x", "y"], ["x"], ["x"]])
    >>> SetMajority().fit(votes).sets
    [['x']]
    """

    name: ClassVar[str] = "set_majority"
    cut: PositiveShare = 0.5

    def solve(
        self,
        votes: Votes[Sets],  # noqa: ARG002
        rows: SetRows,
        gold: npt.NDArray[np.int8] | None,  # noqa: ARG002
        callback: Callback | None,  # noqa: ARG002
    ) -> SetSolution:
        """Shares of the answers."""
        shares = rows.shares()
        heard = rows.asked > 0
        mass: Any = np.where(heard, shares, 0.0).sum(axis=0) / np.maximum(heard.sum(axis=0), 1)
        return SetSolution(shares, np.asarray(mass))
