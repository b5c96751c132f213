"""CROWDLAB: a classifier and the workers as voters, weighted by their improvement over the most frequent class.

    posterior[i] ∝ w_model · p_model[i] + sum_j w_j · likelihood(label_ij)
    w_j = 1 - error_j / error_commonest,   w_model = sqrt(mean labels per task) · (1 - error_model / error_commonest)

error_j is the disagreement with the other workers, error_model that with the consensus, error_commonest the error of
always predicting the most frequent class; the likelihood of a label is the crowd's agreement P for its class and
(1 - P) / (K - 1) for the others. Goh, Tkachenko & Mueller (2022), CROWDLAB, arXiv:2210.06812.
Fails if the classifier was trained on the same tasks: use out-of-sample probabilities, for example from scikit-learn's
cross_val_predict. Not in the registry, because it requires these probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .....core.arrays import F8, I8, Mask
from .....core.errors import DataError
from .....core.result import Result
from ...annotations import Annotations
from ..base import Aggregator, SolveOptions
from ..gold import GoldLabels
from ..partitioned import Solution

# Least weight of a voter, and least error of always predicting the most frequent class (cleanlab's figures).
LOW = 1e-6
# Tolerances of single probabilities and of their sums: half precision rounds by up to 5e-4.
ROUNDING, SLACK = 1e-6, 0.01


@dataclass(frozen=True)
class WeightedConsensus:
    """posterior[task, class] given a consensus, agreement[task] of the labels with the consensus, and the weights."""

    posterior: F8
    agreement: F8
    model_weights: F8  # one per classifier
    worker_weight: F8


def crowdlab(annotations: Annotations, pred_probs: Any) -> Result:
    """Compute the consensus of a crowd and a classifier.

    Args:
        annotations: The votes.
        pred_probs: Out-of-sample probabilities [task, class] of the classifier, in the order of `annotations.tasks` and
            `annotations.classes`. Tasks without labels get these probabilities.

    Returns:
        The result; `extra` has model_weight and worker_weight. Ties, rare with a classifier, go to the first class.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2, 3, 3], [*"ababab"], [*"xxyyxy"])
    >>> crowdlab(votes, [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]).to_table()["label"].to_list()
    ['x', 'y', 'x']
    """
    probs = whole_rows(check_probs(annotations, pred_probs))
    first = weigh(annotations, probs[None], majority(annotations, probs))
    last = weigh(annotations, probs[None], best_quality(first.posterior, annotations, probs))
    solution = Solution(
        last.posterior,
        last.posterior.mean(axis=0),
        extra={"model_weight": float(last.model_weights[0]), "worker_weight": last.worker_weight},
    )
    method = _Crowdlab()
    return method.result(annotations, method.output(annotations, None, solution, SolveOptions()))


@dataclass(frozen=True, kw_only=True)
class _Crowdlab(Aggregator):
    name: ClassVar[str] = "crowdlab"

    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:
        raise NotImplementedError("crowdlab needs a classifier's probabilities; call crowdwise.classes.crowdlab")


def check_probs(annotations: Annotations, pred_probs: Any) -> F8:
    """Return the probabilities as an array [task, class], each between 0 and 1."""
    probs = np.asarray(pred_probs, dtype=np.float64)
    shape = (annotations.n_tasks, annotations.n_classes)
    if probs.shape != shape:
        raise DataError(f"pred_probs must have one row a task and one column a class, {shape}, got {probs.shape}")
    if annotations.weight is not None:
        raise DataError("crowdlab does not support weights of labels; leave the column out")
    return between_0_and_1(probs)


def between_0_and_1(probs: F8) -> F8:
    """Return the probabilities clipped to [0, 1]; raise if they are outside by more than rounding."""
    if not ((probs >= -ROUNDING) & (probs <= 1 + ROUNDING)).all():
        raise DataError("pred_probs holds numbers that are no probabilities; look for NaN, negative values and logits")
    return np.clip(probs, 0.0, 1.0)


def whole_rows(probs: F8) -> F8:
    """Return the rows divided by their sums, which must be close to 1; a smaller sum indicates a missing class."""
    total = probs.sum(axis=1)
    wrong = np.flatnonzero(np.abs(total - 1) > SLACK)
    if len(wrong):
        raise DataError(
            f"each row of pred_probs must sum to 1; {len(wrong)} do not, the first is row {wrong[0]} with "
            f"{total[wrong[0]]:.4g}: is a class missing?"
        )
    return np.asarray(probs / total[:, None])


def majority(annotations: Annotations, probs: F8 | None) -> I8:
    """Return the class with most votes; a task without votes is a tie of all classes.

    Ties are broken by the classifier, then by the rarer class, then by the more accurate workers, then by class order.
    """
    votes = annotations.votes
    tied = votes == votes.max(axis=1, keepdims=True)
    several = np.flatnonzero(tied.sum(axis=1) > 1)
    if probs is not None:
        _narrow(tied, several, probs[several])
    _narrow(tied, several, np.broadcast_to(-votes.sum(axis=0), (len(several), votes.shape[1])))
    unresolved = several[tied[several].sum(axis=1) > 1]
    if len(unresolved):
        clear = np.ones(len(votes), dtype=bool)
        clear[several] = False
        _narrow(tied, unresolved, _mean_accuracy(annotations, votes.argmax(axis=1), clear)[unresolved])
    return np.asarray(tied.argmax(axis=1))


def _narrow(tied: Mask, rows: I8, score: F8) -> None:
    """Keep the tied classes with the highest score."""
    score = np.where(tied[rows], score, -np.inf)
    tied[rows] = score == score.max(axis=1, keepdims=True, initial=-np.inf)


def _mean_accuracy(annotations: Annotations, consensus: I8, clear: Mask) -> F8:
    """Return accuracy[task, class]: that of the workers who gave this label, as agreement with the clear majorities."""
    rows = clear[annotations.task]
    right = annotations.label[rows] == consensus[annotations.task[rows]]
    share = mean_by(annotations.worker[rows], right, annotations.n_workers)
    share = np.where(np.isnan(share), np.nanmean(share) if rows.any() else 0.0, share)
    k = annotations.n_classes
    cell = annotations.task.astype(np.int64) * k + annotations.label
    mean = mean_by(cell, share[annotations.worker], annotations.n_tasks * k)
    return np.nan_to_num(mean, nan=-1.0).reshape(-1, k)


def best_quality(posterior: F8, annotations: Annotations, probs: F8) -> I8:
    """Return the most probable class of each task, or that of the majority in a tie."""
    top = posterior == posterior.max(axis=1, keepdims=True)
    return np.where(top.sum(axis=1) == 1, top.argmax(axis=1), majority(annotations, probs))


def weigh(annotations: Annotations, probs: F8, consensus: I8) -> WeightedConsensus:
    """Compute the weights of workers and classifiers given a consensus, and the posterior (section 3 of the paper).

    probs[model, task, class] may hold several classifiers; each is a voter.
    """
    n, k = annotations.labels_per_task, annotations.n_classes
    several = n > 1
    if not several.any():
        raise DataError("crowdlab needs tasks with at least two labels; without them agreement is undefined")
    right = annotations.label == consensus[annotations.task]
    agreement = mean_by(annotations.task, right, annotations.n_tasks)
    p_agree = float(agreement[several].mean())  # P
    p_other = (1 - p_agree) / max(k - 1, 1)
    chosen = consensus[several]
    commonest = int(np.bincount(chosen, minlength=k).argmax())
    error = max(float((chosen != commonest).mean()), LOW)
    worker = np.maximum(1 - (1 - worker_agreement(annotations)) / error, LOW)
    model_error = (probs[:, several].argmax(axis=2) != chosen).mean(axis=1)
    models = np.maximum(1 - model_error / error, LOW) * float(np.sqrt(n[n > 0].mean()))
    w = worker[annotations.worker]
    cell = annotations.task.astype(np.int64) * k + annotations.label
    total_weight = np.bincount(annotations.task, weights=w, minlength=annotations.n_tasks)[:, None]
    class_weight = np.bincount(cell, weights=w, minlength=annotations.n_tasks * k).reshape(-1, k)
    model_score = np.tensordot(models, probs, axes=1)
    posterior = (model_score + p_other * total_weight + (p_agree - p_other) * class_weight) / (
        total_weight + models.sum()
    )
    return WeightedConsensus(posterior, agreement, models, worker)


def worker_agreement(annotations: Annotations) -> F8:
    """Return the share of other labels of the same tasks that equal the worker's; the mean if there are none."""
    others = annotations.labels_per_task[annotations.task] - 1
    same = annotations.votes[annotations.task, annotations.label] - 1
    total = np.bincount(annotations.worker, weights=others, minlength=annotations.n_workers)
    hits = np.bincount(annotations.worker, weights=same, minlength=annotations.n_workers)
    has_others = total > 0
    share = hits / np.where(has_others, total, 1.0)
    return np.where(has_others, share, share[has_others].mean() if has_others.any() else 0.0)


def mean_by(codes: npt.NDArray[Any], values: npt.NDArray[Any], size: int) -> F8:
    """Return the mean of the values of each code, NaN for codes without values."""
    n = np.bincount(codes, minlength=size)
    total = np.bincount(codes, weights=values, minlength=size)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)
