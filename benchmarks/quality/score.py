"""Scores of a posterior, the same for all contenders."""

from __future__ import annotations

import numpy as np

from crowdwise.core.vocabulary import lookup
from crowdwise.datasets import Dataset
from crowdwise.evaluation.calibration import expected_calibration_error
from crowdwise.kinds.classes.scoring.evaluate import probability_terms

SCORES = ("accuracy", "log_loss", "ece")


def score(posterior: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Accuracy with ties shared, log-loss in nats (clipped at 1e-6), ECE, over the tasks whose truth is known."""
    known = np.flatnonzero(truth >= 0)
    p = np.zeros((len(known), max(posterior.shape[1], int(truth.max()) + 1)))
    p[:, : posterior.shape[1]] = posterior[known]
    terms = probability_terms(p, truth[known].astype(np.int32))
    return {
        "accuracy": float(terms["expected_accuracy"].mean()),
        "log_loss": float(terms["log_loss"].mean()),
        "ece": expected_calibration_error(terms["mean_confidence"], terms["expected_accuracy"]),
    }


def truth_of(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The tasks with a truth that have votes, and its class; one that nobody ever said is a class of its own."""
    votes = data.annotations
    at, known = lookup(votes.tasks, data.truth["task"])
    true, spoken = lookup(votes.classes, data.truth["label"])
    return at[known], np.where(spoken, true, votes.n_classes)[known]


def hits(labels: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """The same of labels without probabilities."""
    known = truth >= 0
    return {"accuracy": float((labels[known] == truth[known]).mean())}
