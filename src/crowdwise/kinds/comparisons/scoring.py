"""Known winners and known scores, from whatever columns a file has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.result import Result
from ...core.truth import truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...evaluation.evaluate import ALL_GOLD, among
from ...evaluation.scores import Scored, Table
from ...stats.bootstrap import central
from .answers import Comparisons, as_text, complete, fits, told_by
from .estimate import ComparisonEstimate
from .fitting import outcomes
from .maths.leaderboard import concordance


def read_truth(frame: pl.DataFrame) -> pl.DataFrame | None:
    """Columns left, right, winner (or chosen, rejected) as a table task, label, whose label is the winning item's name
    or "tie"; None where the columns are not these."""
    found = told_by(frame.columns)
    if found is None:
        return None
    columns = {role: frame[name] for role, name in found.items()}
    if not fits(columns):
        return None
    if "task" in frame.columns:
        columns["task"] = frame["task"]
    columns["worker"] = pl.Series([""] * len(frame))
    complete(columns)
    if "chosen" in columns:
        label = as_text(columns["chosen"])
    else:
        left, right, said = (as_text(columns[name]) for name in ("left", "right", "winner"))
        at = outcomes(said, left, right)
        label = pl.select(
            pl.when(pl.Series(at == 0)).then(left).when(pl.Series(at == 1)).then(right)
            .when(pl.Series(at == 2)).then(pl.lit("tie")).otherwise(said)
        ).to_series()  # fmt: skip
    return pl.DataFrame({"task": as_text(columns["task"]), "label": label})


def numbers(labels: pl.Series) -> np.ndarray | None:
    """Labels as numbers; None where one is none."""
    found = labels.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    return None if found.null_count() else found.to_numpy()


# ----------------------------------------------------------------
# How good are scores of items and winners of pairs, given the truth of either.

F8 = npt.NDArray[np.float64]
Ends = tuple[float, float, float]
SCORES = {
    "kendall": "Kendall's tau of the items",
    "spearman": "Spearman's rho of the items",
    "pairs_right": "pairs of items in the right order",
    "accuracy": "known pairs with the right winner",
    "accuracy_ties": "right of three: left, right, tie",
    "log_loss": "log-loss of the known pairs",
}


@dataclass(frozen=True, repr=False)
class PairEvaluation(Scored):
    """Scores as (value, low, high) by name. Of known items: kendall, spearman, pairs_right, within components. Of known
    pairs: accuracy (ties left out), accuracy_ties, log_loss. `n` items or pairs are scored, as `what` says."""

    n: int
    what: str
    found: dict[str, Ends] = field(default_factory=dict)
    truths_without_labels: int = 0
    n_gold_left_out: int = 0

    def __getattr__(self, name: str) -> float:
        if name in SCORES and name in self.found:
            return self.found[name][0]
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"PairEvaluation({self.n:,} {self.what}: {'; '.join(f'{r[0]} {r[1]}' for r in self.rows())})"

    def rows(self) -> list[list[str]]:
        """Name, value and 95 % interval of every score, for people."""
        out = []
        for key, name in SCORES.items():
            if key in self.found and np.isfinite(self.found[key][0]):
                value, low, high = self.found[key]
                out.append([name, f"{value:.4f}", "–" if np.isnan(low) else f"{low:.4f} – {high:.4f}"])
        return out

    def tables(self) -> list[Table]:
        """Nothing more to show."""
        return []

    def headline(self) -> dict[str, float]:
        """What methods are compared by."""
        first = ("kendall", "spearman", "pairs_right") if "kendall" in self.found else ("accuracy", "log_loss")
        return {name: self.found[name][0] for name in first if name in self.found}

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        scores = {name: {"value": v, "low": lo, "high": hi} for name, (v, lo, hi) in self.found.items()}
        rest = {"truths_without_labels": self.truths_without_labels, "n_gold_left_out": self.n_gold_left_out}
        return {"n": self.n, "what": self.what, **scores, **rest}


def evaluate(
    found: Result | pl.DataFrame, truth: Any, *, told: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> PairEvaluation:
    """Score a Result (or its tables task, left, right, winner, or item, score) against known pairs or known items.

    A truth with a row an item (item, score: higher is better) scores the order, one with a row a task (task, label: a
    side, a tie or an item's name) the winners.
    """
    known = _truth(truth)
    if isinstance(found, Result):
        estimate = found.estimate
        assert isinstance(estimate, ComparisonEstimate)
        at, item = lookup(estimate.items, known["task"])
        if item.sum() > lookup(found.tasks, known["task"])[1].sum():
            return _items(estimate.score, estimate.component, known, at, item & (estimate.n_asked > 0)[at],
                          resamples, seed)  # fmt: skip
        sides = tuple(estimate._named(side) for side in (estimate.left, estimate.right))
        return _pairs(found.tasks, sides, estimate.chance, known, told, resamples, seed)
    if "item" in found.columns and "score" in found.columns:
        at, item = lookup(found["item"], known["task"])
        group = found["component"].cast(pl.Int64).to_numpy() if "component" in found.columns else np.zeros(len(found))
        return _items(_floats(found["score"]), group, known, at, item, resamples, seed)
    for name in ("task", "left", "right"):
        if name not in found.columns:
            raise DataError(f"the table has no column {name!r}; it has {', '.join(found.columns)}")
    if not lookup(found["task"], known["task"])[1].any():
        known = _winners(found, known)
    return _pairs(found["task"], (found["left"], found["right"]), _chances(found), known, told, resamples, seed)


def _winners(found: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Known items as known winners of the pairs of a table; the truth as it was where its items are not these."""
    score = dict(zip(known["task"].cast(pl.String).to_list(), known["label"].to_list(), strict=True))
    true = {name: float(each) for name, each in score.items()} if numbers(known["label"]) is not None else {}
    rows = zip(*(found[name].cast(pl.String).to_list() for name in ("task", "left", "right")), strict=True)
    won = [(task, "tie" if true[one] == true[two] else "left" if true[one] > true[two] else "right")
           for task, one, two in rows if one in true and two in true]  # fmt: skip
    return pl.DataFrame(won, schema=["task", "label"], orient="row") if won else known


def _truth(truth: Any) -> pl.DataFrame:
    if isinstance(truth, pl.DataFrame) and "item" in truth.columns and "task" not in truth.columns:
        truth = truth.rename({"item": "task"})
    if isinstance(truth, pl.DataFrame) and "label" not in truth.columns:
        other = next((name for name in ("score", "winner", "rank") if name in truth.columns), None)
        if other is not None:
            score = -pl.col(other).cast(pl.Float64) if other == "rank" else pl.col(other)
            truth = truth.with_columns(score.alias("label"))
    if isinstance(truth, pl.DataFrame) and "label" in truth.columns:
        truth = truth.with_columns(pl.col("label").cast(pl.String))
    return truth_table(truth)


def _items(score: F8, group: Any, known: pl.DataFrame, at: Any, item: Any, resamples: int, seed: int) -> PairEvaluation:
    true = numbers(known["label"])
    if true is None:
        raise DataError("the truth of an item must be a number, its score: higher is better")
    if int(item.sum()) < 2:
        raise DataError("fewer than two items of the truth were compared here; do the names match?")
    rows = at[item]
    got = concordance(score[rows], true[item], np.asarray(group)[rows].astype(np.int64), resamples, seed)
    scores = {"kendall": got.kendall, "spearman": got.spearman, "pairs_right": got.pairs_right}
    return PairEvaluation(int(item.sum()), "items", scores, int((~item).sum()))


def _pairs(
    tasks: pl.Series, sides: Any, chance: F8, known: pl.DataFrame, told: Any, resamples: int, seed: int
) -> PairEvaluation:
    at, here = lookup(tasks, known["task"])
    if not here.any():
        raise DataError("none of the tasks or items in the truth is known here; do the ids match?")
    gone = here & among(known["task"], told)
    fair = here & ~gone
    if not fair.any():
        raise DataError(ALL_GOLD.format(n=int(gone.sum())))
    rows = at[fair]
    label = known["label"].filter(pl.Series(fair))
    true = outcomes(label, sides[0].gather(rows), sides[1].gather(rows))
    if (true < 0).any():
        bad = int(np.flatnonzero(true < 0)[0])
        raise DataError(
            f"the truth of task {quote([tasks[int(rows[bad])]])} is {quote([label[bad]])}, neither left, right or tie "
            "nor one of its items"
        )
    p = chance[rows]
    decided = true < 2
    hit = np.where(p[:, 0] == p[:, 1], 0.5, (p[:, 0] < p[:, 1]).astype(int) == true)[decided]
    loss = -np.log(np.clip(p[np.arange(len(true)), true], 1e-12, 1.0))
    terms = {"accuracy": hit.astype(np.float64), "log_loss": loss}
    if (~decided).any():
        terms["accuracy_ties"] = (p.argmax(axis=1) == true).astype(np.float64)
    scores = {name: _mean(each, resamples, seed) for name, each in terms.items() if len(each)}
    return PairEvaluation(len(rows), "pairs", scores, int((~here).sum()), int(gone.sum()))


def _mean(values: F8, resamples: int, seed: int) -> Ends:
    mean = float(values.mean())
    if not resamples or len(values) < 2:
        return mean, float("nan"), float("nan")
    rng = np.random.default_rng(seed)
    draws = [values[rng.integers(0, len(values), len(values))].mean() for _ in range(min(resamples, 1000))]
    return mean, *central(np.array(draws), len(values), 0.95)


def _floats(values: pl.Series) -> F8:
    try:
        return values.cast(pl.Float64).to_numpy()
    except pl.exceptions.PolarsError as error:
        raise DataError(f"the column {values.name} must hold numbers") from error


def _chances(found: pl.DataFrame) -> F8:
    if {"p_left", "p_right"} <= set(found.columns):
        tie = _floats(found["p_tie"]) if "p_tie" in found.columns else np.zeros(len(found))
        return np.stack([_floats(found["p_left"]), _floats(found["p_right"]), tie], axis=1)
    if "winner" not in found.columns:
        raise DataError("the table has no column 'winner'")
    at = outcomes(found["winner"], found["left"], found["right"])
    return np.eye(3)[np.maximum(at, 0)]


# ----------------------------------------------------------------
# Results of comparisons for people: the leaderboard, who cannot be told apart, and the workers.

Row = list[str]
# Rows of a leaderboard on the terminal, and islands that are named one by one.
TOP, ISLANDS = 20, 5


def leaderboard_rows(table: pl.DataFrame) -> list[Row]:
    """Place, item, score, interval and places of each row."""
    out = []
    for i, row in enumerate(table.iter_rows(named=True), 1):
        known = row["se"] is not None and np.isfinite(row["se"])
        between = f"{row['low']:.2f} – {row['high']:.2f}" if known else "–"
        places = f"{row['rank_low']} – {row['rank_high']}" if known else "–"
        group = str(row["group"]) if known else "–"
        out.append(
            [str(i), str(row["item"])[:60], f"{row['score']:.3f}", between, places, group, f"{row['n_asked']:,}"]
        )
    return out


HEADER = ["", "item", "score", "interval", "places", "group", "answers"]


def leaderboards(estimate: ComparisonEstimate, limit: int = TOP, islands: int = ISLANDS) -> list[Table]:
    """One table for each of the largest islands."""
    board = estimate.leaderboard().filter(pl.col("n_asked") > 0)
    out = []
    for island in board["component"].unique().sort().head(islands).to_list():
        own = board.filter(pl.col("component") == island)
        many = board["component"].n_unique() > 1
        title = "Leaderboard" + (f", component {island}" if many else "")
        title += f" (the first {limit} of {len(own):,})" if len(own) > limit else ""
        out.append(Table(title, HEADER, leaderboard_rows(own.head(limit))))
    return out


def sentences(votes: Votes[Comparisons], result: Result) -> list[str]:
    """Who leads, who cannot be told from them, and on how many islands the items lie."""
    estimate = result.estimate
    assert isinstance(estimate, ComparisonEstimate)
    board = estimate.leaderboard().filter(pl.col("n_asked") > 0)
    if not len(board):
        return ["no items were compared"]
    islands = board["component"].n_unique()
    first = board.filter(pl.col("component") == board["component"][0])
    out = [_lead(first, result, "" if islands == 1 else f" of the largest component ({len(first):,} items)")]
    if islands > 1:
        out.append(
            f"the {len(board):,} items fall into {islands:,} components that were never compared with each other: "
            "scores and places hold within a component only"
        )
    ties = int((votes.answers.outcome == 2).sum())
    if ties == len(votes):
        out.append("every answer is a tie: nothing tells the items apart")
    return out


def _lead(first: pl.DataFrame, result: Result, of: str) -> str:
    best = str(first["item"][0])[:60]
    if len(first) < 2:
        return f"{best} is the only item{of}"
    if not np.isfinite(first["se"].cast(pl.Float64).fill_null(np.nan).to_numpy()).any():
        return f"first{of} is {best}; {result.method} has no intervals"
    top = first.filter(pl.col("group") == 1)["item"].to_list()
    level = 100 * float(result.params.get("level", 0.95))
    if len(top) == 1:
        return f"{best} leads{of}, surely ahead of all others ({level:.0f} %, all pairs at once)"
    names = ", ".join(str(name)[:40] for name in top[:4]) + (f" and {len(top) - 4:,} more" if len(top) > 4 else "")
    return f"the first {len(top):,}{of} cannot be told apart: {names} ({level:.0f} %, all pairs at once)"


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[Row]]:
    """By the ends of their reliabilities' intervals, those without answers left out."""
    picture: Any = result.picture
    heard = np.flatnonzero(result.labels_per_worker > 0)
    best = heard[np.argsort(-np.nan_to_num(picture.reliability_low[heard]), kind="stable")]
    some = best if len(best) <= 2 * limit else np.concatenate([best[:limit], _worst(picture, heard, limit)])
    names = result.workers.gather(some).to_list()
    rows = [
        [
            str(name),
            f"{result.labels_per_worker[w]:,}",
            f"{picture.reliability[w]:.3f}",
            f"{picture.reliability_low[w]:.3f} – {picture.reliability_high[w]:.3f}",
            *(f"{v[w]:.2f}" if np.isfinite(v[w]) else "–" for v in (picture.slope, picture.position)),
        ]
        for name, w in zip(names, some.tolist(), strict=True)
    ]
    if len(some) < len(best):
        rows.insert(limit, ["…"] + [""] * 5)
    return ["worker", "answers", "reliability", "95 % interval", "slope", "position"], rows


def _worst(picture: Any, heard: Any, limit: int) -> Any:
    return heard[np.argsort(-np.nan_to_num(picture.reliability_high[heard]), kind="stable")][-limit:]


def show(result: Result) -> tuple[str, list[Table]]:
    """The leaderboard; the pairs that are closest to even."""
    estimate = result.estimate
    assert isinstance(estimate, ComparisonEstimate)
    even = np.where(result.labels_per_task > 0, np.abs(estimate.chance[:, 0] - estimate.chance[:, 1]), np.inf)
    order = np.argsort(even, kind="stable")[:5]
    table = result.to_table()[order.tolist()]
    rows = [[f"{c:.3f}" if isinstance(c, float) else str(c)[:50] for c in row] for row in table.iter_rows()]
    return estimate.summary(), [*leaderboards(estimate), Table("Pairs closest to even", table.columns, rows)]


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Rows for the table of sizes, tables, and advice."""
    agreement, left = facts["pairwise_agreement"], facts["left_wins"]
    rows = [
        ["items", f"{facts['items']:,}"],
        ["pairs of items", f"{facts['pairs']:,}"],
        ["ties", f"{facts['ties']:,}"],
        ["left wins (ties apart)", "–" if left is None else f"{left:.1%}"],
        ["components of compared items", f"{facts['item_components']:,} (largest {facts['largest_component']:,})"],
        ["two answers to a task agree", "–" if agreement is None else f"{agreement:.1%}"],
    ]
    advice = []
    if facts["item_components"] > 1:
        advice.append("items of different components were never compared: their scores say nothing of each other")
    if left is not None and facts["annotations"] >= 50 and abs(left - 0.5) > 0.15:
        advice.append(f"left wins {left:.0%} of the decided answers: were the sides drawn at random?")
    return rows, [], advice
