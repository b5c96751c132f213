"""How good are labels and probabilities, given the truth: accuracy, log-loss, Brier, ECE, macro F1, confusion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from .aggregate.gold import truth_table
from .errors import DataError
from .maths.ties import tie_shares
from .result import Result
from .vocabulary import lookup, union

F8 = npt.NDArray[np.float64]

# Probabilities below this count as this in the log-loss: one sure mistake must not outweigh all else.
CLIP = 1e-6
BINS = 15


@dataclass(frozen=True)
class Evaluation:
    """Scores over the tasks whose truth is known. Those that need probabilities are None without them.

    `accuracy` judges the labels as given, `expected_accuracy` gives a tie its expected share.
    """

    n: int
    accuracy: float
    macro_f1: float
    classes: list[Any]
    confusion: list[list[int]]
    expected_accuracy: float | None = None
    log_loss: float | None = None
    brier: float | None = None
    ece: float | None = None
    mean_confidence: float | None = None
    truths_without_labels: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))


def evaluate(found: Result | pl.DataFrame, truth: Any) -> Evaluation:
    """Score a Result, or a table task, label (with or without p_<class> columns), against truth.

    >>> labels = pl.DataFrame({"task": ["a", "b"], "label": ["x", "y"]})
    >>> evaluate(labels, {"a": "x", "b": "x"}).accuracy
    0.5
    """
    table = truth_table(truth)
    tasks, label, classes, posterior = _parts(found)
    at, known = lookup(tasks, table["task"])
    rows = at[known]
    true_names = table["label"].filter(pl.Series(known))
    if not len(rows):
        raise DataError("none of the tasks in the truth has a label here; do the task ids match?")
    names = union(classes, true_names.cast(pl.String) if classes.dtype == pl.String else true_names)
    said = lookup(names, label.gather(rows))[0]
    true = lookup(names, true_names)[0]
    k = len(names)
    confusion = np.bincount(true.astype(np.int64) * k + said, minlength=k * k).reshape(k, k)
    scores: dict[str, Any] = {}
    if posterior is not None:
        p = np.zeros((len(rows), k))
        p[:, lookup(names, classes)[0]] = posterior[rows]
        scores = probability_scores(p, true)
    return Evaluation(
        n=len(rows),
        accuracy=float((said == true).mean()),
        macro_f1=macro_f1(confusion),
        classes=names.to_list(),
        confusion=confusion.tolist(),
        truths_without_labels=int((~known).sum()),
        **scores,
    )


def _parts(found: Result | pl.DataFrame) -> tuple[pl.Series, pl.Series, pl.Series, F8 | None]:
    if isinstance(found, Result):
        return found.tasks, found.classes.gather(found.labels), found.classes, found.posterior
    for name in ("task", "label"):
        if name not in found.columns:
            raise DataError(f"the labels have no column {name!r}; they have {', '.join(found.columns)}")
    if found["task"].is_duplicated().any():
        raise DataError(f"task {found['task'].filter(found['task'].is_duplicated())[0]!r} has two labels")
    columns = [c for c in found.columns if c.startswith("p_")]
    if not columns:
        return found["task"], found["label"], found["label"].unique().sort(), None
    try:
        posterior = found.select(pl.col(columns).cast(pl.Float64)).to_numpy()
    except pl.exceptions.PolarsError as error:
        raise DataError(f"the columns {columns[0]}... must hold probabilities") from error
    return found["task"], found["label"], pl.Series("label", [c[2:] for c in columns]), posterior


def probability_scores(p: F8, true: npt.NDArray[np.int32]) -> dict[str, float]:
    """Scores of p[task, class] against true[task]."""
    rows = np.arange(len(true))
    hit = tie_shares(p)[rows, true]
    own = p[rows, true]
    return {
        "expected_accuracy": float(hit.mean()),
        "log_loss": abs(float(np.log(np.clip(own, CLIP, 1.0)).mean())),
        "brier": float(((p**2).sum(axis=1) - 2 * own + 1).mean()),
        "ece": expected_calibration_error(p.max(axis=1), hit),
        "mean_confidence": float(p.max(axis=1).mean()),
    }


def expected_calibration_error(confidence: F8, hit: F8, bins: int = BINS) -> float:
    """Mean gap between confidence and accuracy over equal bins of the confidence, weighted by their sizes."""
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    gap = np.bincount(place, weights=confidence - hit, minlength=bins)
    return float(np.abs(gap).sum() / len(confidence))


def macro_f1(confusion: npt.NDArray[np.int64]) -> float:
    """Mean F1 over the classes that are true or said at least once."""
    right = np.diag(confusion).astype(float)
    both = confusion.sum(axis=0) + confusion.sum(axis=1)
    return float((2 * right[both > 0] / both[both > 0]).mean())
