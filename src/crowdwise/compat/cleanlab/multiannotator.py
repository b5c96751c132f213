"""cleanlab.multiannotator: label quality, majority vote and active-learning scores, counted over the labels alone."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...aggregate.crowdlab import Weighing, best_quality, check_probs, majority, weigh
from ...errors import CrowdwiseWarning
from .annotators import annotator_stats
from .matrix import Labels, LabelsError, check, check_choice, read
from .temperature import best_temperature, scaled

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
CONSENSUS = ("best_quality", "majority_vote")
QUALITY = ("crowdlab", "agreement")


def get_label_quality_multiannotator(
    labels_multiannotator: Any,
    pred_probs: Any,
    *,
    consensus_method: str | list[str] = "best_quality",
    quality_method: str = "crowdlab",
    calibrate_probs: bool = False,
    return_detailed_quality: bool = True,
    return_annotator_stats: bool = True,
    return_weights: bool = False,
    verbose: bool = True,
    label_quality_score_kwargs: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """cleanlab 2.9's function of this name: a dict with label_quality, detailed_label_quality, annotator_stats
    (DataFrames with cleanlab's columns) and, on request, model_weight and annotator_weight.

    Labels: cleanlab's wide matrix; also a long frame (task, annotator or worker, label) or Annotations, whose tasks in
    sorted order are the rows of pred_probs. detailed_label_quality is the one dense table; without it nothing is.
    Beside cleanlab: an annotator without labels is no error; a last tie goes to the first class, not to chance;
    nothing is printed, `verbose` turns the notes into warnings. cleanlab 2.9 files the label counts of an example under
    the first classes, whichever they are (its labels are floats by then), which spoils quality_method="agreement",
    calibrate_probs=True and the active-learning scores; here they are filed under their own.
    """
    probs = np.asarray(pred_probs, dtype=np.float64)
    labels = read(labels_multiannotator, probs.shape[1] if probs.ndim == 2 else None)
    check_probs(labels.votes, probs)
    check(labels)
    methods = consensus_method if isinstance(consensus_method, list) else [consensus_method]
    for name in methods:
        check_choice("consensus_method", name, CONSENSUS)
    check_choice("quality_method", quality_method, QUALITY)
    if return_weights and quality_method != "crowdlab":
        raise LabelsError("weights belong to quality_method='crowdlab'; set return_weights=False or that method")
    if calibrate_probs:
        probs = scaled(probs, best_temperature(labels.votes, probs))
    found = [_consensus(labels, probs, name, quality_method) for name in methods]
    score = [_score(c, label_quality_score_kwargs) for c in found]
    out: dict[str, Any] = {"label_quality": _quality_table(labels, methods, found, score)}
    first = found[0]
    own = _quality(first.posterior, labels.votes.task, labels.votes.label, label_quality_score_kwargs)
    if return_detailed_quality:
        out["detailed_label_quality"] = _detailed(labels, own)
    if return_annotator_stats:
        out["annotator_stats"] = annotator_stats(labels, first.label, score[0], own, first.weighing)
    last = found[-1].weighing  # cleanlab gives the weights of the last method
    if return_weights and last is not None:
        out |= {"model_weight": last.model_weight, "annotator_weight": last.worker_weight}
    if verbose:
        _tell_lost_classes(labels, first.label)
    return out


def get_majority_vote_label(labels_multiannotator: Any, pred_probs: Any = None, verbose: bool = True) -> I8:
    """The most frequent label of each example; ties by pred_probs, then the rarer class, then the better annotators,
    then (cleanlab: at random) the first class."""
    probs = None if pred_probs is None else np.asarray(pred_probs, dtype=np.float64)
    labels = read(labels_multiannotator, None if probs is None else probs.shape[1])
    chosen = majority(labels.votes, probs if probs is None else check_probs(labels.votes, probs))
    if verbose:
        _tell_lost_classes(labels, chosen)
    return np.asarray(labels.named(chosen))


def get_active_learning_scores(
    labels_multiannotator: Any = None, pred_probs: Any = None, pred_probs_unlabeled: Any = None
) -> tuple[F8, F8]:
    """ActiveLab (arXiv:2301.11856): low scores first, of labelled and of unlabelled examples, on one scale."""
    temperature = model = average = 1.0
    scores = np.empty(0)
    if pred_probs is None and pred_probs_unlabeled is None:
        raise LabelsError("give pred_probs (with labels_multiannotator), pred_probs_unlabeled, or both")
    if pred_probs is not None:
        probs = np.asarray(pred_probs, dtype=np.float64)
        labels = read(labels_multiannotator, probs.shape[1])
        votes, weight = labels.votes, np.ones(labels.votes.n_workers)
        if (votes.labels_per_task == 1).all():
            quality = probs[np.arange(len(probs)), majority(votes, probs)]
        else:
            check(labels)
            temperature = best_temperature(votes, probs)
            found = _consensus(labels, scaled(check_probs(votes, probs), temperature), "best_quality", "crowdlab")
            assert found.weighing is not None
            quality, model, weight = _score(found, None), found.weighing.model_weight, found.weighing.worker_weight
        average = float(weight.mean())
        heard = np.bincount(votes.task, weights=weight[votes.worker], minlength=votes.n_tasks) + model
        scores = (quality * heard + average / probs.shape[1]) / (heard + average)
    if pred_probs_unlabeled is None:
        return scores, np.empty(0)
    rest = scaled(np.asarray(pred_probs_unlabeled, dtype=np.float64), temperature)
    return scores, (rest.max(axis=1) * model + average / rest.shape[1]) / (model + average)


class _Consensus:
    """A consensus, how far the labels agree with it, the posterior that scores it, and the weights if there are any."""

    def __init__(self, labels: Labels, label: I8, probs: F8, quality_method: str) -> None:
        votes = labels.votes
        self.label = label
        self.weighing: Weighing | None = None
        if quality_method == "crowdlab":
            self.weighing = weigh(votes, probs, label)
            self.agreement, self.posterior = self.weighing.agreement, self.weighing.posterior
        else:
            self.posterior = votes.votes / votes.labels_per_task[:, None]
            self.agreement = self.posterior[np.arange(len(label)), label]


def _consensus(labels: Labels, probs: F8, method: str, quality_method: str) -> _Consensus:
    vote = _Consensus(labels, majority(labels.votes, probs), probs, quality_method)
    if method == "majority_vote":
        return vote
    return _Consensus(labels, best_quality(vote.posterior, labels.votes, probs), probs, quality_method)


def _score(found: _Consensus, wishes: Mapping[str, Any] | None) -> F8:
    if found.weighing is None:
        return found.agreement
    return _quality(found.posterior, np.arange(len(found.label)), found.label, wishes)


def _quality(posterior: F8, task: npt.NDArray[Any], label: npt.NDArray[Any], wishes: Mapping[str, Any] | None) -> F8:
    """Quality of labels: their probability, or its margin over the best other class mapped to 0..1."""
    wishes = dict(wishes or {})
    method = wishes.pop("method", "self_confidence")
    check_choice("label_quality_score_kwargs['method']", method, ("self_confidence", "normalized_margin"))
    if wishes.pop("adjust_pred_probs", False) or wishes:
        raise LabelsError("of label_quality_score_kwargs only `method` is known here; leave the others out")
    own = posterior[task, label]
    if method == "self_confidence":
        return np.asarray(own)
    others = posterior[task]
    others[np.arange(len(task)), label] = -np.inf
    return np.asarray((own - others.max(axis=1) + 1) / 2)


def _quality_table(labels: Labels, methods: list[str], found: list[_Consensus], score: list[F8]) -> pd.DataFrame:
    """The first method under cleanlab's plain names, further ones with their own name behind."""
    columns: dict[str, Any] = {}
    for i, (name, consensus) in enumerate(zip(methods, found, strict=True)):
        suffix = f"_{name}" if i else ""
        columns[f"consensus_label{suffix}"] = labels.named(consensus.label)
        columns[f"consensus_quality_score{suffix}"] = score[i]
        columns[f"annotator_agreement{suffix}"] = consensus.agreement
        if i == 0:
            columns["num_annotations"] = labels.votes.labels_per_task
    return pd.DataFrame(columns, index=labels.examples)


def _detailed(labels: Labels, own: F8) -> pd.DataFrame:
    """Quality of every label where it stands in the wide matrix; NaN elsewhere."""
    votes = labels.votes
    dense = np.full((votes.n_tasks, votes.n_workers), np.nan)
    dense[votes.task, votes.worker] = own
    return pd.DataFrame(dense, index=labels.examples, columns=labels.annotators).add_prefix("quality_annotator_")


def _tell_lost_classes(labels: Labels, chosen: I8) -> None:
    lost = np.setdiff1d(labels.votes.label, chosen)
    if len(lost):
        warnings.warn(
            f"{len(lost)} classes were said but are nowhere the consensus: {labels.named(lost).tolist()}; a classifier "
            "trained on the consensus will never see them",
            CrowdwiseWarning,
            stacklevel=3,
        )
