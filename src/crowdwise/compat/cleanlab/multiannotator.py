"""cleanlab.multiannotator: label quality, majority vote and active-learning scores, counted over the labels alone."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...core.errors import CrowdwiseWarning
from ...kinds.classes.methods.ensemble.crowdlab import majority
from .active import get_active_learning_scores, get_active_learning_scores_ensemble
from .annotators import annotator_stats
from .consensus import Consensus, consensus, quality
from .errors import ColumnError, LabelsError, check_choice, value_errors
from .matrix import Labels, check, probabilities, read
from .temperature import best_temperature, scaled

__all__ = [
    "convert_long_to_wide_dataset",
    "get_active_learning_scores",
    "get_active_learning_scores_ensemble",
    "get_label_quality_multiannotator",
    "get_label_quality_multiannotator_ensemble",
    "get_majority_vote_label",
]

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
CONSENSUS = ("best_quality", "majority_vote")
QUALITY = ("crowdlab", "agreement")


@value_errors
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
    if return_weights and quality_method != "crowdlab":
        raise LabelsError(
            "Model and annotator weights are only applicable to the crowdlab quality method; "
            "set return_weights=False or quality_method='crowdlab'"
        )
    methods = consensus_method if isinstance(consensus_method, list) else [consensus_method]
    for name in methods:
        check_choice("consensus_method", name, CONSENSUS)
    check_choice("quality_method", quality_method, QUALITY)
    labels, probs = _given(labels_multiannotator, pred_probs, calibrate_probs, ensemble=False)
    found = [consensus(labels, probs, name, quality_method) for name in methods]
    out = _tables(labels, methods, found, label_quality_score_kwargs, return_detailed_quality, return_annotator_stats)
    last = found[-1].weighing  # cleanlab gives the weights of the last method
    if return_weights and last is not None:
        out |= {"model_weight": float(last.model_weights[0]), "annotator_weight": last.worker_weight}
    if verbose:
        _tell_lost_classes(labels, found[0].label)
    return out


@value_errors
def get_label_quality_multiannotator_ensemble(
    labels_multiannotator: Any,
    pred_probs: Any,
    *,
    calibrate_probs: bool = False,
    return_detailed_quality: bool = True,
    return_annotator_stats: bool = True,
    return_weights: bool = False,
    verbose: bool = True,
    label_quality_score_kwargs: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The same for the probabilities of several models, [model, example, class], each with a weight of its own:
    `model_weight` is an array. Always best_quality by crowdlab. The probabilities are left as they are; cleanlab
    overwrites them with the calibrated ones."""
    labels, probs = _given(labels_multiannotator, pred_probs, calibrate_probs, ensemble=True)
    found = consensus(labels, probs, "best_quality", "crowdlab")
    wishes = (label_quality_score_kwargs, return_detailed_quality, return_annotator_stats)
    out = _tables(labels, ["best_quality"], [found], *wishes)
    if return_weights and found.weighing is not None:
        out |= {"model_weight": found.weighing.model_weights, "annotator_weight": found.weighing.worker_weight}
    if verbose:
        _tell_lost_classes(labels, found.label)
    return out


@value_errors
def get_majority_vote_label(labels_multiannotator: Any, pred_probs: Any = None, verbose: bool = True) -> I8:
    """The most frequent label of each example; ties by pred_probs, then the rarer class, then the better annotators,
    then (cleanlab: at random) the first class."""
    probs = None if pred_probs is None else probabilities(pred_probs, ensemble=False)
    labels = read(labels_multiannotator, None if probs is None else probs.shape[2])
    if probs is not None and probs.shape[1] != labels.votes.n_tasks:
        raise LabelsError(f"pred_probs must have one row an example, {labels.votes.n_tasks}, it has {probs.shape[1]}")
    chosen = majority(labels.votes, None if probs is None else probs[0])
    if verbose:
        _tell_lost_classes(labels, chosen)
    return np.asarray(labels.named(chosen))


@value_errors
def convert_long_to_wide_dataset(labels_multiannotator_long: Any) -> pd.DataFrame:
    """A long table task, annotator, label as a wide one, which the other functions take; they take the long one too.

    >>> long = pd.DataFrame({"task": [1, 1, 2], "annotator": [*"aba"], "label": [0, 1, 1]})
    >>> convert_long_to_wide_dataset(long).to_dict()
    {'a': {1: 0.0, 2: 1.0}, 'b': {1: 1.0, 2: nan}}
    """
    long = labels_multiannotator_long
    for name in ("task", "annotator", "label"):
        if name not in long:
            raise ColumnError(f"the long table has no column {name!r}; it needs task, annotator and label")
    again = long.duplicated(["task", "annotator"])
    if again.any():
        row = long[again].iloc[0]
        raise LabelsError(
            f"annotator {row['annotator']!r} has several labels for example {row['task']!r}; keep one of each pair"
        )
    return long.pivot(index="task", columns="annotator", values="label").rename_axis(index=None, columns=None)


def _given(labels_multiannotator: Any, pred_probs: Any, calibrate: bool, *, ensemble: bool) -> tuple[Labels, F8]:
    """The labels, and probs[model, example, class], calibrated if that is wanted."""
    probs = probabilities(pred_probs, ensemble=ensemble)
    labels = read(labels_multiannotator, probs.shape[2])
    check(labels, probs)
    if calibrate:
        probs = np.stack([scaled(one, best_temperature(labels.votes, one)) for one in probs])
    return labels, probs


def _tables(
    labels: Labels,
    methods: list[str],
    found: list[Consensus],
    wishes: Mapping[str, Any] | None,
    detailed: bool,
    stats: bool,
) -> dict[str, Any]:
    score = [each.score(wishes) for each in found]
    out: dict[str, Any] = {"label_quality": _quality_table(labels, methods, found, score)}
    first = found[0]
    own = quality(first.posterior, labels.votes.task, labels.votes.label, wishes)
    if detailed:
        out["detailed_label_quality"] = _detailed(labels, own)
    if stats:
        out["annotator_stats"] = annotator_stats(labels, first.label, score[0], own, first.weighing)
    return out


def _quality_table(labels: Labels, methods: list[str], found: list[Consensus], score: list[F8]) -> pd.DataFrame:
    """The first method under cleanlab's plain names, further ones with their own name behind."""
    columns: dict[str, Any] = {}
    for i, (name, each) in enumerate(zip(methods, found, strict=True)):
        suffix = f"_{name}" if i else ""
        columns[f"consensus_label{suffix}"] = labels.named(each.label)
        columns[f"consensus_quality_score{suffix}"] = score[i]
        columns[f"annotator_agreement{suffix}"] = each.agreement
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
            stacklevel=4,
        )
