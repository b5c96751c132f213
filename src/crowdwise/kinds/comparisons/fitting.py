"""Fitting comparisons: the base class of the methods, gold, results, decisions and inference for other pairs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I8, Mask
from ...core.callback import Callback
from ...core.errors import DataError
from ...core.method import FitOptions, FitOutput, Method
from ...core.model import Model
from ...core.params import Share
from ...core.result import Result, UnknownWorkers
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...em.ascent import Climb, Point, climb
from ...evaluation.calibration import DecisionHooks
from ...stats.gold_calibration import GoldCalibration
from .answers import Comparisons, comparison_votes, detect_columns, rows_of, sides_of_tasks, winner_of
from .estimate import ComparisonEstimate, ComparisonWorkers
from .maths.leaderboard import places, reliability
from .maths.models import PairFit, PairRows, outcome
from .occasions import WORDS

I1 = npt.NDArray[np.int8]


def chances(votes: Votes[Comparisons], score: F8, tie_level: float, tie_spread: float) -> tuple[I8, I8, F8]:
    """Return the items left and right of each task, -1 without answers, and chance[task, outcome] by their scores."""
    left, right = sides_of_tasks(votes)
    has_answers = left >= 0
    chance = np.full((votes.n_tasks, 3), 1 / 3)
    chance[has_answers] = outcome(score, left[has_answers], right[has_answers], tie_level, tie_spread)
    return left, right, chance


def estimate_of(
    votes: Votes[Comparisons], rows: PairRows, fit: PairFit, gold: I1 | None, level: float, seed: int
) -> ComparisonEstimate:
    """Build the estimate: scores with intervals and ranks at confidence `level`, and the outcome of each task."""
    from scipy.stats import norm

    left, right, chance = chances(votes, fit.score, fit.tie_level, fit.tie_spread)
    if gold is not None:
        at = np.flatnonzero((gold >= 0) & (left >= 0))
        chance[at] = np.eye(3)[gold[at]]
    se = np.full(rows.n_items, np.nan)
    ranks = np.ones((3, rows.n_items), dtype=np.int64)
    was_compared = rows.asked > 0
    ranks[1] = np.bincount(rows.component, minlength=1)[rows.component] if rows.n_items else 1
    if fit.blocks is not None and rows.n_items:
        for block in fit.blocks:
            se[block.members] = np.sqrt(block.variance)
        ranges = places(fit.score, fit.blocks, level, seed)
        ranks = np.stack([ranges.rank_low, ranges.rank_high, ranges.group])
    se = np.where(was_compared, se, np.nan)
    half = float(norm.ppf((1 + level) / 2)) * se
    counts = np.bincount(np.concatenate([rows.left, rows.right]), minlength=rows.n_items)
    return ComparisonEstimate(
        score=fit.score,
        se=se,
        score_low=fit.score - half,
        score_high=fit.score + half,
        rank_low=ranks[0],
        rank_high=ranks[1],
        group=ranks[2],
        component=rows.component,
        n_asked=counts.astype(np.int64),
        left=left,
        right=right,
        chance=chance,
        items=votes.answers.items,
    )


def summarize_workers(votes: Votes[Comparisons], rows: PairRows, fit: PairFit) -> ComparisonWorkers:
    """Build the summary of the workers: their reliability and the parameters of the fit; NaN without answers."""
    posterior = reliability(rows, fit.score)
    no_answers = votes.labels_per_worker == 0
    follows = {"reliability": posterior.mean, "reliability_low": posterior.low, "reliability_high": posterior.high}
    fitted = {name: _cut(getattr(fit, name), votes.n_workers) for name in ("slope", "position", "tie")}
    return ComparisonWorkers(
        **{name: np.where(no_answers, np.nan, value) for name, value in (follows | fitted).items()}
    )


def _cut(values: F8 | None, m: int) -> F8:
    """Drop the worker that stands for gold."""
    return np.full(m, np.nan) if values is None else values[:m]


# ---------------------------------------------------------------- Gold

# Weight of a gold answer, in answers of workers, in the scores of its two items.
GOLD_WEIGHT = 5.0


def outcomes(labels: pl.Series, left: pl.Series, right: pl.Series) -> npt.NDArray[np.int8]:
    """Map labels to outcomes 0, 1, 2: a side, a tie, or the name of one of the two items; -1 for anything else."""
    words = {word: code for code, synonyms in WORDS.items() for word in synonyms}
    text = labels.cast(pl.String).str.strip_chars()
    by_word = text.str.to_lowercase().replace_strict(words, default=-1, return_dtype=pl.Int8).fill_null(-1).to_numpy()
    is_left = (text == left.cast(pl.String)).fill_null(False).to_numpy()
    is_right = (text == right.cast(pl.String)).fill_null(False).to_numpy()
    return np.where(is_left, 0, np.where(is_right, 1, by_word)).astype(np.int8)


def refuse_items(table: pl.DataFrame, tasks: pl.Series, items: pl.Series, expected: str) -> None:
    """Raise where gold is about items instead of tasks."""
    names = table["task"].cast(pl.String)
    names_item = names.is_in(items.cast(pl.String).implode()) & ~names.is_in(tasks.cast(pl.String).implode())
    if len(names) and bool(names_item.all()):
        raise DataError(f"gold names items ({quote(table['task'])}), but it must be {expected}; evaluate takes items")


def pair_gold(gold: Any, votes: Votes[Comparisons]) -> I1 | None:
    """Return gold[task] on the sides of the task: 0 left, 1 right, 2 tie, -1 unknown.

    Gold tasks without answers are left out with a warning.
    """
    if gold is None:
        return None
    table = truth_table(gold, aliases=("winner",))
    refuse_items(table, votes.tasks, votes.answers.items, "known pairs: left, right, winner")
    task, has_task = place_gold(table, votes.tasks)
    left, right = sides_of_tasks(votes)
    rows = np.flatnonzero(has_task)
    rows = rows[left[task[rows]] >= 0]
    at = task[rows]
    items = votes.answers.items
    winner = outcomes(table["label"].gather(rows), items.gather(left[at]), items.gather(right[at]))
    if (winner < 0).any():
        row = int(np.flatnonzero(winner < 0)[0])
        raise DataError(
            f"the truth of task {quote([votes.tasks[int(at[row])]])} is {quote([table['label'][int(rows[row])]])}, "
            "neither left, right or tie nor one of its items"
        )
    out = np.full(votes.n_tasks, -1, dtype=np.int8)
    out[at] = winner
    return out


def gold_answers(votes: Votes[Comparisons], gold: Any) -> tuple[I8, Comparisons]:
    """Return the codes of the gold tasks and their answers."""
    gold_outcome = pair_gold(gold, votes)
    assert gold_outcome is not None
    left, right = sides_of_tasks(votes)
    at = np.flatnonzero(gold_outcome >= 0)
    sides = (left[at].astype(np.int32), right[at].astype(np.int32))
    return at, Comparisons(*sides, gold_outcome[at], votes.answers.items)


def estimated_answers(votes: Votes[Comparisons], result: Any) -> Comparisons:
    """Return the estimates as one answer per task, over the items of the votes."""
    answers: Comparisons = result.estimate.answers()
    if answers.items.equals(votes.answers.items):
        return answers
    table, _ = lookup(votes.answers.items, answers.items)
    return Comparisons(table[answers.left], table[answers.right], answers.outcome, votes.answers.items)


# ----------------------------------------------------------------
# The base class of the methods.


@dataclass(frozen=True, kw_only=True)
class ComparisonAggregator(Method):
    """Base class of methods for comparisons.

    `fit` takes votes or a table left, right, winner (and worker, task). Gold is the known winner of some tasks, as a
    mapping or a table task, label. Calibration works on the probabilities of the outcomes.

    Args:
        level: Confidence level of intervals and ranks.
        seed: Seed of random draws.
    """

    takes: ClassVar[str] = "comparisons"
    level: Share = 0.95

    def fit_votes(self, votes: Votes[Comparisons], gold: Any, options: FitOptions) -> FitOutput:
        """Fit the scores, then estimate the outcome of every pair and the quality of the workers."""
        gold_outcome = pair_gold(gold, votes)
        rows = rows_of(votes)
        fit = self.solve(_with_gold(rows, votes, gold_outcome), options.callback)
        extra = {"tie_level": _json(fit.tie_level), "tie_spread": float(fit.tie_spread)}
        return FitOutput(
            estimate=estimate_of(votes, rows, fit, gold_outcome, self.level, self.seed),
            worker_summary=summarize_workers(votes, rows, fit),
            gold=None if gold_outcome is None else gold_outcome >= 0,
            trace=fit.trace,
            n_iter=fit.n_iter,
            converged=fit.converged,
            extra=extra,
        )

    @abstractmethod
    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:
        """Fit the model. The last worker may stand for gold (see `gold_worker`)."""


def _with_gold(rows: PairRows, votes: Votes[Comparisons], gold: I1 | None) -> PairRows:
    """Append one row for each gold pair, by an additional worker who is always right."""
    if gold is None:
        return rows
    left, right = sides_of_tasks(votes)
    at = np.flatnonzero((gold >= 0) & (left >= 0))
    return GoldRows(
        np.concatenate([rows.left, left[at]]).astype(np.int32),
        np.concatenate([rows.right, right[at]]).astype(np.int32),
        np.concatenate([rows.outcome, gold[at]]).astype(np.int8),
        np.concatenate([rows.worker, np.full(len(at), rows.n_workers)]).astype(np.int32),
        np.concatenate([rows.weights, np.full(len(at), GOLD_WEIGHT)]),
        rows.n_items,
        rows.n_workers + 1,
    )


@dataclass(frozen=True, eq=False)
class GoldRows(PairRows):
    """Rows whose last worker stands for gold."""


def gold_worker(rows: PairRows) -> Mask | None:
    """Mark the worker that stands for gold, if there is one."""
    return np.arange(rows.n_workers) == rows.n_workers - 1 if isinstance(rows, GoldRows) else None


def _json(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def from_table(table: pl.DataFrame) -> Votes[Comparisons]:
    """Convert a table left, right, winner, or one of its other forms, to votes."""
    roles = detect_columns(table.columns)
    if roles is None:
        raise DataError(
            f"a table of comparisons needs the columns left, right and winner; it has {', '.join(table.columns)}"
        )
    columns: dict[str, Any] = {role: table[column] for role, column in roles.items()}
    named = [name for name in ("task", "worker", "weight") if name in table.columns and name not in columns]
    others: dict[str, Any] = {name: table[name] for name in named}
    facts = {name: roles.get(name, name) for name in ("repeat", "prompt", "order") if roles.get(name, name) in table}
    columns.pop("order", None)
    if facts:
        others["about_rows"] = table.select(pl.col(column).alias(name) for name, column in facts.items())
    if "won_left" in columns:
        columns["winner"] = winner_of(columns)
    if "chosen" in columns:
        columns["left"], columns["right"] = columns.pop("chosen"), columns.pop("rejected")
        columns["winner"] = pl.Series(["left"] * len(table))
    columns.pop("topic", None)
    return comparison_votes(**columns, **others)


# ---------------------------------------------------------------- Optimization


def climbed(
    objective: Callable[[F8], tuple[float, F8, F8]], start: F8, max_iter: int, tol: float, callback: Callback | None
) -> Climb:
    """Maximize an objective by L-BFGS preconditioned with the curvature of each parameter."""
    return climb(lambda x: Point(*objective(x)), start, max_iter=max_iter, tol=tol, callback=callback)


# ----------------------------------------------------------------
# Outcomes of pairs as decisions that are right or wrong, for calibration.


def decisions() -> DecisionHooks:
    """The outcomes of pairs as decisions that are right or wrong."""
    return DecisionHooks("outcomes", "the known outcome of the pair", _outcomes, _right, _apply)


def _outcomes(result: Result) -> tuple[I8, F8]:
    estimate = result.estimate_as(ComparisonEstimate)
    task = np.arange(len(estimate))
    return task, estimate.chance[task, estimate.outcome]


def _right(votes: Votes[Comparisons], result: Result, gold: Any) -> F8:
    gold_outcome = pair_gold(gold, votes)
    assert gold_outcome is not None
    is_right = (result.estimate_as(ComparisonEstimate).outcome == gold_outcome).astype(np.float64)
    return np.where(gold_outcome >= 0, is_right, np.nan)


def _apply(
    estimate: ComparisonEstimate, calibration: GoldCalibration, is_held_fixed: Mask, parts: Any
) -> ComparisonEstimate:
    del parts
    return replace(
        estimate, chance=np.where(is_held_fixed[:, None], estimate.chance, calibration.apply(estimate.chance))
    )


# ----------------------------------------------------------------
# The fitted model, for other pairs of the same items.


@dataclass(frozen=True, eq=False)
class ComparisonModel(Model[Votes[Comparisons]]):
    """Scores of the items, tie rate of the crowd and reliability of each worker; items and workers by code."""

    score: F8
    tie_level: float
    tie_spread: float
    reliability: F8

    def posterior(self, votes: Votes[Comparisons]) -> F8:
        """chance[task, outcome] of each task by the scores of its two items."""
        return chances(votes, self.score, self.tie_level, self.tie_spread)[2]

    def row_loglik(self, votes: Votes[Comparisons]) -> F8:
        """Log-likelihood of each answer given the scores and its worker's reliability; ties at the crowd's rate."""
        answers = votes.answers
        p = outcome(
            self.score, answers.left.astype(np.int64), answers.right.astype(np.int64), self.tie_level, self.tie_spread
        )
        e = self.reliability[votes.worker]
        e = np.where(np.isnan(e), np.nanmean(self.reliability) if np.isfinite(self.reliability).any() else 0.5, e)
        side = np.where(answers.outcome == 1, 1, 0)
        rows = np.arange(len(votes))
        follows = e * p[rows, side] + (1 - e) * p[rows, 1 - side]
        return np.log(np.maximum(np.where(answers.outcome == 2, p[:, 2], follows), 1e-300))


def model_of(result: Result) -> ComparisonModel:
    """Restore the fitted model from a result."""
    estimate, workers = result.estimate_as(ComparisonEstimate), result.worker_summary
    assert isinstance(workers, ComparisonWorkers)
    level, spread = result.extra.get("tie_level"), result.extra.get("tie_spread", 0.0)
    for value in (level, spread):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise DataError("the fitted model is damaged (the tie rate is not a number)")
    return ComparisonModel(
        estimate.score, -np.inf if level is None else float(level), float(spread), workers.reliability
    )


def infer(result: Result, votes: Votes[Comparisons], unknown_workers: UnknownWorkers) -> Result:
    """Estimate the winners of other pairs of the same items. The pairs come from the answers; scores are held fixed."""
    estimate = result.estimate_as(ComparisonEstimate)
    table, is_fitted = lookup(estimate.items, votes.answers.items)
    if not is_fitted.all():
        unknown = votes.answers.items.filter(~pl.Series(is_fitted))
        raise DataError(f"{result.method} was fitted without the items {quote(unknown)}; fit again")
    fitted_worker, is_known = result.worker_codes(votes.workers, unknown_workers)
    original = votes.answers
    item_code = table if len(table) else np.zeros(0, dtype=np.int32)
    answers = Comparisons(item_code[original.left], item_code[original.right], original.outcome, estimate.items)
    recoded = replace(votes, answers=answers)
    model = result.model
    assert isinstance(model, ComparisonModel)
    left, right = sides_of_tasks(recoded)
    others = replace(estimate, left=left, right=right, chance=model.posterior(recoded))
    workers = result.worker_summary.select(fitted_worker, is_known)
    return result.for_votes(votes, others, workers, extra=result.extra)
