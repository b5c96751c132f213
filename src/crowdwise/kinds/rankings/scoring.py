"""Evaluation of rankings, facts about the votes, and tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8
from ...core.describe import common
from ...core.errors import DataError
from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.evaluate import scored_tasks
from ...evaluation.scores import Scores, Table, values_and_intervals
from ...stats.bootstrap import central
from ...workers.tables import summary_rows
from ..comparisons.maths.leaderboard import concordance
from ..comparisons.scoring import score_cells
from .answers import Groups, Rankings, parse, rows_of
from .estimate import RankingEstimate
from .fitting import ranking_truth

Ends = tuple[float, float, float]
SCORES = {
    "kendall": "Kendall's tau, mean over lists",
    "spearman": "Spearman's rho, mean over lists",
    "first": "lists with the right first item",
    "exact": "lists in exactly the right order",
}
# Number of lists from which intervals resample lists instead of items, and lists that are shown.
ENOUGH, SHOWN = 5, 30


@dataclass(frozen=True, repr=False, kw_only=True)
class RankingEvaluation(Scores):
    """Scores as (value, low, high) by name over `n` lists; `lists` has task, kendall, items of each.

    `unmatched` items of the truth are not ranked here.
    """

    NAMES: ClassVar[Mapping[str, str]] = SCORES
    HEADLINE: ClassVar[tuple[str, ...]] = ("kendall", "spearman", "first")
    UNIT: ClassVar[str] = "list"
    MISSING_INTERVAL: ClassVar[Mapping[str, None]] = {"low": None, "high": None}

    lists: list[tuple[str, float, int]] = field(default_factory=list)
    unmatched: int = 0

    def rows(self) -> list[list[str]]:
        """Return name, value and 95 % interval of every score that exists as text."""
        return [row for row in super().rows() if row[1] != "–"]

    def tables(self) -> list[Table]:
        """The lists one by one, the worst first."""
        if self.n < 2:
            return []
        order = sorted(self.lists, key=lambda entry: entry[1])[:SHOWN]
        return [
            Table(
                "Lists, the worst first", ["task", "Kendall", "items"], [[t, f"{k:.3f}", str(n)] for t, k, n in order]
            )
        ]

    def details(self) -> dict[str, Any]:
        """Return the scores of each list, and the number of items that are not ranked here."""
        lists = [{"task": task, "kendall": tau, "items": n} for task, tau, n in self.lists]
        return {"lists": lists, "unmatched_items": self.unmatched}


def evaluate(
    result: Result | pl.DataFrame, truth: Any, *, fit_gold: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> RankingEvaluation:
    """Score a result against true orders.

    Args:
        result: A Result, or a table task, ranking.
        truth: A mapping, or a table task, label (a>b>c), or task, item, rank.
        fit_gold: Tasks whose gold was used in the fit. They are left out.
        resamples: Number of bootstrap resamples for the intervals (0: no intervals).
        seed: Seed of the resamples.
    """
    tasks, groups = ranking_truth(truth)
    names, orders = _orders(result)
    scored = scored_tasks(names, tasks, fit_gold, "a ranking")
    score, true, group, lists, firsts, exact, unmatched = [], [], [], [], [], [], 0
    for n, (at, i) in enumerate(zip(scored.estimate.tolist(), scored.truth.tolist(), strict=True)):
        estimated, expected, missing = _matched(orders[at], groups[i])
        unmatched += missing
        if len(estimated) < 2:
            continue
        tau = concordance(estimated, expected, np.zeros(len(estimated), dtype=np.int64))
        score.append(estimated)
        true.append(expected)
        group.append(np.full(len(estimated), n))
        lists.append((str(tasks[i]), tau.kendall[0], len(estimated)))
        is_first = estimated >= estimated.max() - 1e-9
        firsts.append(float(expected[is_first].max() == expected.max()) / is_first.sum())
        exact.append(float(tau.pairs_right[0] == 1.0))
    if not lists:
        raise DataError("no list of the truth shares two items with the result; do the names of the items match?")
    overall = concordance(np.concatenate(score), np.concatenate(true), np.concatenate(group), resamples, seed)
    taus = np.nan_to_num(np.array([tau for _, tau, _ in lists]))
    scores = {
        "kendall": _mean(taus, resamples, seed, overall.kendall),
        "spearman": overall.spearman,
        "first": _mean(np.array(firsts), resamples, seed, None),
        "exact": _mean(np.array(exact), resamples, seed, None),
    }
    return RankingEvaluation(
        n=len(lists), **values_and_intervals(scores), lists=lists, unmatched=unmatched, **scored.left_out
    )


def _matched(order: dict[str, float], truth: Groups) -> tuple[F8, F8, int]:
    """Scores and true values (higher is better) of the common items, and the number of items only in the truth."""
    level = {name: -float(i) for i, place in enumerate(truth[0]) for name in place}
    common = [name for name in level if name in order]
    return np.array([order[n] for n in common]), np.array([level[n] for n in common]), len(level) - len(common)


def _orders(result: Result | pl.DataFrame) -> tuple[pl.Series, list[dict[str, float]]]:
    """Tasks, and minus the rank of each item by name."""
    if isinstance(result, Result):
        estimate: Any = result.estimate
        place, names = estimate.place, [str(n) for n in estimate.items.to_list()]
        out: list[dict[str, float]] = [{} for _ in range(len(estimate))]
        for task, item, at in zip(
            estimate.entry_task.tolist(), estimate.entry_item.tolist(), place.tolist(), strict=True
        ):
            out[task][names[item]] = -at
        return result.tasks, out
    for name in ("task", "ranking"):
        if name not in result.columns:
            raise DataError(f"the table has no column {name!r}; it has {', '.join(result.columns)}")
    orders = []
    for task, text in result.select("task", "ranking").iter_rows():
        groups = parse(str(text)) if text else ([], False)
        if isinstance(groups, str):
            raise DataError(f"the ranking of task {task!r} {groups}; write a>b>c")
        orders.append({name: -float(i) for i, place in enumerate(groups[0]) for name in place})
    return result["task"], orders


def _mean(values: F8, resamples: int, seed: int, within: Ends | None) -> Ends:
    """Mean over lists, with an interval by resampling lists, or items where there are few lists."""
    mean, nothing = float(values.mean()), float("nan")
    if not resamples or len(values) < ENOUGH:
        return (mean, nothing, nothing) if within is None else (mean, within[1], within[2])
    rng = np.random.default_rng(seed)
    draws = values[rng.integers(0, len(values), (min(resamples, 2000), len(values)))].mean(axis=1)
    return mean, *central(draws, len(values), 0.95)


# ----------------------------------------------------------------
# Facts about the votes


def describe(votes: Votes[Rankings]) -> dict[str, Any]:
    """Describe the votes: items, lengths of lists, complete rankings, ties, workers with several rankings."""
    rows, _ = rows_of(votes)
    size, listed = votes.answers.size, np.diff(rows.begin)
    level = votes.answers.level
    row = np.repeat(np.arange(len(votes)), size)
    tied = np.zeros(len(votes), dtype=bool)
    if len(row):
        same = (np.diff(row) == 0) & (np.diff(level) == 0)
        tied[row[1:][same]] = True
    return {
        **common(votes),
        "items": len(votes.answers.items),
        "items_per_task": {"min": int(listed.min(initial=0)), "max": int(listed.max(initial=0))},
        "items_per_ranking": {"min": int(size.min()) if len(size) else 0, "max": int(size.max(initial=0))},
        "whole_rankings": int((size == listed[votes.task]).sum()) if len(votes) else 0,
        "rankings_with_ties": int(tied.sum()),
        "workers_with_several_rankings": int((votes.labels_per_worker > 1).sum()),
    }


# ----------------------------------------------------------------
# Orders and workers for the terminal.

Row = list[str]
LISTS, TOP = 3, 15


def sentences(votes: Votes[Rankings], result: Result) -> list[str]:
    """Summarize the lists, and how many have a first item that is significantly first, in sentences."""
    estimate = result.estimate
    assert isinstance(estimate, RankingEstimate)
    if not len(estimate.score):
        return ["no items were ranked"]
    out = [estimate.summary()]
    if np.isfinite(estimate.se).any():
        first = np.bincount(estimate.entry_task, estimate.group == 1, len(estimate))
        sure = int((first == 1).sum())
        n = int(estimate.heard.sum())
        level = 100 * float(result.params.get("level", 0.95))
        out.append(
            f"in {sure:,} of {n:,} lists the first item is significantly first "
            f"({level:.0f} %, all pairs of a list at once)"
        )
        if n == 1:
            top = estimate.items.gather(estimate.entry_item[estimate.group == 1]).to_list()
            if len(top) > 1:
                names = ", ".join(str(name)[:40] for name in top[:4]) + (
                    f" and {len(top) - 4} more" if len(top) > 4 else ""
                )
                out[-1] = f"the first {len(top):,} cannot be distinguished: {names} ({level:.0f} %, all pairs at once)"
    else:
        out.append(f"{result.method} has no intervals; plackett_luce and borda do")
    if votes.n_tasks and votes.labels_per_task.max() <= 1:
        out.append("no list was ranked twice: the workers cannot be distinguished")
    return out


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[Row]]:
    """Header and rows of the best and the worst workers, by the ends of the intervals of their agreement."""
    return summary_rows(result, limit, "agreement", ("temperature", "dispersion"), "rankings")


def list_tables(result: Result, lists: int = LISTS, top: int = TOP) -> list[Table]:
    """Return tables of the first lists with scores and ranks."""
    estimate = result.estimate
    assert isinstance(estimate, RankingEstimate)
    board = estimate.board(result.tasks)
    out = []
    for task in board["task"].unique(maintain_order=True).head(lists).to_list():
        entries = board.filter(pl.col("task") == task).head(top)
        rows = [[f"{row['place']:g}", *score_cells(row)] for row in entries.iter_rows(named=True)]
        out.append(Table(f"{task}", ["place", "item", "score", "interval", "may be at"], rows))
    return out


def show(result: Result) -> tuple[str, list[Table]]:
    """Return a summary, tables of the first lists, and the first rankings."""
    estimate = result.estimate
    assert isinstance(estimate, RankingEstimate)
    table = result.to_table().head(5)
    rows = [[str(c)[:80] for c in row] for row in table.iter_rows()]
    return estimate.summary(), [*list_tables(result), Table("Rankings", table.columns, rows)]


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Return rows for the table of sizes, further tables, and advice."""
    task, ranking = facts["items_per_task"], facts["items_per_ranking"]
    rows = [
        ["items", f"{facts['items']:,}"],
        ["items of a task", f"{task['min']} to {task['max']}"],
        ["items in a ranking", f"{ranking['min']} to {ranking['max']}"],
        ["rankings of all items of their task", f"{facts['whole_rankings']:,}"],
        ["rankings with ties", f"{facts['rankings_with_ties']:,}"],
        ["workers with several rankings", f"{facts['workers_with_several_rankings']:,}"],
    ]
    advice = []
    if facts["whole_rankings"] < facts["annotations"]:
        advice.append("items that a ranking omits count as not seen; write a>b>... where they come after all others")
    return rows, [], advice
