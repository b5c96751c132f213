"""Zero-based skill: all workers start barely above chance, then re-vote and re-weigh in shrinking steps.

    weight[w] += lr · (agreement[w] - weight[w]),   lr halves every 20 rounds

Reference: Toloka's zero-based skill; crowd-kit's ZeroBasedSkill (same start, same schedule).
Fails like Wawa where the majority is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Count, NonNegative, PositiveShare
from ...engine import journal
from ..spread import Spread
from .base import Weights
from .split import SplitVote, Ties, agreement


@dataclass(frozen=True, kw_only=True)
class ZeroBasedSkill(SplitVote):
    """`lr` in (0, 1] is the first step; the loop ends early once no weight moves by more than `tol`.
    `ties`: see Wawa.

    >>> from crowdwise import Annotations

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> ZeroBasedSkill().fit(votes).posterior
    array([[1., 0.]])
    """

    name: ClassVar[str] = "zero_based_skill"
    max_iter: Count = 100
    tol: NonNegative = 1e-5
    lr: PositiveShare = 1.0
    ties: Ties = "split"

    def weigh(self, data: Spread) -> Weights:
        """Agreement with the weighted consensus, approached step by step."""
        notes = journal.notes()
        held = notes.read()
        weight, iteration, converged = np.full(data.n_workers, 1 / data.n_classes + 1e-5), 0, False
        if held is not None:
            weight, iteration, converged = held["weight"], int(held["passes"]), bool(held["converged"])
        while iteration < self.max_iter and not converged:
            iteration += 1
            target = agreement(data, weight, self.ties).share()
            step = self.lr * 0.5 ** (iteration // 20) * (target - weight)
            weight = weight + step
            converged = bool(np.abs(step).max(initial=0.0) <= self.tol)
            notes.write(iteration, converged, weight=weight, converged=converged)
        return Weights(weight, n_iter=iteration, converged=converged)
