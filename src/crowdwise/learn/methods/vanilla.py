"""Vanilla: the classifier alone, trained on what the crowd said, as if it were true.

    targets="soft":  cross-entropy to the shares of the votes
    targets="hard":  cross-entropy to the majority (ties shared)
    targets="each":  cross-entropy to every label by itself

Fails where errors are systematic: the net learns the crowd's mean error.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from ..feeding.batch import CrowdBatch
from ..feeding.crowd import Crowd
from ..method import CrowdMethod, Defaults, Output
from ..targets import vote_targets


class Vanilla(CrowdMethod):
    """Training on the majority vote: the baseline that every other method must beat."""

    name = "vanilla"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)

    def __init__(self, crowd: Crowd, *, targets: Literal["soft", "hard", "each"] = "soft") -> None:
        super().__init__(crowd)
        self.targets: Literal["soft", "hard", "each"] = targets

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy to the votes."""
        if self.targets == "each":
            said = out.log_proba[batch.row, batch.label]
            return {"cross_entropy": -batch.mean_over_labels(said)}
        target = vote_targets(batch, self.n_classes, self.targets)
        return {"cross_entropy": -batch.mean_over_tasks((target * out.log_proba).sum(1))}

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor | None:  # noqa: ARG002
        """It knows nothing of workers: no forecaster."""
        return None
