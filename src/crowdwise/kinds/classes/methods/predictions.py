"""What methods for answers with predictions share: the predictions as a table of shares."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core.errors import DataError
from ....core.intake.repeats import PREDICTED
from ....core.params import Note, Positive
from ....core.vocabulary import quote
from ....stats.logspace import normalise_rows, shares
from ..annotations import Annotations
from ..maths.judges import LEAST, log_scores, mean_by_task, normalised_votes, surprise
from .base import Aggregator, Run
from .gold import Gold
from .spread import Solution

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


@dataclass(frozen=True, kw_only=True)
class SurprisinglyPopular(PredictionAggregator):
    """Surprisingly popular: the answer that is given more often than people expect it to be.

        two classes: k wins where the share of k exceeds its mean predicted share
        several: prediction-normalised votes  V_k = x_k Σ_i y_k[i] / y_i[k]

    Who knows the truth also knows that others do not, so the truth is more popular than predicted, even where the
    majority is wrong. The posterior of two classes is the normal probability that the crowd's share exceeds the
    expected one, at a `temperature`. Prelec, Seung & McCoy (2017), doi:10.1038/nature21054. Fails where nobody
    knows, or predictions are noise.

    A column predicted_share (of two classes) or predicted_share_<class>; `temperature` softens the belief.

    >>> import polars as pl
    >>> rows = {"task": [1] * 4, "worker": [*"abcd"], "label": [*"yyyn"], "predicted_share": [0.9, 0.9, 0.9, 0.8]}
    >>> SurprisinglyPopular().fit(Annotations.from_frame(pl.DataFrame(rows))).to_table()["label"].to_list()
    ['n']
    """

    name: ClassVar[str] = "surprisingly_popular"
    temperature: Positive = 3.0

    def judge(self, annotations: Annotations, prediction: F8) -> F8:
        """The surprise of each class, as probabilities."""
        weight, n = self.weights(annotations), annotations.votes.sum(axis=1)
        said, expected = shares(annotations.votes), mean_by_task(prediction, weight, annotations.task_offsets)
        expected = np.where(np.isfinite(expected), expected, 1 / annotations.n_classes)
        if annotations.n_classes > 2:
            task, label = annotations.task.astype(np.int64), annotations.label.astype(np.int64)
            return normalised_votes(task, label, prediction, weight, annotations.n_tasks)
        more, error = surprise(said, expected, n)
        # The logistic curve at 1.7 times the argument is the normal one to a hundredth.
        return normalise_rows(np.where(n[:, None] > 0, 0.85 * more / error, 0.0) / self.temperature)[0]


@dataclass(frozen=True, kw_only=True)
class TruthSerum(PredictionAggregator):
    """Truth serum: the answer with the highest information score, log share less mean log prediction.

        score_k = log x_k - mean_r log y_r[k]

    The log-score cousin of `surprisingly_popular`: geometric means weigh a confident prediction more, and rare
    answers that hardly anybody expected gain most. Workers are scored by how informative their answers were and how
    well they predicted. Prelec (2004), A Bayesian truth serum for subjective data, doi:10.1126/science.1102081.
    Fails as its cousin does.

    A column predicted_share (of two classes) or predicted_share_<class>; `sharpness` of the belief in a score.

    >>> import polars as pl
    >>> rows = {"task": [1] * 4, "worker": [*"abcd"], "label": [*"yyyn"], "predicted_share": [0.9, 0.9, 0.9, 0.8]}
    >>> TruthSerum().fit(Annotations.from_frame(pl.DataFrame(rows))).to_table()["label"].to_list()
    ['n']
    """

    name: ClassVar[str] = "truth_serum"
    sharpness: Positive = 2.0

    def judge(self, annotations: Annotations, prediction: F8) -> F8:
        """Information scores, as probabilities."""
        weight, n = self.weights(annotations), annotations.votes.sum(axis=1)
        expected = mean_by_task(np.log(np.maximum(prediction, LEAST)), weight, annotations.task_offsets)
        score = log_scores(shares(annotations.votes), expected, n)
        return normalise_rows(np.where(np.isfinite(score), self.sharpness * score, 0.0))[0]
