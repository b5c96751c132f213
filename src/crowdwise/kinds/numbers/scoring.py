"""Description, evaluation, comparison and calibration statement of votes and results that are numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs

from ...core import method_registry as registry
from ...core.arrays import F8
from ...core.describe import common
from ...core.errors import DataError, ParameterError
from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.distance_based import DistanceComparison, fit_methods, held_out_folds, method_table
from ...evaluation.evaluate import check_estimates, scored_tasks
from ...evaluation.scores import Scores
from ...evaluation.statement import ERROR, TO_CHECK
from .answers import Numbers
from .estimate import NumberEstimate
from .fitting import number_truth
from .maths.workers import Score, scores

_STATISTICS: dict[str, Callable[[F8], Any]] = {
    "min": np.min, "mean": np.mean, "median": np.median, "max": np.max, "sd": np.std,
}  # fmt: skip


def describe_numbers(votes: Votes[Numbers]) -> dict[str, Any]:
    """Describe votes: the common facts plus range, mean and spread of each part, overall and within tasks."""
    value = votes.answers.value
    facts = common(votes)
    for j, name in enumerate(votes.answers.names):
        column = value[:, j]
        of_task = np.bincount(votes.task, weights=column, minlength=votes.n_tasks) / np.maximum(
            votes.labels_per_task, 1
        )
        within = float(((column - of_task[votes.task]) ** 2).mean()) if len(column) else float("nan")
        facts[name] = {
            **{key: float(statistic(column)) if len(column) else None for key, statistic in _STATISTICS.items()},
            "sd_within_tasks": float(np.sqrt(within)),
            "different_values": len(np.unique(column)),
        }
    return facts


# ----------------------------------------------------------------
# Evaluation against the truth: errors, correlations and coverage of the intervals.

# Display names of the scores, in display order.
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


@dataclass(frozen=True, repr=False, kw_only=True)
class NumberEvaluation(Scores):
    """Scores of estimated numbers. The scores of a single part are also attributes: `evaluation.rmse`.

    Args:
        n: Number of scored tasks.
        parts: Scores by part of the answers ("" where there is one). A score has a value and, where resamples were
            requested, a 95 % interval.
        truths_without_labels: Number of tasks with a known truth but no estimate.
        n_gold_left_out: Number of tasks left out because they were gold in the fit.
    """

    NAMES: ClassVar[Mapping[str, str]] = SCORES

    scores: Mapping[str, float | None] = field(default_factory=dict)
    parts: dict[str, dict[str, Score]]

    def __post_init__(self) -> None:
        if len(self.parts) == 1:
            only = next(iter(self.parts.values()))
            object.__setattr__(self, "scores", {name: score.value for name, score in only.items()})

    def __repr__(self) -> str:
        scores_ = [f"{row[0]} {row[1]}" for row in self.rows()[:6]]
        return f"NumberEvaluation({self.n:,} task{'s' * (self.n != 1)}: {'; '.join(scores_)})"

    def rows(self) -> list[list[str]]:
        """Return the display name, value and 95 % interval of each score."""
        out = []
        for part, part_scores in self.parts.items():
            for key, name in SCORES.items():
                if key in part_scores and not np.isnan(part_scores[key].value):
                    score = part_scores[key]
                    between = "–" if np.isnan(score.low) else f"{score.low:.4g} – {score.high:.4g}"
                    out.append([f"{part}: {name}" if part else name, f"{score.value:.4g}", between])
        return out

    def headline(self) -> dict[str, Any]:
        """Return the scores that methods are compared by, of the first part of the answers."""
        part_scores = next(iter(self.parts.values()))
        keys = ("rmse", "mae", "pearson", "r2", "coverage")
        return {key: part_scores[key].value for key in keys if key in part_scores}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        parts = {
            part: {name: {"value": s.value, "low": s.low, "high": s.high} for name, s in part_scores.items()}
            for part, part_scores in self.parts.items()
        }
        counts = {"truths_without_labels": self.truths_without_labels, "n_gold_left_out": self.n_gold_left_out}
        return {"n": self.n, **(parts[""] if list(parts) == [""] else {"parts": parts}), **counts}


def evaluate(
    estimates: Result | pl.DataFrame,
    truth: Any,
    *,
    fit_gold: pl.Series | None = None,
    resamples: int = 0,
    seed: int = 0,
) -> NumberEvaluation:
    """Score estimates of numbers against the truth.

    Args:
        estimates: A Result, or a table task, value with optional columns low and high.
        truth: True values: a mapping or a table task, value.
        fit_gold: Tasks that were gold in the fit; they are not scored.
        resamples: 0 leaves out the intervals of the scores.
        seed: Seed of the resampling.

    Raises:
        DataError: No task can be scored, or a table is malformed.
    """
    tasks, value, low, high, parts = _parts(estimates)
    table = number_truth(truth, tuple(parts))
    scored = scored_tasks(tasks, table["task"], fit_gold, "an estimate")
    rows, true = scored.estimate, table.drop("task").to_numpy()[scored.truth]
    out = {}
    for j, part in enumerate(parts):
        ends = [None if e is None or np.isnan(e[rows, j]).all() else e[rows, j] for e in (low, high)]
        part_scores = scores(value[rows, j], true[:, j], ends[0], ends[1], seed=seed)
        out[part] = part_scores if resamples else {n: Score(s.value, np.nan, np.nan) for n, s in part_scores.items()}
    return NumberEvaluation(n=len(rows), parts=out, **scored.left_out)


def _parts(estimates: Result | pl.DataFrame) -> tuple[pl.Series, F8, F8 | None, F8 | None, list[str]]:
    if isinstance(estimates, Result):
        estimate = estimates.estimate
        assert isinstance(estimate, NumberEstimate)
        return estimates.tasks, estimate.value, estimate.low, estimate.high, estimate.parts.to_list()
    check_estimates(estimates, "value")
    columns = []
    for name in ("value", "low", "high"):
        try:
            columns.append(estimates[name].cast(pl.Float64).to_numpy()[:, None] if name in estimates.columns else None)
        except pl.exceptions.PolarsError as error:
            raise DataError(f"the column {name} must hold numbers") from error
    value, low, high = columns
    assert value is not None
    return estimates["task"], value, low, high, [""]


# ----------------------------------------------------------------
# Comparison of methods: agreement, prediction of held-out answers, and errors against the truth.


@dataclass(frozen=True)
class NumberComparison(DistanceComparison):
    """Comparison of methods for numbers.

    Args:
        methods: One row per method.
        tasks: One row per task with a column of estimates per method.
        results: Results by method.
        notes: Remarks.
        n_gold_left_out: Number of tasks not scored because they were gold.
    """

    HELD_OUT: ClassVar[str] = "held-out error"
    DIGITS: ClassVar[int] = 4

    def disputed(self, n: int) -> pl.DataFrame:
        """Return the n tasks on which the methods differ most."""
        return self.tasks.sort("spread", descending=True).head(n)

    def ranked(self) -> tuple[pl.DataFrame, list[str]]:
        """Return the fitted methods, best first, and the names of their score columns."""
        fitted = self.methods.filter(pl.col("reason").is_null())
        fitted = fitted.sort("rmse" if "rmse" in fitted.columns else "held_out", nulls_last=True)
        return fitted, [name for name in ("rmse", "mae", "pearson", "coverage") if name in fitted.columns]

    def legend(self) -> str:
        """Explain the columns."""
        return (
            "agrees: mean correlation of the estimates with those of the other methods; held-out error: root mean "
            "squared error on held-out answers"
        )


def compare(
    votes: Votes[Numbers],
    methods: Sequence[str] | None = None,
    *,
    truth: Any = None,
    gold: Any = None,
    seed: int = 0,
    folds: int = 5,
    jobs: int = 1,  # noqa: ARG001
    watch: Any = None,
) -> NumberComparison:
    """Fit several methods and compare them; arguments as in `evaluation.compare`.

    Methods that cannot run are listed with the reason.
    """
    if folds < 0:
        raise ParameterError(f"folds must be 0 or more, got {folds}")
    names = list(methods or registry.names("numbers"))
    rows, results, n_gold_left_out = fit_methods(votes, names, _held_out, truth, gold, seed, folds, watch)
    agreement = _agreement(results)
    for row in rows:
        row["agreement"] = agreement.get(row["method"])
    return NumberComparison(method_table(rows), _tasks(votes, results), results, n_gold_left_out=n_gold_left_out)


def _held_out(method: Any, votes: Votes[Numbers], gold: Any, folds: int, seed: int) -> float | None:
    """Root mean squared error of held-out answers, predicted by the estimate plus the worker's bias."""
    total, n = 0.0, 0
    for train, out in held_out_folds(votes, folds, seed):
        fit = method.fit(train, gold=gold)
        is_predictable = (fit.labels_per_task > 0)[out.task] & (fit.labels_per_worker > 0)[out.worker]
        at = fit.estimate.value[out.task] + fit.worker_summary.bias[out.worker]
        scale = np.maximum(votes.answers.value.std(axis=0), 1e-300)
        gap = ((out.answers.value - at) / scale)[is_predictable]
        total, n = total + float((gap**2).mean(axis=1).sum()), n + int(is_predictable.sum())
    unit = float(votes.answers.value.std(axis=0).mean())
    return float(np.sqrt(total / n)) * unit if n else None


def _agreement(results: dict[str, Result]) -> dict[str, float]:
    if len(results) < 2:
        return {}
    names = list(results)
    table = np.stack([results[name].estimate.value.ravel() for name in names])  # type: ignore[attr-defined]
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.corrcoef(table)
    mean = (np.nansum(r, axis=1) - 1) / (len(names) - 1)
    return {name: float(value) for name, value in zip(names, mean, strict=True)}


def _tasks(votes: Votes[Numbers], results: dict[str, Result]) -> pl.DataFrame:
    columns = {name: result.estimate.value[:, 0] for name, result in results.items()}  # type: ignore[attr-defined]
    frame = pl.DataFrame({"task": votes.tasks, **columns})
    spread = np.std(list(columns.values()), axis=0) if columns else np.zeros(len(frame))
    return frame.with_columns(pl.Series("spread", spread))


# ----------------------------------------------------------------
# The least certain estimates, and the tasks that need more answers.

# Intervals at least this many times as wide as the median are reported as wide.
WIDE = 1.5
# False discovery rate of the tasks whose answers are reported as too dispersed.
LEVEL = 0.01
# Lower bound of a worker's spread, relative to the median worker.
_STEADIEST = 0.25


def tasks_to_review(votes: Votes[Numbers], result: Result) -> pl.DataFrame:
    """Return one row per task, tasks that need more answers first, the least certain on top.

    The columns are those of the result's table and

    - `width`: width of the interval relative to the median (of the widest part; of the standard error where there are
      no intervals),
    - `apart`: dispersion of the answers relative to what the errors of these workers explain (1 is typical),
    - `why`: why more answers are needed, empty where they are not.
    """
    width, dispersion, p = _relative_width(votes, result), *_dispersion(votes, result)
    n = votes.labels_per_task
    is_wide, is_dispersed = width >= WIDE, _discoveries(p)
    why = np.full(votes.n_tasks, "", dtype=object)
    why[is_wide] = "much less certain than usual"
    why[is_wide & (n == 1)] = "only one answer"
    why[is_dispersed] = "the answers differ more than these workers' errors explain"
    why[n == 0] = "no answers"
    score = np.where(n == 0, np.inf, np.fmax(width, np.where(is_dispersed, dispersion, 0.0)))
    order = np.lexsort((-np.nan_to_num(score, nan=-1.0, posinf=1e300), why == ""))
    table = result.to_table().with_columns(
        pl.Series("width", width), pl.Series("apart", dispersion), pl.Series("why", why.tolist(), dtype=pl.String)
    )
    sorted_table: pl.DataFrame = table.with_columns(cs.float().fill_nan(None))[order.tolist()]
    return sorted_table


def _discoveries(p: F8) -> npt.NDArray[np.bool_]:
    from scipy.stats import false_discovery_control

    out = np.zeros(len(p), dtype=bool)
    use = np.isfinite(p)
    if use.any():
        out[use] = false_discovery_control(p[use]) <= LEVEL
    return out


def _relative_width(votes: Votes[Numbers], result: Result) -> F8:
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    n = votes.labels_per_task
    width = estimate.high - estimate.low
    for j in range(width.shape[1]):
        if np.isnan(width[:, j]).all():
            width[:, j] = _standard_error(votes, votes.answers.value[:, j])
    answered_width = np.where((n > 0)[:, None], width, np.nan)
    median = [float(np.nanmedian(column)) if np.isfinite(column).any() else np.nan for column in answered_width.T]
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = width / np.array(median)
    # Where all intervals have width zero, none is wider than the median.
    return np.asarray(np.where(np.isfinite(relative), relative, 1.0).max(axis=1, initial=0.0))


def _standard_error(votes: Votes[Numbers], value: F8) -> F8:
    """Standard error of the mean of each task's answers; for a single answer, the pooled standard deviation."""
    n = np.maximum(votes.labels_per_task, 1)
    mean = np.bincount(votes.task, weights=value, minlength=votes.n_tasks) / n
    square = np.bincount(votes.task, weights=(value - mean[votes.task]) ** 2, minlength=votes.n_tasks)
    free = float((n - 1).sum())
    pooled = float(square.sum()) / free if free else 0.0
    # The variance of few answers is poorly estimated: one pseudo-answer with the pooled variance is added.
    return np.asarray(np.sqrt((square + pooled) / n / n))


def _dispersion(votes: Votes[Numbers], result: Result) -> tuple[F8, F8]:
    """Root mean squared standardised error of each task's answers, and its p-value."""
    from scipy.stats import chi2

    estimate, picture = result.estimate, result.worker_summary
    assert isinstance(estimate, NumberEstimate)
    worker, free = votes.worker, np.maximum(votes.labels_per_task - 1, 0)
    largest, smallest = np.full(votes.n_tasks, np.nan), np.full(votes.n_tasks, np.nan)
    table: Any = picture
    for j in range(estimate.value.shape[1]):
        value = estimate.value[:, j]
        centre = float(value.mean()) if len(value) else 0.0
        spread = table.spread[:, j]
        active = votes.labels_per_worker > 0
        floor = _STEADIEST * float(np.median(spread[active])) if active.any() else 0.0
        if not floor > 0:
            continue
        predicted = centre + table.slope[worker, j] * (value[votes.task] - centre) + table.bias[worker, j]
        gap = votes.answers.value[:, j] - predicted
        # A method that clamps outliers underestimates the spread of the workers who gave them.
        observed = np.sqrt(
            np.bincount(worker, weights=gap**2, minlength=votes.n_workers) / np.maximum(votes.labels_per_worker, 1)
        )
        z = gap / np.maximum(np.maximum(spread, observed), floor)[worker]
        square = np.bincount(votes.task, weights=z**2, minlength=votes.n_tasks)
        with np.errstate(divide="ignore", invalid="ignore"):
            largest = np.fmax(largest, np.sqrt(np.where(free > 0, square / free, np.nan)))
        smallest = np.fmin(smallest, np.where(free > 0, chi2.sf(square, np.maximum(free, 1)), np.nan))
    return largest, smallest


# ----------------------------------------------------------------
# How far the intervals can be trusted: measured on checked tasks, or not at all.


@dataclass(frozen=True)
class NumberTrust:
    """Calibration statement about the intervals.

    Args:
        n_tasks: Number of tasks.
        level: Nominal coverage.
        parts: Names of the parts of an answer.
        half: Mean half-width of the intervals of tasks without gold, by part; NaN where the method has no intervals.
        n_checked: Number of checked tasks.
        held: Number of checked tasks inside the intervals of a fit without gold, by part.
        before: Mean half-width of those intervals, by part.
        low: Lower end of the 90 % interval of the coverage on the other tasks.
        high: Upper end of that interval.
        reason: Why the coverage was not measured.
    """

    n_tasks: int
    level: float
    parts: tuple[str, ...]
    half: tuple[float, ...]
    n_checked: int = 0
    held: tuple[int, ...] = ()
    before: tuple[float | None, ...] = ()
    low: float = 0.0
    high: float = 1.0
    reason: str = ""

    def sentence(self, written: str = "") -> str:
        """Return the statement without a full stop; `written` names a file with tasks to check."""
        if all(np.isnan(half) for half in self.half):
            return f"this method has no intervals; {self._advice(written)}"
        widths = self._each(tuple(f"± {half:.3g}" for half in self.half))
        if not self.n_checked:
            unknown = self.reason or "no task has been checked"
            return (
                f"{unknown}: {100 * self.level:g} % intervals of {widths} on average say how far this crowd settles "
                f"the answer, not how often they hold the truth; {self._advice(written)}"
            )
        before = self._each(
            tuple(
                "none" if b is None else f"± {b:.3g}, {n} of {self.n_checked} held"
                for b, n in zip(self.before, self.held, strict=True)
            )
        )
        return (
            f"{100 * self.level:g} % intervals of {widths} on average hold the truth on "
            f"{100 * self.low:.0f}-{100 * self.high:.0f} % of the other tasks, measured on {self.n_checked:,} checked "
            f"tasks (before gold: {before})"
        )

    def _each(self, texts: tuple[str, ...]) -> str:
        if len(texts) == 1:
            return texts[0]
        return "; ".join(f"{part}: {text}" for part, text in zip(self.parts, texts, strict=True))

    def _advice(self, written: str) -> str:
        n = min(TO_CHECK, self.n_tasks)
        return f"label these {n:,} to know ({written})" if written else f"label {n:,} tasks at random to know"

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as JSON-compatible values."""
        return {
            "checked": self.n_checked,
            "level": self.level,
            "half_width": [None if np.isnan(half) else half for half in self.half],
            "held": list(self.held),
            "half_width_before": list(self.before),
            "low": self.low if self.n_checked else None,
            "high": self.high if self.n_checked else None,
            "reason": self.reason or None,
        }


def trust(result: Result, error: float = ERROR) -> NumberTrust:
    """Return the calibration statement of a result. `error` is ignored: a number is not simply right or wrong."""
    del error
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    free = np.asarray(result.labels_per_task) > 0
    if result.gold is not None:
        free &= ~np.asarray(result.gold)
    half = [_mean((estimate.high - estimate.low)[free, j] / 2) for j in range(len(estimate.parts))]
    level, parts = float(result.params.get("level", 0.9)), tuple(str(part) for part in estimate.parts.to_list())
    check = result.extra.get("gold_check") or {}
    if "held" not in check:
        return NumberTrust(result.n_tasks, level, parts, tuple(half), reason=str(check.get("reason", "")))
    return NumberTrust(
        result.n_tasks, level, parts, tuple(half), int(check["n"]), tuple(check["held"]), tuple(check["before"]),
        float(check["low"]), float(check["high"]),
    )  # fmt: skip


def _mean(values: Any) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")


def expected_errors(votes: Votes[Any], result: Result) -> F8:
    """Return the expected absolute error of each task, of several parts their mean; sqrt(2 / pi) standard deviations.

    A task without answers has the spread of all tasks.
    """
    sd = np.asarray(result.estimate_as(NumberEstimate).sd, dtype=np.float64).reshape(votes.n_tasks, -1)
    mean = np.asarray(result.mean, dtype=np.float64).reshape(votes.n_tasks, -1)
    usual = np.nanstd(mean, axis=0) if len(mean) else np.zeros(sd.shape[1])
    sd = np.where(np.isfinite(sd), sd, usual)
    return np.asarray(np.sqrt(2 / np.pi) * sd.mean(axis=1))
