"""Consensus labels, their agreement with the given labels, and the quality of the consensus and of every label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.arrays import F8, I8
from ...kinds.classes.methods.ensemble.crowdlab import WeightedConsensus, best_quality, majority, weigh
from .errors import LabelsError, check_choice
from .matrix import Labels


class Consensus:
    """Consensus labels, their agreement, the posterior that scores them, and the weights if there are any."""

    def __init__(self, labels: Labels, label: I8, probs: F8, quality_method: str) -> None:
        votes = labels.votes
        self.label = label
        self.weighing: WeightedConsensus | None = None
        if quality_method == "crowdlab":
            self.weighing = weigh(votes, probs, label)
            self.agreement, self.posterior = self.weighing.agreement, self.weighing.posterior
        else:
            self.posterior = votes.votes / votes.labels_per_task[:, None]
            self.agreement = self.posterior[np.arange(len(label)), label]

    def score(self, options: Mapping[str, Any] | None) -> F8:
        """Return the quality of the consensus of each example."""
        if self.weighing is None:
            return self.agreement
        return quality(self.posterior, np.arange(len(self.label)), self.label, options)


def consensus(labels: Labels, probs: F8, method: str, quality_method: str) -> Consensus:
    """Compute the consensus from labels and probs[model, example, class]; `method` is majority_vote or best_quality."""
    mean = probs.mean(axis=0)
    vote = Consensus(labels, majority(labels.votes, mean), probs, quality_method)
    if method == "majority_vote":
        return vote
    return Consensus(labels, best_quality(vote.posterior, labels.votes, mean), probs, quality_method)


def quality(posterior: F8, task: npt.NDArray[Any], label: npt.NDArray[Any], options: Mapping[str, Any] | None) -> F8:
    """Return the quality of labels: their probability, or its margin over the best other class scaled to 0..1."""
    options = dict(options or {})
    method = options.pop("method", "self_confidence")
    check_choice("label_quality_score_kwargs['method']", method, ("self_confidence", "normalized_margin"))
    if options.pop("adjust_pred_probs", False) or options:
        raise LabelsError("label_quality_score_kwargs supports only `method`; leave the others out")
    prob = posterior[task, label]
    if method == "self_confidence":
        return np.asarray(prob)
    others = posterior[task]
    others[np.arange(len(task)), label] = -np.inf
    return np.asarray((prob - others.max(axis=1) + 1) / 2)
