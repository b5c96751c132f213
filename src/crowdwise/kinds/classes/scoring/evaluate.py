"""How good are labels and probabilities, given the truth: accuracy, log-loss, Brier, ECE, macro F1, confusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core.errors import DataError
from ....core.registry import resolve
from ....core.result import Result
from ....core.truth import truth_table
from ....core.vocabulary import lookup, spelt_like, union
from ....evaluation.calibration import BINS, _bins, expected_calibration_error
from ....evaluation.evaluate import ALL_GOLD, among
from ....evaluation.intervals import Terms, intervals
from ....evaluation.scores import Scored, Table
from ....stats.ties import tie_shares
from ...ordered.scoring import ladder_of, ladder_scores

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]

# Probabilities below this count as this in the log-loss: one sure mistake must not outweigh all else.
CLIP = 1e-6
# Classes of a confusion matrix that is shown.
MATRIX = 20


# The scores as people call them, in the order in which they read them.
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


@dataclass(frozen=True, repr=False)
class Evaluation(Scored):
    """Scores over the tasks whose truth is known. Those that need probabilities are None without them.

    `n` tasks are scored. `n_gold_left_out` tasks have a truth here but were gold in the fit, which was told their
    answers: they are not scored.

    `mae` (mean number of steps that the median class is off) and `kappa` (with squared steps) are there where classes
    have an order.

    `accuracy` judges the labels as given, `expected_accuracy` gives a tie its expected share. `intervals` holds the
    95 % interval (low, high) of each score by its name; empty where no resamples were asked for.
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
    mae: float | None = None
    kappa: float | None = None
    truths_without_labels: int = 0
    n_gold_left_out: int = 0
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))

    def rows(self) -> list[list[str]]:
        """Name, value and 95 % interval of every score, for people."""
        out = []
        for key, name in SCORES.items():
            value, between = getattr(self, key), self.intervals.get(key)
            if value is not None:
                out.append([name, f"{value:.4f}", "–" if between is None else f"{between[0]:.4f} – {between[1]:.4f}"])
        return out

    def tables(self) -> list[Table]:
        """The confusion of labels and truths, where the classes are few."""
        if len(self.classes) > MATRIX:
            return []
        rows = [[str(name), *map(str, row)] for name, row in zip(self.classes, self.confusion, strict=True)]
        return [Table("Confusion", ["true \\ said", *map(str, self.classes)], rows)]

    def __repr__(self) -> str:
        parts = []
        for key, name in SCORES.items():
            value, between = getattr(self, key), self.intervals.get(key)
            if value is not None:
                parts.append(f"{name} {value:.3f}" + (f" ({between[0]:.3f} – {between[1]:.3f})" if between else ""))
        return f"Evaluation({self.n:,} task{'s' * (self.n != 1)}: {'; '.join(parts)})"

    def _repr_html_(self) -> str:
        shown: str = resolve("crowdwise.plots.notebook:evaluation_html")(self)
        return shown


def evaluate_classes(
    found: Result | pl.DataFrame,
    truth: Any,
    *,
    told: pl.Series | None = None,
    resamples: int = 0,
    seed: int = 0,
    order: Sequence[Any] | None = None,
) -> Evaluation:
    """Scores of classes; see `evaluate`."""
    table = truth_table(truth)
    tasks, label, classes, posterior = _parts(found)
    at, known = lookup(tasks, table["task"])
    if not known.any():
        raise DataError("none of the tasks in the truth has a label here; do the task ids match?")
    gone = known & among(table["task"], told)
    fair = known & ~gone
    if not fair.any():
        raise DataError(ALL_GOLD.format(n=int(gone.sum())))
    rows = at[fair]
    true_names = spelt_like(table["label"].filter(pl.Series(fair)), classes)
    names = union(classes, true_names.cast(pl.String) if classes.dtype == pl.String else true_names)
    said = lookup(names, label.gather(rows))[0]
    true = lookup(names, true_names)[0]
    k = len(names)
    confusion = np.bincount(true.astype(np.int64) * k + said, minlength=k * k).reshape(k, k)
    terms = {"accuracy": (said == true).astype(np.float64)}
    p = None
    if posterior is not None:
        p = np.zeros((len(rows), k))
        p[:, lookup(names, classes)[0]] = posterior[rows]
        terms |= probability_terms(p, true)
    ladder = ladder_of(found, order, names)
    kappa, between = (None, None) if ladder is None else ladder_scores(terms, p, said, true, ladder, resamples, seed)
    scores = {name: float(each.mean()) for name, each in terms.items()}
    if p is not None:
        scores["ece"] = expected_calibration_error(terms["mean_confidence"], terms["expected_accuracy"])
    return Evaluation(
        n=len(rows),
        macro_f1=macro_f1(confusion),
        classes=names.to_list(),
        confusion=confusion.tolist(),
        truths_without_labels=int((~known).sum()),
        n_gold_left_out=int(gone.sum()),
        intervals=(_intervals(terms, said, true, k, resamples, seed) if resamples else {})
        | ({} if between is None else {"kappa": between}),
        kappa=kappa,
        **scores,
    )


def _intervals(
    terms: dict[str, F8], said: I4, true: I4, k: int, resamples: int, seed: int
) -> dict[str, tuple[float, float]]:
    place = _bins(terms["mean_confidence"], BINS) if "mean_confidence" in terms else None
    return intervals(Terms(terms, said.astype(np.int64), true.astype(np.int64), k, place), resamples, seed)


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
    if not ((posterior >= 0) & (posterior <= 1 + 1e-6)).all():
        raise DataError(f"the columns {columns[0]}... must hold probabilities, numbers from 0 to 1 in every row")
    return found["task"], found["label"], pl.Series("label", [c[2:] for c in columns]), posterior


def probability_terms(p: F8, true: I4) -> dict[str, F8]:
    """What each task adds to the scores of p[task, class] against true[task]: their means are the scores."""
    rows = np.arange(len(true))
    own = p[rows, true]
    return {
        "expected_accuracy": tie_shares(p)[rows, true],
        "log_loss": np.abs(np.log(np.clip(own, CLIP, 1.0))),
        "brier": (p**2).sum(axis=1) - 2 * own + 1,
        "mean_confidence": p.max(axis=1),
    }


def macro_f1(confusion: npt.NDArray[np.int64]) -> float:
    """Mean F1 over the classes that are true or said at least once."""
    right = np.diag(confusion).astype(float)
    both = confusion.sum(axis=0) + confusion.sum(axis=1)
    return float((2 * right[both > 0] / both[both > 0]).mean())
