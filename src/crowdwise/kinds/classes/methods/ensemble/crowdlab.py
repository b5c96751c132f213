"""CROWDLAB: a classifier is one more voter, and all are weighed by how much better than the commonest class they are.

    posterior[i] ∝ w_model · p_model[i] + sum_j w_j · likelihood(label_ij)
    w_j = 1 - error_j / error_commonest,   w_model = sqrt(mean labels per task) · (1 - error_model / error_commonest)

error_j is disagreement with the other workers, error_model disagreement with the consensus, error_commonest that of
always saying the commonest class; a label's likelihood is the crowd's agreement P for its class, (1 - P) / (K - 1) for
the others. Goh, Tkachenko & Mueller (2022), CROWDLAB, arXiv:2210.06812.
Fails where the classifier was trained on the tasks that it judges: give it out-of-sample probabilities, as of
scikit-learn's cross_val_predict. Not in the registry: it needs those probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .....core.errors import DataError
from .....core.result import Result
from ...annotations import Annotations
from ..base import Aggregator, Run
from ..gold import Gold
from ..partitioned import Solution

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# No voter weighs less than this, and always saying the commonest class is wrong at least as often (cleanlab's figures).
LOW = 1e-6
# Half precision rounds probabilities by up to 5e-4; sums of many of them by some more.
ROUNDING, SLACK = 1e-6, 0.01


@dataclass(frozen=True)
class Weighing:
    """posterior[task, class] under a consensus, and the weights behind it; agreement[task] is with the consensus."""

    posterior: F8
    agreement: F8
    model_weights: F8  # one for each classifier
    worker_weight: F8


def crowdlab(annotations: Annotations, pred_probs: Any) -> Result:
    """Consensus of a crowd and of a classifier's out-of-sample probabilities [task, class].

    Rows in the order of annotations.tasks, columns in that of annotations.classes; a task without labels has the
    classifier's word. `extra` has model_weight and worker_weight. Ties, rare with a classifier, go by the first class.

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
    return method.result(annotations, method.output(annotations, None, solution, Run()))


@dataclass(frozen=True, kw_only=True)
class _Crowdlab(Aggregator):
    name: ClassVar[str] = "crowdlab"

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        raise NotImplementedError("crowdlab needs a classifier's probabilities; call crowdwise.classes.crowdlab")


def check_probs(annotations: Annotations, pred_probs: Any) -> F8:
    """The probabilities as an array, one row a task and one column a class, each between 0 and 1."""
    probs = np.asarray(pred_probs, dtype=np.float64)
    shape = (annotations.n_tasks, annotations.n_classes)
    if probs.shape != shape:
        raise DataError(f"pred_probs must have one row a task and one column a class, {shape}, got {probs.shape}")
    if annotations.weight is not None:
        raise DataError("crowdlab has no use for weights of labels; leave the column out")
    return between_0_and_1(probs)


def between_0_and_1(probs: F8) -> F8:
    """The same, unless some of it is no probability; what rounding put beside 0 and 1 is put right."""
    if not ((probs >= -ROUNDING) & (probs <= 1 + ROUNDING)).all():
        raise DataError("pred_probs holds numbers that are no probabilities; look for NaN, negative values and logits")
    return np.clip(probs, 0.0, 1.0)


def whole_rows(probs: F8) -> F8:
    """Rows divided by their sums, which must be close to 1: where a class was left out, the others are too small."""
    total = probs.sum(axis=1)
    wrong = np.flatnonzero(np.abs(total - 1) > SLACK)
    if len(wrong):
        raise DataError(
            f"each row of pred_probs must sum to 1; {len(wrong)} do not, the first is row {wrong[0]} with "
            f"{total[wrong[0]]:.4g}: is a class missing?"
        )
    return np.asarray(probs / total[:, None])


def majority(annotations: Annotations, probs: F8 | None) -> I8:
    """The class with most votes; ties by the classifier, then the rarer class, then the better workers, then order.

    A task without votes is a tie of all classes.
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
        _narrow(tied, unresolved, _backing(annotations, votes.argmax(axis=1), clear)[unresolved])
    return np.asarray(tied.argmax(axis=1))


def _narrow(tied: npt.NDArray[np.bool_], rows: I8, score: F8) -> None:
    """Keep of the tied classes those with the highest score."""
    score = np.where(tied[rows], score, -np.inf)
    tied[rows] = score == score.max(axis=1, keepdims=True, initial=-np.inf)


def _backing(annotations: Annotations, consensus: I8, clear: npt.NDArray[np.bool_]) -> F8:
    """backing[task, class]: mean agreement with the clear tasks' majority of those who said so."""
    rows = clear[annotations.task]
    right = annotations.label[rows] == consensus[annotations.task[rows]]
    share = mean_by(annotations.worker[rows], right, annotations.n_workers)
    share = np.where(np.isnan(share), np.nanmean(share) if rows.any() else 0.0, share)
    k = annotations.n_classes
    cell = annotations.task.astype(np.int64) * k + annotations.label
    mean = mean_by(cell, share[annotations.worker], annotations.n_tasks * k)
    return np.nan_to_num(mean, nan=-1.0).reshape(-1, k)


def best_quality(posterior: F8, annotations: Annotations, probs: F8) -> I8:
    """The most probable class of each task; the majority's where several are equally probable."""
    top = posterior == posterior.max(axis=1, keepdims=True)
    return np.where(top.sum(axis=1) == 1, top.argmax(axis=1), majority(annotations, probs))


def weigh(annotations: Annotations, probs: F8, consensus: I8) -> Weighing:
    """Weights of workers and classifiers under a consensus, and what they say together (section 3 of the paper).

    probs[model, task, class]: each of several classifiers is one more voter.
    """
    n, k = annotations.labels_per_task, annotations.n_classes
    several = n > 1
    if not several.any():
        raise DataError("crowdlab needs tasks with two labels or more; here nobody's agreement can be known")
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
    return Weighing(posterior, agreement, models, worker)


def worker_agreement(annotations: Annotations) -> F8:
    """Share of the other labels of their tasks that equal each worker's own; the mean where nobody met them."""
    others = annotations.labels_per_task[annotations.task] - 1
    same = annotations.votes[annotations.task, annotations.label] - 1
    total = np.bincount(annotations.worker, weights=others, minlength=annotations.n_workers)
    hits = np.bincount(annotations.worker, weights=same, minlength=annotations.n_workers)
    has_others = total > 0
    share = hits / np.where(has_others, total, 1.0)
    return np.where(has_others, share, share[has_others].mean() if has_others.any() else 0.0)


def mean_by(codes: npt.NDArray[Any], values: npt.NDArray[Any], size: int) -> F8:
    """Mean of the values of each code; NaN where there are none."""
    n = np.bincount(codes, minlength=size)
    total = np.bincount(codes, weights=values, minlength=size)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)
