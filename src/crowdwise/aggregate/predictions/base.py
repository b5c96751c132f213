"""What methods for answers with predictions share: the predictions as a table of shares."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.intake.occasions import PREDICTED
from ...core.rules import Note
from ...core.vocabulary import quote
from ...kinds.classes.annotations import Annotations
from ..base import Aggregator, Run, Solution
from ..gold import Gold

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class PredictionAggregator(Aggregator):
    """`predicted_class` is the class whose share the column predicted_share predicts, of two (None: the last)."""

    predicted_class: Annotated[str, Note("a class")] | None = None

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:  # noqa: ARG002
        """Predictions as shares, rows without one set aside."""
        if not len(annotations):
            flat = np.full((annotations.n_tasks, annotations.n_classes), 1 / annotations.n_classes)
            return Solution(flat if gold is None else gold.clamp(flat), flat[0])
        prediction = self.predictions(annotations)
        known = np.asarray(np.isfinite(prediction).all(axis=1))
        if not known.any():
            raise DataError(f"no row has a {PREDICTED}; {self.name} needs what people expect of the others")
        posterior = self.judge(annotations.take(known), prediction[known])
        posterior = posterior if gold is None else gold.clamp(posterior)
        return Solution(posterior, posterior.mean(axis=0), extra={"rows_without_prediction": int((~known).sum())})

    @staticmethod
    def weights(annotations: Annotations) -> F8:
        """How much each row counts."""
        return np.ones(len(annotations)) if annotations.weight is None else annotations.weight

    @abstractmethod
    def judge(self, annotations: Annotations, prediction: F8) -> F8:
        """posterior[task, class] of rows that all have a prediction[row, class]."""

    def predictions(self, annotations: Annotations) -> F8:
        """prediction[row, class], NaN where a row has none; rows sum to one."""
        table, k = annotations.about_rows, annotations.n_classes
        names = [str(name) for name in annotations.classes.cast(pl.String)]
        if table is not None and PREDICTED in table.columns:
            if k != 2:
                raise DataError(
                    f"{PREDICTED} is the share of one of two classes, these are {k}; give a column {PREDICTED}_<class> "
                    "for each class"
                )
            share = _shares(table[PREDICTED])
            of = names[-1] if self.predicted_class is None else str(self.predicted_class)
            if of not in names:
                raise DataError(f"predicted_class {of!r} is none of the classes {quote(names)}")
            return np.column_stack([1 - share, share] if of == names[-1] else [share, 1 - share])
        columns = [f"{PREDICTED}_{name}" for name in names]
        missing = [name for name in columns if table is None or name not in table.columns]
        if table is None or missing:
            raise DataError(
                f"{self.name} needs what each worker expects of the others: a column {PREDICTED} (of two classes), or "
                f"{PREDICTED}_<class> for each class; {quote(missing)} are missing"
            )
        found = np.column_stack([_shares(table[name]) for name in columns])
        total = found.sum(axis=1, keepdims=True)
        return np.where(total > 0, found / np.where(total > 0, total, 1.0), np.nan)


def _shares(column: pl.Series) -> F8:
    """Shares in 0..1, of text too; NaN where there is none."""
    numbers = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    wrong = numbers.is_null() & column.is_not_null() & (column.cast(pl.String).str.strip_chars() != "").fill_null(False)
    bad = wrong | ((numbers < 0) | (numbers > 1)).fill_null(False)
    if bad.any():
        value = column.filter(bad)[0]
        raise DataError(f"a predicted share is {value!r}; it must be a number from 0 to 1 (divide percentages by 100)")
    return numbers.fill_null(np.nan).to_numpy()
