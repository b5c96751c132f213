"""Subjective: no single truth is forced; each task gets the distribution of what people say of it.

    π_n = (counts_n + a · pooled) / (n + a),   a in {.5, 1, 2, 4, 8}: the one that predicts held-out raters best

For tasks on which people rightly differ (offence, taste, quality). The confidence is a share of raters, not a chance of
being right; what promises a right label refuses such a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Positive
from ...kinds.classes.annotations import Annotations
from ...maths.judges.subjective import Rows, choose_strength, soft_labels
from ..base import Aggregator, Run, Solution
from ..gold import Gold


@dataclass(frozen=True, kw_only=True)
class Subjective(Aggregator):
    """`strength` is how many raters the crowd's own distribution weighs (None: chosen by held-out raters).

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"xyxx"])
    >>> Subjective(strength=1.0).fit(votes).posterior.round(2)
    array([[0.58, 0.42],
           [0.92, 0.08]])
    """

    name: ClassVar[str] = "subjective"
    strength: Positive | None = None

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:  # noqa: ARG002
        """The strength, then the distributions."""
        votes = annotations.votes
        losses: dict[str, float] = {}
        strength = self.strength
        if strength is None:
            strength, losses = choose_strength(rater_rows(annotations))
        posterior, pooled = soft_labels(votes, strength)
        posterior = posterior if gold is None else gold.clamp(posterior)
        extra = {"subjective": True, "strength": float(strength), "held_out_log_loss": losses}
        return Solution(posterior, pooled, extra=extra)


def rater_rows(annotations: Annotations) -> Rows:
    """The rows as raters' labels."""
    weight = np.ones(len(annotations)) if annotations.weight is None else annotations.weight
    task, rater, label = (x.astype(np.int64) for x in (annotations.task, annotations.worker, annotations.label))
    return Rows(task, rater, label, weight, annotations.votes)
