"""Scores of labels and probabilities against truth: accuracy, log-loss, Brier, ECE, macro F1, confusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ....core.arrays import F8, I4, I8
from ....core.errors import DataError
from ....core.result import Result
from ....core.truth import truth_table
from ....core.vocabulary import lookup, refuse_other_classes, spelt_like, union
from ....evaluation.calibration import BINS, bin_of, expected_calibration_error
from ....evaluation.evaluate import ALL_GOLD, among
from ....evaluation.guarantee.clusters import task_clusters
from ....evaluation.intervals import ScoreTerms, intervals
from ....evaluation.scores import Scores, Table
from ....stats.ties import tie_shares
from ...ordered.scoring import class_levels, ordinal_scores

# Lower bound of probabilities in the log-loss, so that one confident mistake does not outweigh everything else.
CLIP = 1e-6
# Most classes for which the confusion matrix is printed.
MATRIX = 20


# Display names of the scores, in the order of display.
SCORES = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "mae": "steps off (of the median class)",
    "kappa": "quadratic kappa",
    "expected_accuracy": "accuracy, ties shared",
    "mean_confidence": "mean confidence",
    "log_loss": "log-loss (nats)",
    "brier": "Brier score",
    "ece": "expected calibration error",
}


@dataclass(frozen=True, repr=False, kw_only=True)
class Evaluation(Scores):
    """Scores over the tasks with known truth.

    Attributes:
        n: Number of scored tasks.
        accuracy: Share of right labels.
        macro_f1: Mean F1 score over the classes.
        classes: Names of the classes.
        confusion: confusion[true class][label], numbers of tasks.
        expected_accuracy: Accuracy with the expected share for ties; None without probabilities.
        log_loss: Mean negative log-probability of the true class, in nats; None without probabilities.
        brier: Brier score; None without probabilities.
        ece: Expected calibration error; None without probabilities.
        mean_confidence: Mean probability of the most probable class; None without probabilities.
        mae: Mean distance of the median class from the true class in steps, if the classes have an order.
        kappa: Quadratically weighted kappa, if the classes have an order.
        truths_without_labels: Number of tasks in the truth without a label.
        n_gold_left_out: Number of tasks with truth that were gold in the fit and are therefore not scored.
        intervals: 95 % interval (low, high) of each score by name; empty without resamples.
    """

    NAMES: ClassVar[Mapping[str, str]] = SCORES
    HEADLINE: ClassVar[tuple[str, ...]] = ("accuracy",)
    FLAT: ClassVar[bool] = True

    classes: list[Any]
    confusion: list[list[int]]

    def tables(self) -> list[Table]:
        """Return the confusion matrix as a table, if there are few classes."""
        if len(self.classes) > MATRIX:
            return []
        rows = [[str(name), *map(str, row)] for name, row in zip(self.classes, self.confusion, strict=True)]
        return [Table("Confusion", ["true \\ label", *map(str, self.classes)], rows)]

    def details(self) -> dict[str, Any]:
        """Return the classes and the confusion matrix."""
        return {"classes": self.classes, "confusion": self.confusion}


def evaluate_classes(
    result: Result | pl.DataFrame,
    truth: Any,
    *,
    fit_gold: pl.Series | None = None,
    resamples: int = 0,
    seed: int = 0,
    order: Sequence[Any] | None = None,
    cluster: Any = None,
) -> Evaluation:
    """Score class labels against truth; see `evaluate`."""
    table = truth_table(truth)
    tasks, label, classes, posterior = _parts(result)
    at, has_task = lookup(tasks, table["task"])
    if not has_task.any():
        raise DataError("none of the tasks in the truth has a label; do the task ids match?")
    was_gold = has_task & among(table["task"], fit_gold)
    is_scored = has_task & ~was_gold
    if not is_scored.any():
        raise DataError(ALL_GOLD.format(n=int(was_gold.sum())))
    rows = at[is_scored]
    true_names = spelt_like(table["label"].filter(pl.Series(is_scored)), classes)
    refuse_other_classes(true_names, classes, "the true labels")
    names = union(classes, true_names.cast(pl.String) if classes.dtype == pl.String else true_names)
    predicted = lookup(names, label.gather(rows))[0]
    true = lookup(names, true_names)[0]
    k = len(names)
    confusion = np.bincount(true.astype(np.int64) * k + predicted, minlength=k * k).reshape(k, k)
    terms = {"accuracy": (predicted == true).astype(np.float64)}
    p = None
    if posterior is not None:
        p = np.zeros((len(rows), k))
        p[:, lookup(names, classes)[0]] = posterior[rows]
        terms |= probability_terms(p, true)
    levels = class_levels(result, order, names)
    codes = None if cluster is None else task_clusters(cluster, tasks.gather(rows))
    # The resamples of kappa are of tasks, so it has no interval for clusters.
    times = 0 if codes is not None else resamples
    kappa, kappa_interval = (
        (None, None) if levels is None else ordinal_scores(terms, p, predicted, true, levels, times, seed)
    )
    scores = {name: float(term.mean()) for name, term in terms.items()}
    if p is not None:
        scores["ece"] = expected_calibration_error(terms["mean_confidence"], terms["expected_accuracy"])
    return Evaluation(
        n=len(rows),
        scores=dict.fromkeys(SCORES) | scores | {"macro_f1": macro_f1(confusion), "kappa": kappa},
        classes=names.to_list(),
        confusion=confusion.tolist(),
        truths_without_labels=int((~has_task).sum()),
        n_gold_left_out=int(was_gold.sum()),
        intervals=(_intervals(terms, predicted, true, k, resamples, seed, codes) if resamples else {})
        | ({} if kappa_interval is None else {"kappa": kappa_interval}),
    )


def _intervals(
    terms: dict[str, F8], predicted: I4, true: I4, k: int, resamples: int, seed: int, cluster: I8 | None
) -> dict[str, tuple[float, float]]:
    bins = bin_of(terms["mean_confidence"], BINS) if "mean_confidence" in terms else None
    codes = predicted.astype(np.int64), true.astype(np.int64)
    return intervals(ScoreTerms(terms, *codes, k, bins, cluster), resamples, seed)


def _parts(result: Result | pl.DataFrame) -> tuple[pl.Series, pl.Series, pl.Series, F8 | None]:
    if isinstance(result, Result):
        return result.tasks, result.classes.gather(result.labels), result.classes, result.posterior
    for name in ("task", "label"):
        if name not in result.columns:
            raise DataError(f"the labels have no column {name!r}; they have {', '.join(result.columns)}")
    if result["task"].is_duplicated().any():
        raise DataError(f"task {result['task'].filter(result['task'].is_duplicated())[0]!r} has two labels")
    columns = [c for c in result.columns if c.startswith("p_")]
    if not columns:
        return result["task"], result["label"], result["label"].unique().sort(), None
    try:
        posterior = result.select(pl.col(columns).cast(pl.Float64)).to_numpy()
    except pl.exceptions.PolarsError as error:
        raise DataError(f"the columns {columns[0]}... must hold probabilities") from error
    if not ((posterior >= 0) & (posterior <= 1 + 1e-6)).all():
        raise DataError(f"the columns {columns[0]}... must hold probabilities, numbers from 0 to 1 in every row")
    return result["task"], result["label"], pl.Series("label", [c[2:] for c in columns]), posterior


def probability_terms(p: F8, true: I4) -> dict[str, F8]:
    """Return the terms of each task; their means are the scores of p[task, class] against true[task]."""
    rows = np.arange(len(true))
    p_true = p[rows, true]
    return {
        "expected_accuracy": tie_shares(p)[rows, true],
        "log_loss": np.abs(np.log(np.clip(p_true, CLIP, 1.0))),
        "brier": (p**2).sum(axis=1) - 2 * p_true + 1,
        "mean_confidence": p.max(axis=1),
    }


def macro_f1(confusion: I8) -> float:
    """Mean F1 over the classes that occur in the truth or in the labels."""
    right = np.diag(confusion).astype(float)
    n = confusion.sum(axis=0) + confusion.sum(axis=1)
    return float((2 * right[n > 0] / n[n > 0]).mean())
