"""How good are estimated orders, given the true ones: Kendall's tau with an interval, Spearman's rho, first places."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...evaluation.evaluate import ALL_GOLD, among
from ...evaluation.scores import Scored, Table
from ...stats.bootstrap import central
from ..comparisons.maths.leaderboard import concordance
from .answers import Groups, Rankings, parse
from .estimate import RankingEstimate
from .fitting import ranking_truth

F8 = npt.NDArray[np.float64]
Ends = tuple[float, float, float]
SCORES = {
    "kendall": "Kendall's tau, mean over lists",
    "spearman": "Spearman's rho, mean over lists",
    "first": "lists with the right first item",
    "exact": "lists wholly right",
}
# Lists from which they are resampled, not the items within them.
ENOUGH, SHOWN = 5, 30


@dataclass(frozen=True, repr=False)
class RankingEvaluation(Scored):
    """Scores as (value, low, high) by name over `n` lists; `lists` has task, kendall, items of each.

    `unmatched` items of the truth are not ranked here.
    """

    n: int
    found: dict[str, Ends]
    lists: list[tuple[str, float, int]] = field(default_factory=list)
    unmatched: int = 0
    truths_without_labels: int = 0
    n_gold_left_out: int = 0

    def __getattr__(self, name: str) -> float:
        if name in SCORES and name in self.found:
            return self.found[name][0]
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"RankingEvaluation({self.n:,} lists: {'; '.join(f'{r[0]} {r[1]}' for r in self.rows())})"

    def rows(self) -> list[list[str]]:
        """Name, value and 95 % interval of every score, for people."""
        out = []
        for key, name in SCORES.items():
            value, low, high = self.found[key]
            if np.isfinite(value):
                out.append([name, f"{value:.4f}", "–" if np.isnan(low) else f"{low:.4f} – {high:.4f}"])
        return out

    def tables(self) -> list[Table]:
        """The lists one by one, the worst first."""
        if self.n < 2:
            return []
        order = sorted(self.lists, key=lambda each: each[1])[:SHOWN]
        return [
            Table(
                "Lists, the worst first", ["task", "Kendall", "items"], [[t, f"{k:.3f}", str(n)] for t, k, n in order]
            )
        ]

    def headline(self) -> dict[str, float]:
        """What methods are compared by."""
        return {name: self.found[name][0] for name in ("kendall", "spearman", "first")}

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        scores = {name: {"value": v, "low": lo, "high": hi} for name, (v, lo, hi) in self.found.items()}
        lists = [{"task": task, "kendall": tau, "items": n} for task, tau, n in self.lists]
        rest = {"truths_without_labels": self.truths_without_labels, "n_gold_left_out": self.n_gold_left_out}
        return {"n": self.n, **scores, "lists": lists, "unmatched_items": self.unmatched, **rest}


def evaluate(
    found: Result | pl.DataFrame, truth: Any, *, told: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> RankingEvaluation:
    """Score a Result, or a table task, ranking, against known orders (task, label: a>b>c)."""
    tasks, groups = ranking_truth(truth)
    names, orders = _orders(found)
    at, here = lookup(names, tasks)
    if not here.any():
        raise DataError("none of the tasks in the truth is ranked here; do the task ids match?")
    gone = here & among(tasks, told)
    fair = np.flatnonzero(here & ~gone)
    if not len(fair):
        raise DataError(ALL_GOLD.format(n=int(gone.sum())))
    score, true, group, lists, firsts, exact, unmatched = [], [], [], [], [], [], 0
    for n, i in enumerate(fair.tolist()):
        mine, theirs, lost = _matched(orders[int(at[i])], groups[i])
        unmatched += lost
        if len(mine) < 2:
            continue
        one = concordance(mine, theirs, np.zeros(len(mine), dtype=np.int64))
        score.append(mine)
        true.append(theirs)
        group.append(np.full(len(mine), n))
        lists.append((str(tasks[i]), one.kendall[0], len(mine)))
        firsts.append(
            float(theirs[mine >= mine.max() - 1e-9].max() == theirs.max()) / (mine >= mine.max() - 1e-9).sum()
        )
        exact.append(float(one.pairs_right[0] == 1.0))
    if not lists:
        raise DataError("no list of the truth shares two items with what is ranked here; do the items' names match?")
    whole = concordance(np.concatenate(score), np.concatenate(true), np.concatenate(group), resamples, seed)
    taus = np.nan_to_num(np.array([tau for _, tau, _ in lists]))
    scores = {
        "kendall": _mean(taus, resamples, seed, whole.kendall),
        "spearman": whole.spearman,
        "first": _mean(np.array(firsts), resamples, seed, None),
        "exact": _mean(np.array(exact), resamples, seed, None),
    }
    return RankingEvaluation(len(lists), scores, lists, unmatched, int((~here).sum()), int(gone.sum()))


def _matched(order: dict[str, float], truth: Groups) -> tuple[F8, F8, int]:
    """Scores and true values (higher is better) of the items that both know, and how many only the truth does."""
    level = {name: -float(i) for i, place in enumerate(truth[0]) for name in place}
    both = [name for name in level if name in order]
    return np.array([order[n] for n in both]), np.array([level[n] for n in both]), len(level) - len(both)


def _orders(found: Result | pl.DataFrame) -> tuple[pl.Series, list[dict[str, float]]]:
    """Tasks, and minus the place of each item by name."""
    if isinstance(found, Result):
        estimate: Any = found.estimate
        place, names = estimate.place, [str(n) for n in estimate.items.to_list()]
        out: list[dict[str, float]] = [{} for _ in range(len(estimate))]
        for task, item, at in zip(
            estimate.entry_task.tolist(), estimate.entry_item.tolist(), place.tolist(), strict=True
        ):
            out[task][names[item]] = -at
        return found.tasks, out
    for name in ("task", "ranking"):
        if name not in found.columns:
            raise DataError(f"the table has no column {name!r}; it has {', '.join(found.columns)}")
    orders = []
    for task, text in found.select("task", "ranking").iter_rows():
        groups = parse(str(text)) if text else ([], False)
        if isinstance(groups, str):
            raise DataError(f"the ranking of task {task!r} {groups}; write a>b>c")
        orders.append({name: -float(i) for i, place in enumerate(groups[0]) for name in place})
    return found["task"], orders


def _mean(values: F8, resamples: int, seed: int, within: Ends | None) -> Ends:
    """The mean over lists; its interval by resampling lists, or items where lists are few."""
    mean, nothing = float(values.mean()), float("nan")
    if not resamples or len(values) < ENOUGH:
        return (mean, nothing, nothing) if within is None else (mean, within[1], within[2])
    rng = np.random.default_rng(seed)
    draws = values[rng.integers(0, len(values), (min(resamples, 2000), len(values)))].mean(axis=1)
    return mean, *central(draws, len(values), 0.95)


# ----------------------------------------------------------------
# Results of rankings for people: orders, who cannot be told apart, and the workers.

Row = list[str]
LISTS, TOP = 3, 15


def sentences(votes: Votes[Rankings], result: Result) -> list[str]:
    """How many lists, and how many of them have a first item that is surely first."""
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
            f"in {sure:,} of {n:,} lists the first item is surely first ({level:.0f} %, all pairs of a list at once)"
        )
        if n == 1:
            top = estimate.items.gather(estimate.entry_item[estimate.group == 1]).to_list()
            if len(top) > 1:
                names = ", ".join(str(name)[:40] for name in top[:4]) + (
                    f" and {len(top) - 4} more" if len(top) > 4 else ""
                )
                out[-1] = f"the first {len(top):,} cannot be told apart: {names} ({level:.0f} %, all pairs at once)"
    else:
        out.append(f"{result.method} has no intervals; plackett_luce and borda do")
    if votes.n_tasks and votes.labels_per_task.max() <= 1:
        out.append("no list was ranked twice: nothing tells the workers apart")
    return out


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[Row]]:
    """By the ends of their agreements' intervals, those without rankings left out."""
    picture: Any = result.picture
    heard = np.flatnonzero((result.labels_per_worker > 0) & np.isfinite(picture.agreement))
    best = heard[np.argsort(-np.nan_to_num(picture.agreement_low[heard]), kind="stable")]
    worst = heard[np.argsort(-np.nan_to_num(picture.agreement_high[heard]), kind="stable")][-limit:]
    some = best if len(best) <= 2 * limit else np.concatenate([best[:limit], worst])
    rows = [
        [
            str(name),
            f"{result.labels_per_worker[w]:,}",
            f"{picture.agreement[w]:.3f}",
            f"{picture.agreement_low[w]:.3f} – {picture.agreement_high[w]:.3f}",
            *(f"{v[w]:.2f}" if np.isfinite(v[w]) else "–" for v in (picture.temperature, picture.dispersion)),
        ]
        for name, w in zip(result.workers.gather(some).to_list(), some.tolist(), strict=True)
    ]
    if len(some) < len(best):
        rows.insert(limit, ["…"] + [""] * 5)
    return ["worker", "rankings", "agreement", "95 % interval", "temperature", "dispersion"], rows


def list_tables(result: Result, lists: int = LISTS, top: int = TOP) -> list[Table]:
    """The first lists with scores and places."""
    estimate = result.estimate
    assert isinstance(estimate, RankingEstimate)
    board = estimate.board(result.tasks)
    out = []
    for task in board["task"].unique(maintain_order=True).head(lists).to_list():
        own = board.filter(pl.col("task") == task).head(top)
        rows = []
        for row in own.iter_rows(named=True):
            known = row["se"] is not None and np.isfinite(row["se"])
            between = f"{row['low']:.2f} – {row['high']:.2f}" if known else "–"
            places = f"{row['rank_low']} – {row['rank_high']}" if known else "–"
            rows.append([f"{row['place']:g}", str(row["item"])[:60], f"{row['score']:.3f}", between, places])
        out.append(Table(f"{task}", ["place", "item", "score", "interval", "may be at"], rows))
    return out


def show(result: Result) -> tuple[str, list[Table]]:
    """The first lists."""
    estimate = result.estimate
    assert isinstance(estimate, RankingEstimate)
    table = result.to_table().head(5)
    rows = [[str(c)[:80] for c in row] for row in table.iter_rows()]
    return estimate.summary(), [*list_tables(result), Table("Rankings", table.columns, rows)]


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Rows for the table of sizes, tables, and advice."""
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
        advice.append(
            "items that a ranking leaves out count as not seen; write a>b>... where they come after all others"
        )
    return rows, [], advice
