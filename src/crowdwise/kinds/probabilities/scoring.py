"""How good are probabilities, given what happened: proper scores, calibration, and whether they point the right way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.describe import common
from ...core.errors import DataError
from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...evaluation.evaluate import ALL_GOLD, among
from ...evaluation.scores import Scored, Table
from ...stats.bootstrap import MAX_BLOCKS, bootstrap_interval, random_blocks
from .fitting import outcome_table
from .kind import Probabilities

F8 = npt.NDArray[np.float64]
# Log-loss of a wrong certainty is counted at this probability.
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


@dataclass(frozen=True)
class ProbabilityEvaluation(Scored):
    """Scores over the tasks with a known outcome; `intervals` are 95 %, where resamples were asked for. `bins` holds a
    row for each tenth: tasks, mean probability, share that came true."""

    n: int
    brier: float
    brier_skill: float | None
    log_loss: float
    accuracy: float
    auc: float | None
    ece: float
    bins: list[tuple[int, float, float]]
    truths_without_labels: int = 0
    n_gold_left_out: int = 0
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def rows(self) -> list[list[str]]:
        """Name, value and 95 % interval of every score."""
        out = []
        for key, name in _NAMES.items():
            value = getattr(self, key)
            if value is not None:
                low, high = self.intervals.get(key, (None, None))
                out.append([name, f"{value:.4f}", "–" if low is None else f"{low:.4f} – {high:.4f}"])
        return out

    def tables(self) -> list[Table]:
        """What was said, and what came true."""
        rows = [[f"{n:,}", f"{said:.3f}", f"{true:.3f}"] for n, said, true in self.bins if n]
        return [Table("Calibration, in tenths", ["tasks", "mean probability", "came true"], rows)]

    def headline(self) -> dict[str, float]:
        """Accuracy, Brier score and log-loss."""
        return {"accuracy": self.accuracy, "brier": self.brier, "log_loss": self.log_loss}

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))


def evaluate(
    found: Result | pl.DataFrame, truth: Any, *, told: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> ProbabilityEvaluation:
    """Score a Result, or a table task, probability, against outcomes that are 1 or 0."""
    tasks, probability = _estimates(found)
    table = outcome_table(truth)
    at, known = lookup(tasks, table["task"])
    if not known.any():
        raise DataError("none of the tasks in the truth has an estimate here; do the task ids match?")
    gone = known & among(table["task"], told)
    fair = known & ~gone
    if not fair.any():
        raise DataError(ALL_GOLD.format(n=int(gone.sum())))
    p, y = probability[at[fair]], table["outcome"].to_numpy()[fair]
    return ProbabilityEvaluation(
        n=len(p),
        **_scores(p, y),
        bins=_bins(p, y),
        truths_without_labels=int((~known).sum()),
        n_gold_left_out=int(gone.sum()),
        intervals=_intervals(p, y, seed) if resamples else {},
    )


def _scores(p: F8, y: F8) -> dict[str, Any]:
    square, log, right = _each(p, y)
    base = float(np.mean((y - y.mean()) ** 2))
    bins = _bins(p, y)
    return {
        "brier": float(square.mean()),
        "brier_skill": 1 - float(square.mean()) / base if base > 0 else None,
        "log_loss": float(log.mean()),
        "accuracy": float(right.mean()),
        "auc": _auc(p, y),
        "ece": sum(n * abs(said - true) for n, said, true in bins if n) / len(p),
    }


def _each(p: F8, y: F8) -> tuple[F8, F8, F8]:
    """Squared error, log-loss, and whether it points the right way (1/2 does by half), of each task."""
    held = np.clip(p, LEAST, 1 - LEAST)
    log = -np.where(y > 0.5, np.log(held), np.log1p(-held))
    right = np.where(p == 0.5, 0.5, (p > 0.5) == (y > 0.5))
    return (p - y) ** 2, log, right.astype(np.float64)


def _bins(p: F8, y: F8) -> list[tuple[int, float, float]]:
    at = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    n = np.bincount(at, minlength=BINS)
    said, true = (np.bincount(at, v, BINS) / np.maximum(n, 1) for v in (p, y))
    return [(int(k), float(s), float(t)) for k, s, t in zip(n, said, true, strict=True)]


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
    columns = [*_each(p, y), np.ones(len(p))]
    terms = np.stack([np.bincount(block, c) for c in columns], axis=1).astype(np.float64)
    out = {}
    for j, name in enumerate(("brier", "log_loss", "accuracy")):

        def mean(sums: F8, j: int = j) -> F8:
            return np.asarray(sums[..., j] / sums[..., -1])

        found = bootstrap_interval(terms, mean, 0.95, rng)
        if found is not None:
            out[name] = found
    return out


def _estimates(found: Result | pl.DataFrame) -> tuple[pl.Series, F8]:
    if isinstance(found, Result):
        return found.tasks, found.probability
    for name in ("task", "probability"):
        if name not in found.columns:
            raise DataError(f"the estimates have no column {name!r}; they have {', '.join(found.columns)}")
    if found["task"].is_duplicated().any():
        raise DataError(f"task {found['task'].filter(found['task'].is_duplicated())[0]!r} has two estimates")
    try:
        values = found["probability"].cast(pl.Float64).to_numpy()
    except pl.exceptions.PolarsError as error:
        raise DataError("the column probability must hold numbers") from error
    if not ((values >= 0) & (values <= 1)).all():
        raise DataError("the column probability must hold numbers from 0 to 1")
    return found["task"], values


# ----------------------------------------------------------------
# Probabilities in words and small tables: what is in a file, what a fit found.


def describe(votes: Votes[Probabilities]) -> dict[str, Any]:
    """What votes of every kind have, and where the probabilities lie."""
    p = votes.answers.probability
    certain = (p == 0) | (p == 1)
    facts: dict[str, float | None] = {"mean": None, "sure": None, "halves": None}
    if len(p):
        facts = {"mean": float(p.mean()), "sure": float(certain.mean()), "halves": float((p == 0.5).mean())}
    return {**common(votes), "probability": facts}


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:  # noqa: ARG001
    """Rows, tables and advice for `crowdwise inspect`."""
    rows = [["tasks with several answers", f"{facts['tasks_with_several_labels']:,}"]]
    told = facts["probability"]
    if told["mean"] is None:
        return rows, [], []
    rows += [
        ["mean probability", f"{told['mean']:.3f}"],
        ["answers that are 0 or 1", f"{told['sure']:.1%}"],
        ["answers that are 1/2", f"{told['halves']:.1%}"],
    ]
    advice = ["every answer is 0 or 1: read them as classes with --kind classes"] * (told["sure"] == 1)
    return rows, [], advice


def sentences(votes: Votes[Probabilities], result: Result) -> list[str]:
    """What a fit found."""
    out = [result.estimate.summary()]
    mean = float(votes.answers.probability.mean()) if len(votes) else 0.5
    if abs(mean - 0.5) > 0.1:
        way = "yes" if mean > 0.5 else "no"
        out.append(f"the answers lean to {way} (mean {mean:.2f}); a mean of answers leans with them")
    if result.gold is None:
        out.append("whether such probabilities come true only outcomes can show (evaluate --truth)")
    return out


def show(result: Result) -> tuple[str, list[Table]]:
    """The summary, and the tasks nearest to 1/2."""
    order = np.argsort(np.abs(result.probability - 0.5), kind="stable")[:5]
    table = result.to_table()[order.tolist()]
    rows = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row] for row in table.iter_rows()]
    return result.estimate.summary(), [Table("Least certain tasks", table.columns, rows)]
