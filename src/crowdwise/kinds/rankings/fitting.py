"""Known orders of some tasks."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.callback import Callback
from ...core.errors import DataError, ParameterError
from ...core.intake.frames import to_polars
from ...core.method import Method
from ...core.params import Share
from ...core.result import Result, versions
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ..comparisons.maths.leaderboard import places
from .answers import Groups, Rankings, parse, rows_of
from .estimate import RankingEstimate, RankingWorkers
from .kind import ranking_votes, told_by
from .maths import RankFit, RankRows, agreement

I8 = npt.NDArray[np.int64]
# Rankings that a known order weighs as much as.
GOLD_WEIGHT = 5.0


def ranking_truth(truth: Any) -> tuple[pl.Series, list[Groups]]:
    """Tasks and their known orders, from a mapping, a table task, ranking (or label), or task, item, rank (1 best)."""
    if isinstance(truth, pl.DataFrame) and {"task", "item"} <= set(truth.columns) and "label" not in truth.columns:
        truth = _by_item(truth)
    if isinstance(truth, pl.DataFrame) and "label" not in truth.columns and "ranking" in truth.columns:
        truth = truth.rename({"ranking": "label"})
    table = truth_table(truth)
    groups = []
    for task, text in table.select("task", "label").iter_rows():
        found = parse(str(text))
        if isinstance(found, str):
            raise DataError(f"the truth of task {quote([task])}, {quote([text])}, {found}; write a>b>c")
        groups.append(found)
    return table["task"], groups


def _by_item(truth: pl.DataFrame) -> pl.DataFrame:
    by = next((name for name in ("rank", "place", "score") if name in truth.columns), None)
    if by is None:
        raise DataError("a truth by item needs a column rank (1 is best) or score (higher is better)")
    value = pl.col(by).cast(pl.Float64) * (-1 if by == "score" else 1)
    rows = truth.with_columns(value.alias("_at")).sort("task", "_at", "item")
    places = rows.group_by("task", "_at", maintain_order=True).agg(pl.col("item").cast(pl.String).str.join("="))
    return places.group_by("task", maintain_order=True).agg(pl.col("item").str.join(">").alias("label"))


def known_orders(gold: Any, votes: Votes[Rankings]) -> dict[int, Groups]:
    """The known orders by code of their task; tasks that nobody answered are left out with a warning."""
    tasks, groups = ranking_truth(gold)
    task, known = place_gold(pl.DataFrame({"task": tasks}), votes.tasks)
    return {int(t): g for t, g, here in zip(task, groups, known, strict=True) if here}


def known(votes: Votes[Rankings], gold: Any) -> tuple[I8, Rankings]:
    """Codes of the known tasks and their orders, over the items of the votes and of the truth."""
    orders = known_orders(gold, votes)
    names = pl.Series("item", [n for g, _ in orders.values() for p in g for n in p], dtype=pl.String)
    items = pl.concat([votes.answers.items.cast(pl.String), names]).unique().sort()
    codes = lookup(items, names)[0]
    size = np.array([sum(map(len, g)) for g, _ in orders.values()], dtype=np.int64)
    level = np.array([i for g, _ in orders.values() for i, p in enumerate(g) for _ in p], dtype=np.int32)
    offset = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    rest = np.array([r for _, r in orders.values()], dtype=bool)
    return np.array(list(orders), dtype=np.int64), Rankings(offset, codes, level, rest, items.rename("item"))


def said(votes: Votes[Rankings], result: Any) -> Rankings:  # noqa: ARG001
    """The estimates as one ranking a task."""
    answers: Rankings = result.estimate.answers()
    return answers


# ----------------------------------------------------------------
# What every method for rankings shares: checks, gold, orders with intervals and places, workers, the Result.

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RankingAggregator(Method):
    """A method for rankings. `level` is the chance that intervals and places are meant to hold the truth."""

    takes: ClassVar[str] = "rankings"
    level: Share = 0.95

    def fit(
        self,
        votes: Votes[Rankings] | Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,  # noqa: ARG002
        callback: Callback | None = None,
    ) -> Result:
        """The order of every task's items and a picture of the workers, from votes or a table task, worker, ranking.

        `gold` is the known order of some tasks (a mapping, or a table task, label): it stays put and teaches.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        votes = as_rankings(votes)
        orders = {} if gold is None else known_orders(gold, votes)
        rows, items = rows_of(votes)
        levels = _gold_levels(orders, rows, items, votes.answers.items)
        fit = self.solve(_with_gold(rows, levels), callback)
        self.warn_unless_settled(fit.converged, fit.n_iter)
        return self.result(votes, rows, items, _clamped(fit, levels, rows), None if gold is None else set(orders))

    @abstractmethod
    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:
        """The method itself."""

    def reason(self, rows: RankRows) -> str | None:  # noqa: ARG002
        """What was chosen and why, where there was a choice."""
        return None

    def result(self, votes: Votes[Rankings], rows: RankRows, items: I8, fit: RankFit, gold: set[int] | None) -> Result:
        """All of it as a Result."""
        m = votes.n_workers
        close = agreement(rows, fit.score)
        nothing = np.full(m, np.nan)
        told = {
            name: nothing if getattr(fit, name) is None else np.where(close.n > 0, getattr(fit, name)[:m], np.nan)
            for name in ("temperature", "dispersion")
        }
        ends = [np.clip(close.mean + sign * 1.96 * close.error, -1.0, 1.0) for sign in (-1, 1)]
        known = None if gold is None else np.isin(np.arange(votes.n_tasks), sorted(gold))
        reason = self.reason(rows)
        return Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=self._estimate(votes, rows, items, fit),
            picture=RankingWorkers(close.mean, ends[0], ends[1], **told),
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=known,
            trace=fit.trace,
            stage=np.zeros(len(fit.trace), dtype=np.int64),
            n_iter=fit.n_iter,
            converged=fit.converged,
            extra={} if reason is None else {"reason": reason},
            versions=versions(),
        )

    def _estimate(self, votes: Votes[Rankings], rows: RankRows, items: I8, fit: RankFit) -> RankingEstimate:
        from scipy.stats import norm

        n = rows.n_entries
        listed = np.diff(rows.begin)[rows.task_of_entry] if n else np.empty(0, dtype=np.int64)
        place = np.stack([np.ones(n, dtype=np.int64), listed, np.ones(n, dtype=np.int64)])
        se = np.full(n, np.nan)
        if fit.blocks is not None:
            sure = [block for block in fit.blocks if np.isfinite(block.variance).all()]
            for block in sure:
                se[block.members] = np.sqrt(block.variance)
                found = places(fit.score, [block], self.level, self.seed)
                own = block.members.ravel()
                place[:, own] = np.stack([found.rank_low[own], found.rank_high[own], found.group[own]])
        half = float(norm.ppf((1 + self.level) / 2)) * se
        asked = np.bincount(rows.entry[rows.there], minlength=n).astype(np.int64)
        return RankingEstimate(
            entry_task=rows.task_of_entry,
            entry_item=items,
            score=fit.score,
            se=se,
            score_low=fit.score - half,
            score_high=fit.score + half,
            rank_low=place[0],
            rank_high=place[1],
            group=place[2],
            n_asked=asked,
            heard=votes.labels_per_task > 0,
            items=votes.answers.items,
        )


def _gold_levels(orders: dict[int, Groups], rows: RankRows, items: I8, names: pl.Series) -> dict[int, F8]:
    """level[entry of the task] of each known order; NaN where it leaves an item out."""
    out = {}
    for task, (groups, rest) in orders.items():
        begin, end = int(rows.begin[task]), int(rows.begin[task + 1])
        level = np.full(end - begin, float(len(groups)) if rest else np.nan)
        for i, group in enumerate(groups):
            codes, there = lookup(names.cast(pl.String), pl.Series(group, dtype=pl.String))
            at = np.flatnonzero(np.isin(items[begin:end], codes[there]))
            level[at] = i
        if np.isfinite(level).sum() > 1:
            out[task] = level
    return out


def _with_gold(rows: RankRows, levels: dict[int, F8]) -> RankRows:
    """One row more for each known order, of a worker of its own."""
    if not levels:
        return rows
    width = max(rows.entry.shape[1], *(int(np.isfinite(level).sum()) for level in levels.values()))
    entry = np.full((len(rows) + len(levels), width), -1, dtype=np.int64)
    level = np.zeros((len(rows) + len(levels), width), dtype=np.int64)
    entry[: len(rows), : rows.entry.shape[1]] = rows.entry
    level[: len(rows)] = rows.level[:, -1:]
    level[: len(rows), : rows.level.shape[1]] = rows.level
    sizes = []
    for r, (task, own) in enumerate(levels.items(), len(rows)):
        there = np.flatnonzero(np.isfinite(own))
        order = there[np.argsort(own[there], kind="stable")]
        ranked = np.unique(own[order], return_inverse=True)[1]
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
    """Known orders stay put: where a task is wholly known, its scores are those of the known places."""
    score = fit.score.copy()
    for task, level in levels.items():
        own = slice(int(rows.begin[task]), int(rows.begin[task + 1]))
        known = np.isfinite(level)
        best = np.sort(score[own][known])[::-1]
        ranked = np.unique(level[known], return_inverse=True)[1]
        count = np.bincount(ranked)
        # The fitted scores in the known order; tied ones share their mean, equal scores are drawn apart.
        spread = best - 1e-6 * np.arange(len(best))
        means = np.add.reduceat(spread, np.concatenate([[0], np.cumsum(count)[:-1]])) / count
        part = score[own]
        part[known] = means[ranked]
        score[own] = part
    return replace(fit, score=score)


def as_rankings(votes: Any) -> Votes[Rankings]:
    """Votes of rankings as they are, a table as votes; anything else is told how to be read."""
    if isinstance(votes, Votes):
        if isinstance(votes.answers, Rankings):
            return votes
        raise DataError(
            f"rankings are needed, got {votes.kind.people}; read the file with kind='rankings' (--kind rankings), or "
            "take a method for these"
        )
    if isinstance(votes, str | Path):
        raise DataError(f"votes are needed, got the path {str(votes)!r}; read the file first: cw.read(path)")
    if isinstance(votes, np.ndarray | list | tuple):
        raise DataError("votes are needed; columns go through cw.ranking_votes(task, worker, ranking)")
    frame: pl.DataFrame = to_polars(votes)
    found = told_by(frame.columns) or {"ranking": "label"}
    for name in ("task", "worker", found["ranking"]):
        if name not in frame.columns:
            raise DataError(f"a table of rankings needs the column {name!r}; it has {', '.join(frame.columns)}")
    more: dict[str, Any] = {"weight": frame["weight"]} if "weight" in frame.columns else {}
    return ranking_votes(frame["task"], frame["worker"], frame[found["ranking"]], **more)
