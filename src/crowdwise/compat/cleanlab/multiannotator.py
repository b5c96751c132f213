"""cleanlab.multiannotator: label quality, majority vote and active-learning scores, at a cost linear in the labels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import F8, I8
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
    """Compute consensus labels, their quality, and the quality of every label and annotator, as cleanlab 2.9 does.

    Differences from cleanlab: annotators without labels are allowed; the last tie goes to the first class instead of a
    random one; nothing is printed. cleanlab 2.9 assigns the label counts of an example to the first classes, whichever
    they are (its labels are floats by then), which distorts quality_method="agreement", calibrate_probs=True and the
    active-learning scores; here they are assigned to their own classes.

    Args:
        labels_multiannotator: cleanlab's wide matrix, a long frame (task, annotator or worker, label) or Annotations;
            of the latter two the tasks in sorted order are the rows of `pred_probs`.
        pred_probs: Predicted probabilities, [example, class].
        consensus_method: "best_quality", "majority_vote" or a list of them.
        quality_method: "crowdlab" or "agreement".
        calibrate_probs: Whether to calibrate the probabilities by a temperature.
        return_detailed_quality: Whether to return detailed_label_quality, the only dense table.
        return_annotator_stats: Whether to return annotator_stats.
        return_weights: Whether to return model_weight and annotator_weight.
        verbose: Whether to warn about classes that are never the consensus.
        label_quality_score_kwargs: Options of the quality score; only `method` is supported.

    Returns:
        A dict with label_quality, detailed_label_quality, annotator_stats (DataFrames with cleanlab's columns) and, on
        request, model_weight and annotator_weight.
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
    results = [consensus(labels, probs, name, quality_method) for name in methods]
    out = _tables(labels, methods, results, label_quality_score_kwargs, return_detailed_quality, return_annotator_stats)
    last = results[-1].weighing  # cleanlab gives the weights of the last method
    if return_weights and last is not None:
        out |= {"model_weight": float(last.model_weights[0]), "annotator_weight": last.worker_weight}
    if verbose:
        _warn_lost_classes(labels, results[0].label)
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
    """Like `get_label_quality_multiannotator` for the probabilities of several models, [model, example, class].

    Each model has its own weight: `model_weight` is an array. The methods are always best_quality and crowdlab. The
    probabilities are not modified; cleanlab overwrites them with the calibrated ones.
    """
    labels, probs = _given(labels_multiannotator, pred_probs, calibrate_probs, ensemble=True)
    result = consensus(labels, probs, "best_quality", "crowdlab")
    options = (label_quality_score_kwargs, return_detailed_quality, return_annotator_stats)
    out = _tables(labels, ["best_quality"], [result], *options)
    if return_weights and result.weighing is not None:
        out |= {"model_weight": result.weighing.model_weights, "annotator_weight": result.weighing.worker_weight}
    if verbose:
        _warn_lost_classes(labels, result.label)
    return out


@value_errors
def get_majority_vote_label(labels_multiannotator: Any, pred_probs: Any = None, verbose: bool = True) -> I8:
    """Return the most frequent label of each example.

    Ties are broken by `pred_probs`, then by the rarer class, then by the better annotators, then by the first class
    (cleanlab: at random).
    """
    probs = None if pred_probs is None else probabilities(pred_probs, ensemble=False)
    labels = read(labels_multiannotator, None if probs is None else probs.shape[2])
    if probs is not None and probs.shape[1] != labels.votes.n_tasks:
        raise LabelsError(f"pred_probs must have one row per example, {labels.votes.n_tasks}, it has {probs.shape[1]}")
    chosen = majority(labels.votes, None if probs is None else probs[0])
    if verbose:
        _warn_lost_classes(labels, chosen)
    return np.asarray(labels.named(chosen))


@value_errors
def convert_long_to_wide_dataset(labels_multiannotator_long: Any) -> pd.DataFrame:
    """Convert a long table task, annotator, label to a wide one; the other functions take either.

    >>> long = pd.DataFrame({"task": [1, 1, 2], "annotator": [*"aba"], "label": [0, 1, 1]})
    >>> convert_long_to_wide_dataset(long).to_dict()
    {'a': {1: 0.0, 2: 1.0}, 'b': {1: 1.0, 2: nan}}
    """
    long = labels_multiannotator_long
    for name in ("task", "annotator", "label"):
        if name not in long:
            raise ColumnError(f"the long table has no column {name!r}; it needs task, annotator and label")
    is_repeat = long.duplicated(["task", "annotator"])
    if is_repeat.any():
        row = long[is_repeat].iloc[0]
        raise LabelsError(
            f"annotator {row['annotator']!r} has several labels for example {row['task']!r}; keep one of each pair"
        )
    return long.pivot(index="task", columns="annotator", values="label").rename_axis(index=None, columns=None)


def _given(labels_multiannotator: Any, pred_probs: Any, calibrate: bool, *, ensemble: bool) -> tuple[Labels, F8]:
    """Return the labels, and probs[model, example, class], calibrated on request."""
    probs = probabilities(pred_probs, ensemble=ensemble)
    labels = read(labels_multiannotator, probs.shape[2])
    check(labels, probs)
    if calibrate:
        probs = np.stack([scaled(model_probs, best_temperature(labels.votes, model_probs)) for model_probs in probs])
    return labels, probs


def _tables(
    labels: Labels,
    methods: list[str],
    results: list[Consensus],
    options: Mapping[str, Any] | None,
    detailed: bool,
    stats: bool,
) -> dict[str, Any]:
    score = [result.score(options) for result in results]
    out: dict[str, Any] = {"label_quality": _quality_table(labels, methods, results, score)}
    first = results[0]
    label_quality = quality(first.posterior, labels.votes.task, labels.votes.label, options)
    if detailed:
        out["detailed_label_quality"] = _detailed(labels, label_quality)
    if stats:
        out["annotator_stats"] = annotator_stats(labels, first.label, score[0], label_quality, first.weighing)
    return out


def _quality_table(labels: Labels, methods: list[str], results: list[Consensus], score: list[F8]) -> pd.DataFrame:
    """Return the table of the first method under cleanlab's plain names, and of further ones with a suffix."""
    columns: dict[str, Any] = {}
    for i, (name, result) in enumerate(zip(methods, results, strict=True)):
        suffix = f"_{name}" if i else ""
        columns[f"consensus_label{suffix}"] = labels.named(result.label)
        columns[f"consensus_quality_score{suffix}"] = score[i]
        columns[f"annotator_agreement{suffix}"] = result.agreement
        if i == 0:
            columns["num_annotations"] = labels.votes.labels_per_task
    return pd.DataFrame(columns, index=labels.examples)


def _detailed(labels: Labels, label_quality: F8) -> pd.DataFrame:
    """Return the quality of every label at its position in the wide matrix; NaN elsewhere."""
    votes = labels.votes
    dense = np.full((votes.n_tasks, votes.n_workers), np.nan)
    dense[votes.task, votes.worker] = label_quality
    return pd.DataFrame(dense, index=labels.examples, columns=labels.annotators).add_prefix("quality_annotator_")


def _warn_lost_classes(labels: Labels, chosen: I8) -> None:
    lost = np.setdiff1d(labels.votes.label, chosen)
    if len(lost):
        warnings.warn(
            f"{len(lost)} classes occur but are never the consensus: {labels.named(lost).tolist()}; a classifier "
            "trained on the consensus will never see them",
            CrowdwiseWarning,
            stacklevel=4,
        )
