"""ActiveLab (arXiv:2301.11856): scores that rank labelled and unlabelled examples for further labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import F8
from ...kinds.classes.methods.ensemble.crowdlab import majority
from .consensus import consensus
from .errors import LabelsError, value_errors
from .matrix import check, probabilities, read
from .temperature import best_temperature, scaled


@value_errors
def get_active_learning_scores(
    labels_multiannotator: Any = None, pred_probs: Any = None, pred_probs_unlabeled: Any = None
) -> tuple[F8, F8]:
    """Return the scores of labelled and of unlabelled examples; label those with low scores first."""
    return _scores(labels_multiannotator, pred_probs, pred_probs_unlabeled, ensemble=False)


@value_errors
def get_active_learning_scores_ensemble(
    labels_multiannotator: Any = None, pred_probs: Any = None, pred_probs_unlabeled: Any = None
) -> tuple[F8, F8]:
    """Like `get_active_learning_scores` for the probabilities of several models, [model, example, class].

    The probabilities are not modified; cleanlab overwrites them with the calibrated ones.
    """
    return _scores(labels_multiannotator, pred_probs, pred_probs_unlabeled, ensemble=True)


def _scores(labels_multiannotator: Any, pred_probs: Any, pred_probs_unlabeled: Any, *, ensemble: bool) -> tuple[F8, F8]:
    if pred_probs is None and pred_probs_unlabeled is None:
        raise LabelsError("give pred_probs (with labels_multiannotator), pred_probs_unlabeled, or both")
    probs = None if pred_probs is None else probabilities(pred_probs, ensemble=ensemble)
    unlabeled = None
    if pred_probs_unlabeled is not None:
        unlabeled = probabilities(pred_probs_unlabeled, ensemble=ensemble, name="pred_probs_unlabeled")
    if probs is None:
        assert unlabeled is not None
        return np.empty(0), _unlabelled(unlabeled, np.ones(len(unlabeled)), np.ones(len(unlabeled)), 1.0)
    if unlabeled is not None and unlabeled.shape[2] != probs.shape[2]:
        raise LabelsError("pred_probs and pred_probs_unlabeled must have the same number of classes")
    if unlabeled is not None and len(unlabeled) != len(probs):
        raise LabelsError(
            f"pred_probs has {len(probs)} models, pred_probs_unlabeled {len(unlabeled)}; the models must be the same"
        )
    scores, temperature, models, average = _labelled(labels_multiannotator, probs)
    return scores, np.empty(0) if unlabeled is None else _unlabelled(unlabeled, temperature, models, average)


def _labelled(labels_multiannotator: Any, probs: F8) -> tuple[F8, F8, F8, float]:
    """Return scores, the models' temperatures and weights, and the annotators' mean weight."""
    if labels_multiannotator is None:
        raise LabelsError("pred_probs needs labels_multiannotator; without labels give pred_probs_unlabeled alone")
    labels = read(labels_multiannotator, probs.shape[2])
    votes, temperature, models = labels.votes, np.ones(len(probs)), np.ones(len(probs))
    single = bool((votes.labels_per_task == 1).all())
    check(labels, probs, single=single)
    if single:
        mean, weight = probs.mean(axis=0), np.ones(votes.n_workers)
        quality = mean[np.arange(votes.n_tasks), majority(votes, mean)]
    else:
        temperature = np.array([best_temperature(votes, model_probs) for model_probs in probs])
        probs = np.stack([scaled(model_probs, t) for model_probs, t in zip(probs, temperature, strict=True)])
        result = consensus(labels, probs, "best_quality", "crowdlab")
        assert result.weighing is not None
        quality, models, weight = result.score(None), result.weighing.model_weights, result.weighing.worker_weight
    average = float(weight.mean())
    total = np.bincount(votes.task, weights=weight[votes.worker], minlength=votes.n_tasks) + models.sum()
    return (quality * total + average / probs.shape[2]) / (total + average), temperature, models, average


def _unlabelled(probs: F8, temperature: F8, models: F8, average: float) -> F8:
    """Score the models' own vote, smoothed with the weight of one average annotator."""
    if not probs.shape[1]:
        return np.empty(0)
    probs = np.stack([scaled(model_probs, t) for model_probs, t in zip(probs, temperature, strict=True)])
    k = probs.shape[2]
    vote = read(probs.argmax(axis=2).T, k).votes
    label = majority(vote, probs.mean(axis=0))
    mixed = (np.tensordot(models, probs, axes=1) + average / k) / (models.sum() + average)
    return np.asarray(mixed[np.arange(len(label)), label])
