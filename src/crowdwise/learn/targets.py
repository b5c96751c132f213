"""Targets for a classifier that takes the votes at their word."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from .feeding.batch import CrowdBatch


def vote_targets(batch: CrowdBatch, n_classes: int, targets: Literal["soft", "hard"]) -> Tensor:
    """Shares of the votes, or equal shares of the classes that lead ("hard"): B, K. Zero for a task without labels."""
    votes = batch.votes(n_classes)
    if targets == "hard":
        votes = ((votes == votes.amax(1, keepdim=True)) & (votes > 0)).to(votes.dtype)
    return votes / votes.sum(1, keepdim=True).clamp_min(1e-12)
