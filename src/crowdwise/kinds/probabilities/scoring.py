"""Evaluation of probabilities against outcomes (proper scores, calibration, accuracy), and descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8
from ...core.describe import common
from ...core.errors import DataError
from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.evaluate import check_estimates, scored_tasks
from ...evaluation.scores import Scores, Table
from ...stats.bootstrap import MAX_BLOCKS, bootstrap_intervals, random_blocks, ratio_of_sums
from .answers import Probabilities
from .fitting import outcome_table

# Probabilities are clipped to this distance from 0 and 1 for the log-loss.
LEAST = 1e-6
BINS = 10
_NAMES = {
    "brier": "Brier score (0 is best, 0.25 is a coin)",
    "brier_skill": "Brier skill (1 is best, 0 is the base rate)",
    "log_loss": "log-loss",
    "accuracy": "points the right way",
    "auc": "area under the ROC curve",
    "ece": "calibration error (ECE)",
}


@dataclass(frozen=True, repr=False, kw_only=True)
class ProbabilityEvaluation(Scores):
    """Scores of probabilities over the tasks with a known outcome.

    Args:
        bins: Number of tasks, mean probability and share that came true, for each tenth of the probabilities.
    """

    NAMES: ClassVar[Mapping[str, str]] = _NAMES
    HEADLINE: ClassVar[tuple[str, ...]] = ("accuracy", "brier", "log_loss")
    FLAT: ClassVar[bool] = True

    bins: list[tuple[int, float, float]]

    def tables(self) -> list[Table]:
        """Return the calibration table: mean probability and share that came true, in tenths."""
        rows = [[f"{n:,}", f"{mean:.3f}", f"{share:.3f}"] for n, mean, share in self.bins if n]
        return [Table("Calibration, in tenths", ["tasks", "mean probability", "came true"], rows)]

    def details(self) -> dict[str, Any]:
        """Return the calibration table."""
        return {"bins": self.bins}


def evaluate(
    result: Result | pl.DataFrame, truth: Any, *, fit_gold: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> ProbabilityEvaluation:
    """Score a result, or a table with the columns task, probability, against the outcomes.

    The arguments are those of `evaluation.evaluate.evaluate`; `fit_gold` are the tasks that were gold in the fit.
    """
    tasks, probability = _estimates(result)
    table = outcome_table(truth)
    scored = scored_tasks(tasks, table["task"], fit_gold, "an estimate")
    p, y = probability[scored.estimate], table["outcome"].to_numpy()[scored.truth]
    return ProbabilityEvaluation(
        n=len(p),
        scores=_scores(p, y),
        bins=_bins(p, y),
        intervals=_intervals(p, y, seed) if resamples else {},
        **scored.left_out,
    )


def _scores(p: F8, y: F8) -> dict[str, Any]:
    square, log, right = _task_scores(p, y)
    base = float(np.mean((y - y.mean()) ** 2))
    bins = _bins(p, y)
    return {
        "brier": float(square.mean()),
        "brier_skill": 1 - float(square.mean()) / base if base > 0 else None,
        "log_loss": float(log.mean()),
        "accuracy": float(right.mean()),
        "auc": _auc(p, y),
        "ece": sum(n * abs(mean - share) for n, mean, share in bins if n) / len(p),
    }


def _task_scores(p: F8, y: F8) -> tuple[F8, F8, F8]:
    """Squared error, log-loss and accuracy (1/2 for a probability of 1/2) of each task."""
    clipped = np.clip(p, LEAST, 1 - LEAST)
    log = -np.where(y > 0.5, np.log(clipped), np.log1p(-clipped))
    right = np.where(p == 0.5, 0.5, (p > 0.5) == (y > 0.5))
    return (p - y) ** 2, log, right.astype(np.float64)


def _bins(p: F8, y: F8) -> list[tuple[int, float, float]]:
    at = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    n = np.bincount(at, minlength=BINS)
    mean, share = (np.bincount(at, v, BINS) / np.maximum(n, 1) for v in (p, y))
    return [(int(k), float(s), float(t)) for k, s, t in zip(n, mean, share, strict=True)]


def _auc(p: F8, y: F8) -> float | None:
    from scipy.stats import rankdata

    yes = y > 0.5
    n, m = int(yes.sum()), int((~yes).sum())
    if not n or not m:
        return None
    return float((rankdata(p)[yes].sum() - n * (n + 1) / 2) / (n * m))


def _intervals(p: F8, y: F8, seed: int) -> dict[str, tuple[float, float]]:
    rng = np.random.default_rng(seed)
    block = random_blocks(len(p), MAX_BLOCKS, rng)
    columns = [*_task_scores(p, y), np.ones(len(p))]
    terms = np.stack([np.bincount(block, c) for c in columns], axis=1).astype(np.float64)
    means = {name: ratio_of_sums(j, 3) for j, name in enumerate(("brier", "log_loss", "accuracy"))}
    return bootstrap_intervals(terms, means, 0.95, rng)


def _estimates(result: Result | pl.DataFrame) -> tuple[pl.Series, F8]:
    if isinstance(result, Result):
        return result.tasks, result.probability
    check_estimates(result, "probability")
    try:
        values = result["probability"].cast(pl.Float64).to_numpy()
    except pl.exceptions.PolarsError as error:
        raise DataError("the column probability must hold numbers") from error
    if not ((values >= 0) & (values <= 1)).all():
        raise DataError("the column probability must hold numbers from 0 to 1")
    return result["task"], values


# ----------------------------------------------------------------
# Descriptions of votes and results.


def describe(votes: Votes[Probabilities]) -> dict[str, Any]:
    """Describe votes: the common facts plus mean, shares of 0 or 1, and share of 1/2."""
    p = votes.answers.probability
    certain = (p == 0) | (p == 1)
    facts: dict[str, float | None] = {"mean": None, "sure": None, "halves": None}
    if len(p):
        facts = {"mean": float(p.mean()), "sure": float(certain.mean()), "halves": float((p == 0.5).mean())}
    return {**common(votes), "probability": facts}


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:  # noqa: ARG001
    """Return rows, tables and advice for `crowdwise inspect`."""
    rows = [["tasks with several answers", f"{facts['tasks_with_several_labels']:,}"]]
    probability = facts["probability"]
    if probability["mean"] is None:
        return rows, [], []
    rows += [
        ["mean probability", f"{probability['mean']:.3f}"],
        ["answers that are 0 or 1", f"{probability['sure']:.1%}"],
        ["answers that are 1/2", f"{probability['halves']:.1%}"],
    ]
    advice = ["every answer is 0 or 1: read them as classes with --kind classes"] * (probability["sure"] == 1)
    return rows, [], advice


def sentences(votes: Votes[Probabilities], result: Result) -> list[str]:
    """Describe a result in sentences."""
    out = [result.estimate.summary()]
    mean = float(votes.answers.probability.mean()) if len(votes) else 0.5
    if abs(mean - 0.5) > 0.1:
        answer = "yes" if mean > 0.5 else "no"
        out.append(f"the answers lean towards {answer} (mean {mean:.2f}), and so does a mean of answers")
    if result.gold is None:
        out.append("checking whether such probabilities come true needs outcomes (evaluate --truth)")
    return out


def show(result: Result) -> tuple[str, list[Table]]:
    """Return the summary and a table of the tasks closest to 1/2."""
    order = np.argsort(np.abs(result.probability - 0.5), kind="stable")[:5]
    table = result.to_table()[order.tolist()]
    rows = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row] for row in table.iter_rows()]
    return result.estimate.summary(), [Table("Least certain tasks", table.columns, rows)]
