"""Fitting rankings: the base class of the methods, gold and results."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...core import method_registry as registry
from ...core.arrays import F8, I8
from ...core.callback import Callback
from ...core.errors import DataError
from ...core.method import FitOptions, FitOutput, Method
from ...core.params import Share
from ...core.result import Result, UnknownWorkers
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...em.ascent import Point, climb
from ..comparisons.maths.leaderboard import places
from .answers import Groups, Rankings, detect_columns, parse, ranking_votes, rows_of
from .estimate import RankingEstimate, RankingWorkers
from .maths import PlackettLuceObjective, RankFit, RankRows, agreement

# Weight of a gold order, in rankings of workers.
GOLD_WEIGHT = 5.0


def ranking_truth(truth: Any) -> tuple[pl.Series, list[Groups]]:
    """Read tasks and their true orders from a mapping, a table task, ranking (or label), or task, item, rank."""
    if isinstance(truth, pl.DataFrame) and {"task", "item"} <= set(truth.columns) and "label" not in truth.columns:
        truth = _by_item(truth)
    if isinstance(truth, pl.DataFrame) and "label" not in truth.columns and "ranking" in truth.columns:
        truth = truth.rename({"ranking": "label"})
    table = truth_table(truth)
    groups = []
    for task, text in table.select("task", "label").iter_rows():
        ranking = parse(str(text))
        if isinstance(ranking, str):
            raise DataError(f"the truth of task {quote([task])}, {quote([text])}, {ranking}; write a>b>c")
        groups.append(ranking)
    return table["task"], groups


def _by_item(truth: pl.DataFrame) -> pl.DataFrame:
    column = next((name for name in ("rank", "place", "score") if name in truth.columns), None)
    if column is None:
        raise DataError("a truth with a column item needs a column rank (1 is best) or score (higher is better)")
    value = pl.col(column).cast(pl.Float64) * (-1 if column == "score" else 1)
    rows = truth.with_columns(value.alias("_at")).sort("task", "_at", "item")
    places = rows.group_by("task", "_at", maintain_order=True).agg(pl.col("item").cast(pl.String).str.join("="))
    return places.group_by("task", maintain_order=True).agg(pl.col("item").str.join(">").alias("label"))


def known_orders(gold: Any, votes: Votes[Rankings]) -> dict[int, Groups]:
    """Return the gold orders by the code of their task; tasks without answers are left out with a warning."""
    tasks, groups = ranking_truth(gold)
    task, has_task = place_gold(pl.DataFrame({"task": tasks}), votes.tasks)
    return {int(t): g for t, g, is_known in zip(task, groups, has_task, strict=True) if is_known}


def gold_answers(votes: Votes[Rankings], gold: Any) -> tuple[I8, Rankings]:
    """Return the codes of the gold tasks and their orders, over the items of the votes and of the gold."""
    orders = known_orders(gold, votes)
    names = pl.Series("item", [n for g, _ in orders.values() for p in g for n in p], dtype=pl.String)
    items = pl.concat([votes.answers.items.cast(pl.String), names]).unique().sort()
    codes = lookup(items, names)[0]
    size = np.array([sum(map(len, g)) for g, _ in orders.values()], dtype=np.int64)
    level = np.array([i for g, _ in orders.values() for i, p in enumerate(g) for _ in p], dtype=np.int32)
    offset = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    rest = np.array([r for _, r in orders.values()], dtype=bool)
    return np.array(list(orders), dtype=np.int64), Rankings(offset, codes, level, rest, items.rename("item"))


def estimated_answers(votes: Votes[Rankings], result: Any) -> Rankings:  # noqa: ARG001
    """Return the estimates as one ranking per task."""
    answers: Rankings = result.estimate.answers()
    return answers


# ----------------------------------------------------------------
# The base class of the methods.


@dataclass(frozen=True, kw_only=True)
class RankingAggregator(Method):
    """Base class of methods for rankings.

    `fit` takes votes or a table task, worker, ranking. Gold are known orders of some tasks, as a mapping or a table
    task, label.

    Args:
        level: Confidence level of intervals and ranks.
        seed: Seed of random draws.
    """

    takes: ClassVar[str] = "rankings"
    level: Share = 0.95

    def fit_votes(self, votes: Votes[Rankings], gold: Any, options: FitOptions) -> FitOutput:
        """Fit the scores of the items; gold orders replace those of their tasks."""
        orders = {} if gold is None else known_orders(gold, votes)
        rows, items = rows_of(votes)
        levels = _gold_levels(orders, rows, items, votes.answers.items)
        fit = _clamped(self.solve(_with_gold(rows, levels), options.callback), levels, rows)
        is_gold = None if gold is None else np.isin(np.arange(votes.n_tasks), sorted(orders))
        return replace(self.output(votes, rows, items, fit), gold=is_gold)

    @abstractmethod
    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:
        """Fit the model."""

    def reason(self, rows: RankRows) -> str | None:  # noqa: ARG002
        """Explain a choice that the method made, if any."""
        return None

    def output(self, votes: Votes[Rankings], rows: RankRows, items: I8, fit: RankFit) -> FitOutput:
        """Return the estimates from fitted scores."""
        m = votes.n_workers
        tau = agreement(rows, fit.score)
        missing = np.full(m, np.nan)
        fitted = {
            name: missing if getattr(fit, name) is None else np.where(tau.n > 0, getattr(fit, name)[:m], np.nan)
            for name in ("temperature", "dispersion")
        }
        ends = [np.clip(tau.mean + sign * 1.96 * tau.error, -1.0, 1.0) for sign in (-1, 1)]
        reason = self.reason(rows)
        return FitOutput(
            estimate=self._estimate(votes, rows, items, fit),
            worker_summary=RankingWorkers(tau.mean, ends[0], ends[1], **fitted),
            trace=fit.trace,
            n_iter=fit.n_iter,
            converged=fit.converged,
            extra={} if reason is None else {"reason": reason},
        )

    def _estimate(self, votes: Votes[Rankings], rows: RankRows, items: I8, fit: RankFit) -> RankingEstimate:
        from scipy.stats import norm

        n = rows.n_entries
        listed = np.diff(rows.begin)[rows.task_of_entry] if n else np.empty(0, dtype=np.int64)
        ranks = np.stack([np.ones(n, dtype=np.int64), listed, np.ones(n, dtype=np.int64)])
        se = np.full(n, np.nan)
        if fit.blocks is not None:
            estimable = [block for block in fit.blocks if np.isfinite(block.variance).all()]
            for block in estimable:
                se[block.members] = np.sqrt(block.variance)
                ranges = places(fit.score, [block], self.level, self.seed)
                entries = block.members.ravel()
                ranks[:, entries] = np.stack(
                    [ranges.rank_low[entries], ranges.rank_high[entries], ranges.group[entries]]
                )
        half = float(norm.ppf((1 + self.level) / 2)) * se
        n_asked = np.bincount(rows.entry[rows.has_entry], minlength=n).astype(np.int64)
        return RankingEstimate(
            entry_task=rows.task_of_entry,
            entry_item=items,
            score=fit.score,
            se=se,
            score_low=fit.score - half,
            score_high=fit.score + half,
            rank_low=ranks[0],
            rank_high=ranks[1],
            group=ranks[2],
            n_asked=n_asked,
            heard=votes.labels_per_task > 0,
            items=votes.answers.items,
        )


def _gold_levels(orders: dict[int, Groups], rows: RankRows, items: I8, names: pl.Series) -> dict[int, F8]:
    """level[entry of the task] of each gold order; NaN for items that it omits."""
    out = {}
    for task, (groups, has_rest) in orders.items():
        begin, end = int(rows.begin[task]), int(rows.begin[task + 1])
        level = np.full(end - begin, float(len(groups)) if has_rest else np.nan)
        for i, group in enumerate(groups):
            codes, exists = lookup(names.cast(pl.String), pl.Series(group, dtype=pl.String))
            at = np.flatnonzero(np.isin(items[begin:end], codes[exists]))
            level[at] = i
        if np.isfinite(level).sum() > 1:
            out[task] = level
    return out


def _with_gold(rows: RankRows, levels: dict[int, F8]) -> RankRows:
    """Append one row for each gold order, by an additional worker."""
    if not levels:
        return rows
    width = max(rows.entry.shape[1], *(int(np.isfinite(level).sum()) for level in levels.values()))
    entry = np.full((len(rows) + len(levels), width), -1, dtype=np.int64)
    level = np.zeros((len(rows) + len(levels), width), dtype=np.int64)
    entry[: len(rows), : rows.entry.shape[1]] = rows.entry
    level[: len(rows)] = rows.level[:, -1:]
    level[: len(rows), : rows.level.shape[1]] = rows.level
    sizes = []
    for r, (task, gold_level) in enumerate(levels.items(), len(rows)):
        listed = np.flatnonzero(np.isfinite(gold_level))
        order = listed[np.argsort(gold_level[listed], kind="stable")]
        ranked = np.unique(gold_level[order], return_inverse=True)[1]
        entry[r, : len(order)] = rows.begin[task] + order
        level[r] = ranked[-1]
        level[r, : len(order)] = ranked
        sizes.append(len(order))
    n = len(levels)
    return replace(
        rows,
        entry=entry,
        level=level,
        size=np.concatenate([rows.size, sizes]),
        rest=np.concatenate([rows.rest, np.zeros(n, dtype=bool)]),
        task=np.concatenate([rows.task, list(levels)]).astype(np.int64),
        worker=np.concatenate([rows.worker, np.full(n, rows.n_workers)]),
        weight=np.concatenate([rows.weights, np.full(n, GOLD_WEIGHT)]),
        n_workers=rows.n_workers + 1,
    )


def _clamped(fit: RankFit, levels: dict[int, F8], rows: RankRows) -> RankFit:
    """Reassign the scores of gold tasks so that they follow the gold order."""
    score = fit.score.copy()
    for task, level in levels.items():
        entries = slice(int(rows.begin[task]), int(rows.begin[task + 1]))
        has_level = np.isfinite(level)
        best = np.sort(score[entries][has_level])[::-1]
        ranked = np.unique(level[has_level], return_inverse=True)[1]
        count = np.bincount(ranked)
        # The fitted scores in the gold order: tied items share their mean, equal scores are separated.
        spread = best - 1e-6 * np.arange(len(best))
        means = np.add.reduceat(spread, np.concatenate([[0], np.cumsum(count)[:-1]])) / count
        part = score[entries]
        part[has_level] = means[ranked]
        score[entries] = part
    return replace(fit, score=score)


def from_table(table: pl.DataFrame) -> Votes[Rankings]:
    """Convert a table task, worker, ranking (or label) to votes."""
    roles = detect_columns(table.columns) or {"ranking": "label"}
    for name in ("task", "worker", roles["ranking"]):
        if name not in table.columns:
            raise DataError(f"a table of rankings needs the column {name!r}; it has {', '.join(table.columns)}")
    optional: dict[str, Any] = {"weight": table["weight"]} if "weight" in table.columns else {}
    return ranking_votes(table["task"], table["worker"], table[roles["ranking"]], **optional)


# ----------------------------------------------------------------
# Inference on other tasks, with the temperatures of the workers held fixed.


def infer(result: Result, votes: Votes[Rankings], unknown_workers: UnknownWorkers) -> Result:
    """Estimate the orders of other tasks from rankings of the same workers."""
    workers: Any = result.worker_summary
    if not np.isfinite(workers.temperature).any():
        raise DataError(f"{result.method} has no worker parameters to infer with; fit plackett_luce, or fit again")
    fitted_worker, is_known = result.worker_codes(votes.workers, unknown_workers)
    heat = np.where(is_known, workers.temperature[fitted_worker], np.nan)
    heat = np.where(np.isfinite(heat), heat, np.nanmean(workers.temperature))
    method = registry.method("plackett_luce", level=float(result.params.get("level", 0.95)))
    rows, items = rows_of(votes)
    objective = PlackettLuceObjective(rows, float(result.params.get("strength", method.strength)), 0.0, heat)
    optimum = climb(lambda x: Point(*objective(x)), objective.start(), max_iter=method.max_iter, tol=method.tol)
    score, _ = objective.parts(optimum.x)
    fit = RankFit(score, objective.blocks(optimum.x), heat, trace=optimum.trace, n_iter=optimum.n_iter)
    inferred: Result = method.result(votes, method.output(votes, rows, items, fit))
    return inferred
