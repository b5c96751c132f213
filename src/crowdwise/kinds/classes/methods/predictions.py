"""Methods for votes in which workers also predict the answers of others."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from ....core.arrays import F8
from ....core.errors import DataError
from ....core.intake.repeats import PREDICTED
from ....core.params import Note, Positive
from ....core.vocabulary import quote
from ....em.rows import row_weights
from ....stats.logspace import normalise_rows, shares
from ..annotations import Annotations
from ..maths.judges import LEAST, log_scores, mean_by_task, normalised_votes, surprise
from .base import Aggregator, SolveOptions
from .gold import GoldLabels
from .partitioned import Solution


@dataclass(frozen=True, kw_only=True)
class PredictionAggregator(Aggregator):
    """Base class of the methods with predictions.

    With two classes, `predicted_class` is the one whose share the column predicted_share predicts (None: the last).

    Args:
        predicted_class: Of two classes the one whose share the column predicted_share predicts; None is the last class.
            Unused with a column for each class.
    """

    predicted_class: Annotated[str, Note("a class")] | None = None

    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:  # noqa: ARG002
        """Estimate the tasks from the rows with a prediction."""
        if not len(annotations):
            flat = np.full((annotations.n_tasks, annotations.n_classes), 1 / annotations.n_classes)
            return Solution(flat if gold is None else gold.clamp(flat), flat[0])
        prediction = self.predictions(annotations)
        has_prediction = np.asarray(np.isfinite(prediction).all(axis=1))
        if not has_prediction.any():
            raise DataError(f"no row has a {PREDICTED}; {self.name} needs predictions of the other workers' answers")
        posterior = self.posterior(annotations.take(has_prediction), prediction[has_prediction])
        posterior = posterior if gold is None else gold.clamp(posterior)
        n_without = int((~has_prediction).sum())
        return Solution(posterior, posterior.mean(axis=0), extra={"rows_without_prediction": n_without})

    @abstractmethod
    def posterior(self, annotations: Annotations, prediction: F8) -> F8:
        """Return posterior[task, class] of rows that all have a prediction[row, class]."""

    def predictions(self, annotations: Annotations) -> F8:
        """Return prediction[row, class], NaN where a row has none; rows sum to one."""
        table, k = annotations.about_rows, annotations.n_classes
        names = [str(name) for name in annotations.classes.cast(pl.String)]
        if table is not None and PREDICTED in table.columns:
            if k != 2:
                raise DataError(
                    f"{PREDICTED} is the share of one of two classes, these are {k}; give a column {PREDICTED}_<class> "
                    "for each class"
                )
            share = _shares(table[PREDICTED])
            predicted = names[-1] if self.predicted_class is None else str(self.predicted_class)
            if predicted not in names:
                raise DataError(f"predicted_class {predicted!r} is none of the classes {quote(names)}")
            return np.column_stack([1 - share, share] if predicted == names[-1] else [share, 1 - share])
        columns = [f"{PREDICTED}_{name}" for name in names]
        missing = [name for name in columns if table is None or name not in table.columns]
        if table is None or missing:
            raise DataError(
                f"{self.name} needs each worker's prediction of the others' answers: a column {PREDICTED} (of two "
                f"classes), or {PREDICTED}_<class> for each class; {quote(missing)} are missing"
            )
        predicted_shares = np.column_stack([_shares(table[name]) for name in columns])
        total = predicted_shares.sum(axis=1, keepdims=True)
        return np.where(total > 0, predicted_shares / np.where(total > 0, total, 1.0), np.nan)


def _shares(column: pl.Series) -> F8:
    """Return shares in 0..1 from numbers or text; NaN where there is none."""
    numbers = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    text = numbers.is_null() & column.is_not_null() & (column.cast(pl.String).str.strip_chars() != "").fill_null(False)
    bad = text | ((numbers < 0) | (numbers > 1)).fill_null(False)
    if bad.any():
        value = column.filter(bad)[0]
        raise DataError(f"a predicted share is {value!r}; it must be a number from 0 to 1 (divide percentages by 100)")
    return numbers.fill_null(np.nan).to_numpy()


@dataclass(frozen=True, kw_only=True)
class SurprisinglyPopular(PredictionAggregator):
    """Surprisingly popular: the answer that is given more often than workers predict.

        two classes: k wins where the share of k exceeds its mean predicted share
        several: prediction-normalised votes  V_k = x_k Σ_i y_k[i] / y_i[k]

    Workers who know the truth also know that others do not, so the truth is more popular than predicted, even where
    the majority is wrong. The posterior of two classes is the normal probability that the crowd's share exceeds the
    predicted one, at a `temperature`. Prelec, Seung & McCoy (2017), doi:10.1038/nature21054. Fails where no
    worker knows the truth, or predictions are noise.

    Needs a column predicted_share (of two classes) or predicted_share_<class>; `temperature` softens the posterior.

    Args:
        temperature: Divisor of the scores before they become probabilities; larger values lower the confidence. It
            affects two classes only.

    >>> import polars as pl
    >>> rows = {"task": [1] * 4, "worker": [*"abcd"], "label": [*"yyyn"], "predicted_share": [0.9, 0.9, 0.9, 0.8]}
    >>> SurprisinglyPopular().fit(Annotations.from_frame(pl.DataFrame(rows))).to_table()["label"].to_list()
    ['n']
    """

    name: ClassVar[str] = "surprisingly_popular"
    temperature: Positive = 3.0

    def posterior(self, annotations: Annotations, prediction: F8) -> F8:
        """Return probabilities based on the excess of each class over its prediction."""
        weight, n = row_weights(annotations), annotations.votes.sum(axis=1)
        observed, expected = shares(annotations.votes), mean_by_task(prediction, weight, annotations.task_offsets)
        expected = np.where(np.isfinite(expected), expected, 1 / annotations.n_classes)
        if annotations.n_classes > 2:
            task, label = annotations.task.astype(np.int64), annotations.label.astype(np.int64)
            return normalised_votes(task, label, prediction, weight, annotations.n_tasks)
        excess, error = surprise(observed, expected, n)
        # The logistic curve at 1.7 times the argument is the normal one to within a hundredth.
        return normalise_rows(np.where(n[:, None] > 0, 0.85 * excess / error, 0.0) / self.temperature)[0]


@dataclass(frozen=True, kw_only=True)
class TruthSerum(PredictionAggregator):
    """Truth serum: the answer with the highest information score, log share minus mean log prediction.

        score_k = log x_k - mean_r log y_r[k]

    The log-score variant of `surprisingly_popular`: geometric means weigh a confident prediction more, and rare
    answers that hardly anybody expected gain most. Workers are scored by how informative their answers were and how
    well they predicted. Prelec (2004), A Bayesian truth serum for subjective data, doi:10.1126/science.1102081.
    Fails where `surprisingly_popular` does.

    Needs a column predicted_share (of two classes) or predicted_share_<class>; `sharpness` scales the scores before
    they become probabilities.

    Args:
        sharpness: Factor of the scores before they become probabilities; larger values raise the confidence.

    >>> import polars as pl
    >>> rows = {"task": [1] * 4, "worker": [*"abcd"], "label": [*"yyyn"], "predicted_share": [0.9, 0.9, 0.9, 0.8]}
    >>> TruthSerum().fit(Annotations.from_frame(pl.DataFrame(rows))).to_table()["label"].to_list()
    ['n']
    """

    name: ClassVar[str] = "truth_serum"
    sharpness: Positive = 2.0

    def posterior(self, annotations: Annotations, prediction: F8) -> F8:
        """Return probabilities based on the information scores."""
        weight, n = row_weights(annotations), annotations.votes.sum(axis=1)
        expected = mean_by_task(np.log(np.maximum(prediction, LEAST)), weight, annotations.task_offsets)
        score = log_scores(shares(annotations.votes), expected, n)
        return normalise_rows(np.where(np.isfinite(score), self.sharpness * score, 0.0))[0]
