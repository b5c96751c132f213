"""What is in votes that are numbers, as plain values."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs

from ...core import method_registry as registry
from ...core.describe import common
from ...core.errors import CrowdwiseError, CrowdwiseWarning, DataError, ParameterError
from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...evaluation.evaluate import ALL_GOLD, among, gold_tasks
from ...evaluation.scores import Scored, Table
from ...evaluation.statement import ERROR, TO_CHECK
from ...io.csv.folder import write_tables
from .estimate import NumberEstimate
from .fitting import number_truth
from .kind import Numbers
from .maths.workers import Score, scores

if TYPE_CHECKING:
    from .kind import Numbers


def describe_numbers(votes: Votes[Numbers]) -> dict[str, Any]:
    """Of numbers also: their range, mean and spread, and how much of the spread lies between tasks."""
    value = votes.answers.value
    found = common(votes)
    for j, name in enumerate(votes.answers.names):
        column = value[:, j]
        of_task = np.bincount(votes.task, weights=column, minlength=votes.n_tasks) / np.maximum(
            votes.labels_per_task, 1
        )
        within = float(((column - of_task[votes.task]) ** 2).mean()) if len(column) else float("nan")
        found[name] = {
            "min": float(column.min()) if len(column) else None,
            "mean": float(column.mean()) if len(column) else None,
            "median": float(np.median(column)) if len(column) else None,
            "max": float(column.max()) if len(column) else None,
            "sd": float(column.std()) if len(column) else None,
            "sd_within_tasks": float(np.sqrt(within)),
            "different_values": len(np.unique(column)),
        }
    return found


# ----------------------------------------------------------------
# How good are estimates of numbers, given the truth: errors, correlations, and how often intervals hold it.

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


# ----------------------------------------------------------------
# Many methods for numbers side by side: how they agree, how well they predict answers not seen, and the truth.

FILES = ("methods.csv", "tasks.csv")


@dataclass(frozen=True)
class NumberComparison:
    """`methods` has a row for each method, `tasks` a column of estimates for each; results by name."""

    methods: pl.DataFrame
    tasks: pl.DataFrame
    results: dict[str, Result]
    notes: tuple[str, ...] = ()
    n_gold_left_out: int = 0

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write methods.csv and tasks.csv."""
        write_tables(folder, {FILES[0]: self.methods, FILES[1]: self.tasks}, force=force)

    def to_dict(self, limit: int) -> dict[str, Any]:
        """Plain values."""
        tasks = self.disputed(limit).to_dicts()
        return {"methods": self.methods.to_dicts(), "disputed": tasks, "notes": list(self.notes)}

    def disputed(self, n: int) -> pl.DataFrame:
        """The tasks on which the methods differ most."""
        return self.tasks.sort("spread", descending=True).head(n)

    def tables(self, limit: int, votes: Any) -> list[Table]:  # noqa: ARG002
        """For people: the methods, the best first, and the tasks on which they differ most."""
        done = self.methods.filter(pl.col("reason").is_null())
        by = "rmse" if "rmse" in done.columns else "held_out"
        done = done.sort(by, nulls_last=True)
        shown = ["method", "cpu_seconds", "iterations", "agreement", "held_out"]
        shown += [name for name in ("rmse", "mae", "pearson", "coverage") if name in done.columns]
        rows = [["–" if v is None else f"{v:.4g}" if isinstance(v, float) else str(v) for v in row]
                for row in done.select(shown).iter_rows()]  # fmt: skip
        heads = {"cpu_seconds": "CPU s", "iterations": "steps", "agreement": "agrees", "held_out": "held-out error"}
        out = [Table("", [heads.get(name, name) for name in shown], rows)]
        refused = self.methods.filter(pl.col("reason").is_not_null())
        if len(refused):
            reasons = [list(row) for row in refused.select("method", "reason").rows()]
            out.append(Table("Could not run", ["method", "reason"], reasons))
        worst = self.disputed(limit)
        if len(worst) and len(self.results) > 1:
            cells = [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in row] for row in worst.iter_rows()]
            out.append(Table("Most disputed tasks", worst.columns, cells))
        return out

    def legend(self) -> str:
        """What the columns mean."""
        return (
            "agrees: mean correlation of the estimates with those of the other methods; held-out error: root mean "
            "squared error of answers that the method had not seen"
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
    """Fit many methods; those that refuse are listed with their reason."""
    if folds < 0:
        raise ParameterError(f"folds must be 0 or more, got {folds}")
    names = list(methods or registry.names("numbers"))
    results: dict[str, Result] = {}
    rows: list[dict[str, Any]] = []
    left = 0
    for i, name in enumerate(names):
        if watch is not None:
            watch(i, len(names), name)
        row: dict[str, Any] = {"method": name, "reason": None}
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CrowdwiseWarning)
            try:
                method = registry.method(name, seed=seed)
                results[name] = method.fit(votes, gold=gold)
                row |= {"cpu_seconds": time.process_time() - began, "iterations": results[name].n_iter}
                row["held_out"] = _held_out(method, votes, gold, folds, seed)
                if truth is not None:
                    found = evaluate(results[name], truth, told=gold_tasks(results[name]))
                    left = found.n_gold_left_out
                    only = next(iter(found.parts.values()))
                    row |= {key: only[key].value for key in ("rmse", "mae", "pearson", "r2", "coverage") if key in only}
            except CrowdwiseError as error:
                results.pop(name, None)
                row["reason"] = str(error)
        rows.append(row)
    agrees = _agreement(results)
    for row in rows:
        row["agreement"] = agrees.get(row["method"])
    order = ["method", "cpu_seconds", "iterations", "agreement", "held_out"]
    table = pl.DataFrame(rows, infer_schema_length=None)
    for name in order:
        if name not in table.columns:
            table = table.with_columns(pl.lit(None, dtype=pl.Float64).alias(name))
    table = table.select(*order, pl.exclude(*order, "reason"), "reason")
    return NumberComparison(table, _tasks(votes, results), results, n_gold_left_out=left)


def _held_out(method: Any, votes: Votes[Numbers], gold: Any, folds: int, seed: int) -> float | None:
    """Root mean squared error of answers predicted from the others' estimate and the worker's own bias."""
    if folds < 2 or len(votes) < 2 * folds:
        return None
    fold = np.random.default_rng(seed).permutation(np.arange(len(votes)) % folds)
    total, n = 0.0, 0
    for k in range(folds):
        out = votes.take(fold == k)
        found = method.fit(votes.take(fold != k), gold=gold)
        heard = (found.labels_per_task > 0)[out.task] & (found.labels_per_worker > 0)[out.worker]
        at = found.estimate.value[out.task] + found.picture.bias[out.worker]
        scale = np.maximum(votes.answers.value.std(axis=0), 1e-300)
        gap = ((out.answers.value - at) / scale)[heard]
        total, n = total + float((gap**2).mean(axis=1).sum()), n + int(heard.sum())
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
    columns = {name: found.estimate.value[:, 0] for name, found in results.items()}  # type: ignore[attr-defined]
    frame = pl.DataFrame({"task": votes.tasks, **columns})
    spread = np.std(list(columns.values()), axis=0) if columns else np.zeros(len(frame))
    return frame.with_columns(pl.Series("spread", spread))


# ----------------------------------------------------------------
# Which estimates of numbers are the least sure, and which tasks are worth asking again.

# An interval so many times as wide as the usual one is wide.
WIDE = 1.5
# False discoveries among the tasks whose answers lie too far apart.
LEVEL = 0.01
# No worker is taken to be steadier than this share of the usual worker's spread.
_STEADIEST = 0.25


def doubtful(votes: Votes[Numbers], result: Result) -> pl.DataFrame:
    """One row a task, those to ask again first, the least sure on top: task, what is believed of it, and

    width: that of the interval beside the usual one's (1 is usual; the widest part counts; without intervals, that of
    the standard error); apart: how far the answers lie apart beside what these workers' errors explain (1 is usual);
    why: the reason to ask again, empty where there is none.
    """
    width, apart, p = _width(votes, result), *_apart(votes, result)
    n = votes.labels_per_task
    wide, far = width >= WIDE, _found(p)
    why = np.full(votes.n_tasks, "", dtype=object)
    why[wide] = "much less sure than usual"
    why[wide & (n == 1)] = "one answer only"
    why[far] = "the answers lie further apart than these workers' errors explain"
    why[n == 0] = "nobody has answered it"
    score = np.where(n == 0, np.inf, np.fmax(width, np.where(far, apart, 0.0)))
    order = np.lexsort((-np.nan_to_num(score, nan=-1.0, posinf=1e300), why == ""))
    table = result.to_table().with_columns(
        pl.Series("width", width), pl.Series("apart", apart), pl.Series("why", why.tolist(), dtype=pl.String)
    )
    sorted_table: pl.DataFrame = table.with_columns(cs.float().fill_nan(None))[order.tolist()]
    return sorted_table


def _found(p: F8) -> npt.NDArray[np.bool_]:
    from scipy.stats import false_discovery_control

    out = np.zeros(len(p), dtype=bool)
    use = np.isfinite(p)
    if use.any():
        out[use] = false_discovery_control(p[use]) <= LEVEL
    return out


def _width(votes: Votes[Numbers], result: Result) -> F8:
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    n = votes.labels_per_task
    width = estimate.high - estimate.low
    for j in range(width.shape[1]):
        if np.isnan(width[:, j]).all():
            width[:, j] = _standard_error(votes, votes.answers.value[:, j])
    known = np.where((n > 0)[:, None], width, np.nan)
    usual = [float(np.nanmedian(column)) if np.isfinite(column).any() else np.nan for column in known.T]
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = width / np.array(usual)
    # Where all is equal, nothing is wider than usual.
    return np.asarray(np.where(np.isfinite(relative), relative, 1.0).max(axis=1, initial=0.0))


def _standard_error(votes: Votes[Numbers], value: F8) -> F8:
    """Of the mean of each task's answers; where there is one answer, that of one usual answer."""
    n = np.maximum(votes.labels_per_task, 1)
    mean = np.bincount(votes.task, weights=value, minlength=votes.n_tasks) / n
    square = np.bincount(votes.task, weights=(value - mean[votes.task]) ** 2, minlength=votes.n_tasks)
    free = float((n - 1).sum())
    usual = float(square.sum()) / free if free else 0.0
    # A few answers say little of their own spread: one usual answer is mixed in.
    return np.asarray(np.sqrt((square + usual) / n / n))


def _apart(votes: Votes[Numbers], result: Result) -> tuple[F8, F8]:
    """Root of the mean squared standardised error of each task's answers, and the p-value of so large a one."""
    from scipy.stats import chi2

    estimate, picture = result.estimate, result.picture
    assert isinstance(estimate, NumberEstimate)
    who, free = votes.worker, np.maximum(votes.labels_per_task - 1, 0)
    worst, least = np.full(votes.n_tasks, np.nan), np.full(votes.n_tasks, np.nan)
    table: Any = picture
    for j in range(estimate.value.shape[1]):
        value = estimate.value[:, j]
        centre = float(value.mean()) if len(value) else 0.0
        spread = table.spread[:, j]
        heard = votes.labels_per_worker > 0
        floor = _STEADIEST * float(np.median(spread[heard])) if heard.any() else 0.0
        if not floor > 0:
            continue
        predicted = centre + table.slope[who, j] * (value[votes.task] - centre) + table.bias[who, j]
        gap = votes.answers.value[:, j] - predicted
        # A method that pulls wild answers in thinks their workers steadier than they are.
        seen = np.sqrt(
            np.bincount(who, weights=gap**2, minlength=votes.n_workers) / np.maximum(votes.labels_per_worker, 1)
        )
        z = gap / np.maximum(np.maximum(spread, seen), floor)[who]
        square = np.bincount(votes.task, weights=z**2, minlength=votes.n_tasks)
        with np.errstate(divide="ignore", invalid="ignore"):
            worst = np.fmax(worst, np.sqrt(np.where(free > 0, square / free, np.nan)))
        least = np.fmin(least, np.where(free > 0, chi2.sf(square, np.maximum(free, 1)), np.nan))
    return worst, least


# ----------------------------------------------------------------
# How far intervals of numbers can be trusted: measured on checked tasks, or that nothing is.


@dataclass(frozen=True)
class NumberTrust:
    """Half the mean width of the intervals of tasks without gold, a part each (NaN: the method has none). With gold,
    `held` of the `n_checked` checked tasks lay in the intervals of the fits that had not seen them, of half-width
    `before`, and the intervals now hold the truth on `low` to `high` of the other tasks (90 % interval)."""

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
        """The statement, without a full stop; `written` names a file with tasks to check."""
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
        """For JSON."""
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
    """What can be said of a result of numbers; a number is not right or wrong, so no share `error` ships."""
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
    kept = values[np.isfinite(values)]
    return float(kept.mean()) if len(kept) else float("nan")
