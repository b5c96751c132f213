"""Estimates as answers, for what is measured between answers."""

from __future__ import annotations

import numpy as np

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.similarities.answers import Similarities
from ...kinds.similarities.estimate import SimilarityEstimate


def said(votes: Votes[Similarities], result: Result) -> Similarities:  # noqa: ARG001
    """What the clusters say of every task's pair."""
    own = result.estimate
    assert isinstance(own, SimilarityEstimate)
    same = (own.same > 0.5).astype(np.int8)
    return Similarities(own.left.astype(np.int32), own.right.astype(np.int32), same, own.items)
