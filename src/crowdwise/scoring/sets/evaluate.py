"""How good are label sets, given the truth: F1, Jaccard, exact sets, log-loss, and F1 of each class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.result import Result
from ...core.vocabulary import lookup
from ...kinds.sets.estimate import SetPosterior
from ...kinds.sets.parse import lists_of
from ...kinds.sets.truth import set_truth
from ...maths.sets.scores import f1_of, set_scores
from ..evaluate import ALL_GOLD, among
from ..scored import Scored, Table

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
# The scores as people call them, in the order in which they read them.
SCORES = {
    "micro_f1": "F1 (micro)",
    "macro_f1": "F1 (macro, mean over classes)",
    "jaccard": "Jaccard (mean over tasks)",
    "exact": "exact sets",
    "hamming": "single classes right",
    "log_loss": "log-loss of a class (nats)",
    "brier": "Brier score of a class",
}
# Classes whose scores are shown.
SHOWN = 30


@dataclass(frozen=True, repr=False)
class SetEvaluation(Scored):
    """Scores over the tasks whose sets are known, wholly or in part; what is not known of a task is not counted.

    `classes` has a row for each class: label, f1, precision, recall, true, said. `intervals` holds the 95 % interval of
    each score, where resamples were asked for.
    """

    n: int
    scores: dict[str, float]
    classes: list[dict[str, Any]]
    truths_without_labels: int = 0
    n_gold_left_out: int = 0
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> float:
        """micro_f1, macro_f1, jaccard, exact, hamming, log_loss, brier."""
        if name in SCORES and name in self.scores:
            return self.scores[name]
        raise AttributeError(name)

    def __repr__(self) -> str:
        some = [f"{row[0]} {row[1]}" for row in self.rows()[:4]]
        return f"SetEvaluation({self.n:,} task{'s' * (self.n != 1)}: {'; '.join(some)})"

    def f1(self, name: str) -> float:
        """F1 of one class."""
        for row in self.classes:
            if row["label"] == name:
                return float(row["f1"])
        raise DataError(f"there is no class {name!r} in the truth")

    def headline(self) -> dict[str, float]:
        """The scores that stand in a comparison."""
        return {name: self.scores[name] for name in ("micro_f1", "macro_f1", "jaccard", "exact")}

    def rows(self) -> list[list[str]]:
        """Name, value and 95 % interval of every score, for people."""
        out = []
        for key, name in SCORES.items():
            if key in self.scores:
                low, high = self.intervals.get(key, (None, None))
                out.append([name, f"{self.scores[key]:.4f}", "–" if low is None else f"{low:.4f} – {high:.4f}"])
        return out

    def tables(self) -> list[Table]:
        """F1, precision and recall of each class."""
        rows = [
            [str(row["label"]), *(_shown(row[key]) for key in ("f1", "precision", "recall")), f"{row['true']:,}",
             f"{row['said']:,}"]
            for row in self.classes[:SHOWN]
        ]  # fmt: skip
        title = "Classes" if len(self.classes) <= SHOWN else f"Classes ({SHOWN} of {len(self.classes)})"
        return [Table(title, ["class", "F1", "precision", "recall", "true", "said"], rows)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        rest = {"truths_without_labels": self.truths_without_labels, "n_gold_left_out": self.n_gold_left_out}
        return {"n": self.n, **self.scores, "intervals": self.intervals, "classes": self.classes, **rest}


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def evaluate(
    found: Result | pl.DataFrame, truth: Any, *, told: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> SetEvaluation:
    """Score a Result, or a table task, labels (with or without p_<class>), against the truth."""
    tasks, classes, said, p, asked = _parts(found)
    own, names, known = set_truth(truth, classes)
    at, here = lookup(tasks, own)
    if not here.any():
        raise DataError("none of the tasks in the truth has a set here; do the task ids match?")
    gone = here & among(own, told)
    fair = here & ~gone
    if not fair.any():
        raise DataError(ALL_GOLD.format(n=int(gone.sum())))
    rows, known, more = at[fair], known[fair], len(names) - len(classes)
    said = np.pad(said[rows], ((0, 0), (0, more)))
    p = None if p is None else np.pad(p[rows], ((0, 0), (0, more)))
    if asked is not None:  # where nobody was offered a class, nothing is claimed
        known = np.where(np.pad(asked[rows], ((0, 0), (0, more)), constant_values=True), known, -1)
    judged = set_scores(said, p, known, resamples, seed)
    by = judged.by_class
    each = f1_of(by)
    table = [
        {
            "label": name,
            "f1": None if np.isnan(each[j]) else float(each[j]),
            "precision": float(by[j, 0] / by[j, 1]) if by[j, 1] else None,
            "recall": float(by[j, 0] / by[j, 2]) if by[j, 2] else None,
            "true": int(by[j, 2]),
            "said": int(by[j, 1]),
        }
        for j, name in enumerate(names.to_list())
        if (known[:, j] >= 0).any()
    ]
    return SetEvaluation(len(rows), judged.values, table, int((~here).sum()), int(gone.sum()), judged.intervals)


def _parts(found: Result | pl.DataFrame) -> tuple[pl.Series, pl.Series, Mask, F8 | None, Mask | None]:
    if isinstance(found, Result):
        own = found.estimate
        assert isinstance(own, SetPosterior)
        return found.tasks, own.classes.cast(pl.String), own.member, own.posterior, own.asked
    for name in ("task", "labels"):
        if name not in found.columns:
            raise DataError(f"the sets have no column {name!r}; they have {', '.join(found.columns)}")
    if found["task"].is_duplicated().any():
        raise DataError(f"task {found['task'].filter(found['task'].is_duplicated())[0]!r} has two sets")
    lists = lists_of(found["labels"], "labels")
    columns = [c for c in found.columns if c.startswith("p_")]
    names = [c[2:] for c in columns] if columns else sorted(lists.names())
    start, code = lists.rows({name: j for j, name in enumerate(names)})
    said = np.zeros((len(found), len(names)), dtype=bool)
    said[np.repeat(np.arange(len(found)), np.diff(start)), code] = True
    p = None
    if columns:
        try:
            p = found.select(pl.col(columns).cast(pl.Float64)).to_numpy()
        except pl.exceptions.PolarsError as error:
            raise DataError(f"the columns {columns[0]}... must hold probabilities") from error
        if not ((p >= 0) & (p <= 1)).all():
            raise DataError(f"the columns {columns[0]}... must hold probabilities, numbers from 0 to 1 in every row")
    return found["task"], pl.Series("label", names, dtype=pl.String), said, p, None
