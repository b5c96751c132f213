"""How good are estimates of numbers, given the truth: errors, correlations, and how often intervals hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...aggregate.numbers.gold import number_truth
from ...core.errors import DataError
from ...core.result import Result
from ...core.vocabulary import lookup
from ...kinds.numbers.estimate import NumberEstimate
from ...maths.numbers.picture.scores import Score, scores
from ..evaluate import ALL_GOLD, among
from ..scored import Scored, Table

F8 = npt.NDArray[np.float64]
# The scores as people call them, in the order in which they read them.
SCORES = {
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "bias": "bias (estimate minus truth)",
    "pearson": "correlation (Pearson)",
    "spearman": "correlation of ranks (Spearman)",
    "r2": "R²",
    "coverage": "truth inside the interval",
    "width": "mean width of the interval",
}


@dataclass(frozen=True, repr=False)
class NumberEvaluation(Scored):
    """Scores over the tasks whose truth is known, for each part of the answers ("" where there is one).

    `n` tasks are scored; `n_gold_left_out` have a truth here but were gold in the fit. A score has a value and
    a 95 % interval, low to high, where resamples were asked for.
    """

    n: int
    parts: dict[str, dict[str, Score]]
    truths_without_labels: int = 0
    n_gold_left_out: int = 0

    def __getattr__(self, name: str) -> float:
        """rmse, mae, bias, pearson, spearman, r2, coverage, width of the only part."""
        if name in SCORES and len(self.parts) == 1:
            only = next(iter(self.parts.values()))
            if name in only:
                return only[name].value
        raise AttributeError(name)

    def __repr__(self) -> str:
        some = [f"{row[0]} {row[1]}" for row in self.rows()[:6]]
        return f"NumberEvaluation({self.n:,} task{'s' * (self.n != 1)}: {'; '.join(some)})"

    def rows(self) -> list[list[str]]:
        """Name, value and 95 % interval of every score, for people."""
        out = []
        for part, found in self.parts.items():
            for key, name in SCORES.items():
                if key in found and not np.isnan(found[key].value):
                    score = found[key]
                    between = "–" if np.isnan(score.low) else f"{score.low:.4g} – {score.high:.4g}"
                    out.append([f"{part}: {name}" if part else name, f"{score.value:.4g}", between])
        return out

    def tables(self) -> list[Table]:
        """Nothing more to show."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        parts = {
            part: {name: {"value": s.value, "low": s.low, "high": s.high} for name, s in found.items()}
            for part, found in self.parts.items()
        }
        rest = {"truths_without_labels": self.truths_without_labels, "n_gold_left_out": self.n_gold_left_out}
        return {"n": self.n, **(parts[""] if list(parts) == [""] else {"parts": parts}), **rest}


def evaluate(
    found: Result | pl.DataFrame, truth: Any, *, told: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> NumberEvaluation:
    """Score a Result, or a table task, value (with or without low and high), against the truth."""
    tasks, value, low, high, parts = _parts(found)
    table = number_truth(truth, tuple(parts))
    at, known = lookup(tasks, table["task"])
    if not known.any():
        raise DataError("none of the tasks in the truth has an estimate here; do the task ids match?")
    gone = known & among(table["task"], told)
    fair = known & ~gone
    if not fair.any():
        raise DataError(ALL_GOLD.format(n=int(gone.sum())))
    rows, true = at[fair], table.drop("task").to_numpy()[fair]
    out = {}
    for j, part in enumerate(parts):
        ends = [None if e is None or np.isnan(e[rows, j]).all() else e[rows, j] for e in (low, high)]
        got = scores(value[rows, j], true[:, j], ends[0], ends[1], seed=seed)
        out[part] = got if resamples else {n: Score(s.value, np.nan, np.nan) for n, s in got.items()}
    return NumberEvaluation(len(rows), out, int((~known).sum()), int(gone.sum()))


def _parts(found: Result | pl.DataFrame) -> tuple[pl.Series, F8, F8 | None, F8 | None, list[str]]:
    if isinstance(found, Result):
        estimate = found.estimate
        assert isinstance(estimate, NumberEstimate)
        return found.tasks, estimate.value, estimate.low, estimate.high, estimate.parts.to_list()
    for name in ("task", "value"):
        if name not in found.columns:
            raise DataError(f"the estimates have no column {name!r}; they have {', '.join(found.columns)}")
    if found["task"].is_duplicated().any():
        raise DataError(f"task {found['task'].filter(found['task'].is_duplicated())[0]!r} has two estimates")
    columns = []
    for name in ("value", "low", "high"):
        try:
            columns.append(found[name].cast(pl.Float64).to_numpy()[:, None] if name in found.columns else None)
        except pl.exceptions.PolarsError as error:
            raise DataError(f"the column {name} must hold numbers") from error
    value, low, high = columns
    assert value is not None
    return found["task"], value, low, high, [""]
