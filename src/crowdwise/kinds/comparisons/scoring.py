"""Evaluation of comparisons, facts about the votes, and tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8
from ...core.describe import common
from ...core.errors import DataError
from ...core.intake.columns import candidates
from ...core.result import Result
from ...core.truth import truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...evaluation.evaluate import ALL_GOLD, among
from ...evaluation.scores import Scores, Table, values_and_intervals
from ...stats.bootstrap import central
from ...workers.tables import summary_rows
from .answers import SWAPPED, Comparisons, accepts, as_text, detect_columns, fill_columns, rows_of
from .estimate import ComparisonEstimate
from .fitting import outcomes
from .maths.leaderboard import concordance
from .maths.models import LEFT, TIE


def read_truth(frame: pl.DataFrame) -> pl.DataFrame | None:
    """Read columns left, right, winner (or chosen, rejected) as a table task, label.

    The label is the name of the winning item or "tie". Returns None where the columns are different.
    """
    roles = detect_columns(frame.columns)
    if roles is None:
        return None
    columns = {role: frame[name] for role, name in roles.items()}
    if not accepts(columns):
        return None
    tasks = [] if "task" in columns else candidates("task", frame.columns, ("worker",))
    if len(tasks) == 1:
        columns["task"] = frame[tasks[0]]
    columns["worker"] = pl.Series([""] * len(frame))
    fill_columns(columns)
    if "chosen" in columns:
        label = as_text(columns["chosen"])
    else:
        left, right, winner = (as_text(columns[name]) for name in ("left", "right", "winner"))
        at = outcomes(winner, left, right)
        label = pl.select(
            pl.when(pl.Series(at == 0)).then(left).when(pl.Series(at == 1)).then(right)
            .when(pl.Series(at == 2)).then(pl.lit("tie")).otherwise(winner)
        ).to_series()  # fmt: skip
    return pl.DataFrame({"task": as_text(columns["task"]), "label": label})


def numbers(labels: pl.Series) -> np.ndarray | None:
    """Return labels as numbers; None where one is not a number."""
    values = labels.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    return None if values.null_count() else values.to_numpy()


# ----------------------------------------------------------------
# Evaluation of scores of items and winners of pairs against the truth of either.

Ends = tuple[float, float, float]
SCORES = {
    "kendall": "Kendall's tau of the items",
    "spearman": "Spearman's rho of the items",
    "pairs_right": "pairs of items in the right order",
    "accuracy": "known pairs with the right winner",
    "accuracy_ties": "accuracy over left, right and tie",
    "log_loss": "log-loss of the known pairs",
}


@dataclass(frozen=True, repr=False, kw_only=True)
class PairEvaluation(Scores):
    """Scores as (value, low, high) by name.

    For known items: kendall, spearman, pairs_right, within components. For known pairs: accuracy (without ties),
    accuracy_ties, log_loss. `n` is the number of scored items or pairs, and `what` is "items" or "pairs".
    """

    NAMES: ClassVar[Mapping[str, str]] = SCORES
    MISSING_INTERVAL: ClassVar[Mapping[str, None]] = {"low": None, "high": None}

    what: str

    @property
    def unit(self) -> str:
        """What is scored, in the singular."""
        return self.what.removesuffix("s")

    def rows(self) -> list[list[str]]:
        """Return name, value and 95 % interval of every score that exists as text."""
        return [row for row in super().rows() if row[1] != "–"]

    def headline(self) -> dict[str, float]:
        """Return the scores that methods are compared by; the first one ranks them."""
        first = ("kendall", "spearman", "pairs_right") if "kendall" in self.scores else ("accuracy", "log_loss")
        return {name: getattr(self, name) for name in first if name in self.scores}

    def details(self) -> dict[str, Any]:
        """Return what is scored, items or pairs."""
        return {"what": self.what}


def evaluate(
    result: Result | pl.DataFrame, truth: Any, *, fit_gold: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> PairEvaluation:
    """Score a result against known items or known pairs.

    Args:
        result: A Result, or one of its tables: task, left, right, winner, or item, score.
        truth: One row per item (item, score: higher is better) to score the order, or one row per task (task, label: a
            side, a tie or an item's name) to score the winners.
        fit_gold: Tasks whose gold was used in the fit. They are left out.
        resamples: Number of bootstrap resamples for the intervals (0: no intervals).
        seed: Seed of the resamples.
    """
    gold = _truth(truth)
    if isinstance(result, Result):
        estimate = result.estimate
        assert isinstance(estimate, ComparisonEstimate)
        at, item = lookup(estimate.items, gold["task"])
        if item.sum() > lookup(result.tasks, gold["task"])[1].sum():
            return _items(estimate.score, estimate.component, gold, at, item & (estimate.n_asked > 0)[at],
                          resamples, seed)  # fmt: skip
        sides = tuple(estimate._named(side) for side in (estimate.left, estimate.right))
        return _pairs(result.tasks, sides, estimate.chance, gold, fit_gold, resamples, seed)
    if "item" in result.columns and "score" in result.columns:
        at, item = lookup(result["item"], gold["task"])
        group = (
            result["component"].cast(pl.Int64).to_numpy() if "component" in result.columns else np.zeros(len(result))
        )
        return _items(_floats(result["score"]), group, gold, at, item, resamples, seed)
    for name in ("task", "left", "right"):
        if name not in result.columns:
            raise DataError(f"the table has no column {name!r}; it has {', '.join(result.columns)}")
    if not lookup(result["task"], gold["task"])[1].any():
        gold = _winners(result, gold)
    return _pairs(result["task"], (result["left"], result["right"]), _chances(result), gold, fit_gold, resamples, seed)


def _winners(table: pl.DataFrame, gold: pl.DataFrame) -> pl.DataFrame:
    """Turn known items into known winners of the pairs of a table; unchanged where the items do not match."""
    score = dict(zip(gold["task"].cast(pl.String).to_list(), gold["label"].to_list(), strict=True))
    true = {name: float(label) for name, label in score.items()} if numbers(gold["label"]) is not None else {}
    rows = zip(*(table[name].cast(pl.String).to_list() for name in ("task", "left", "right")), strict=True)
    won = [(task, "tie" if true[one] == true[two] else "left" if true[one] > true[two] else "right")
           for task, one, two in rows if one in true and two in true]  # fmt: skip
    return pl.DataFrame(won, schema=["task", "label"], orient="row") if won else gold


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


def _items(score: F8, group: Any, gold: pl.DataFrame, at: Any, item: Any, resamples: int, seed: int) -> PairEvaluation:
    true = numbers(gold["label"])
    if true is None:
        raise DataError("the truth of an item must be a number, its score (higher is better)")
    if int(item.sum()) < 2:
        raise DataError("fewer than two items of the truth were compared in these votes; do the names match?")
    rows = at[item]
    agreement = concordance(score[rows], true[item], np.asarray(group)[rows].astype(np.int64), resamples, seed)
    scores = {"kendall": agreement.kendall, "spearman": agreement.spearman, "pairs_right": agreement.pairs_right}
    return PairEvaluation(
        n=int(item.sum()), what="items", **values_and_intervals(scores), truths_without_labels=int((~item).sum())
    )


def _pairs(
    tasks: pl.Series, sides: Any, chance: F8, gold: pl.DataFrame, fit_gold: Any, resamples: int, seed: int
) -> PairEvaluation:
    at, is_known = lookup(tasks, gold["task"])
    if not is_known.any():
        raise DataError("none of the tasks or items in the truth occurs in the result; do the ids match?")
    used_in_fit = is_known & among(gold["task"], fit_gold)
    is_scored = is_known & ~used_in_fit
    if not is_scored.any():
        raise DataError(ALL_GOLD.format(n=int(used_in_fit.sum())))
    rows = at[is_scored]
    label = gold["label"].filter(pl.Series(is_scored))
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
    scores = {name: _mean(values, resamples, seed) for name, values in terms.items() if len(values)}
    return PairEvaluation(
        n=len(rows), what="pairs", **values_and_intervals(scores), truths_without_labels=int((~is_known).sum()),
        n_gold_left_out=int(used_in_fit.sum()),
    )  # fmt: skip


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


def _chances(table: pl.DataFrame) -> F8:
    if {"p_left", "p_right"} <= set(table.columns):
        tie = _floats(table["p_tie"]) if "p_tie" in table.columns else np.zeros(len(table))
        return np.stack([_floats(table["p_left"]), _floats(table["p_right"]), tie], axis=1)
    if "winner" not in table.columns:
        raise DataError("the table has no column 'winner'")
    at = outcomes(table["winner"], table["left"], table["right"])
    return np.eye(3)[np.maximum(at, 0)]


# ----------------------------------------------------------------
# Facts about the votes


def describe(votes: Votes[Comparisons]) -> dict[str, Any]:
    """Describe the votes: items, pairs, ties, how often left wins, components of compared items, agreement."""
    answers, rows = votes.answers, rows_of(votes)
    decided = answers.outcome != TIE
    components = rows.component[rows.asked > 0]
    outcome = np.where(answers.left <= answers.right, answers.outcome, SWAPPED[answers.outcome])
    counts = np.zeros((votes.n_tasks, 3))
    np.add.at(counts, (votes.task, outcome), 1.0)
    n = counts.sum(axis=1)
    pairs = float((n * (n - 1)).sum())
    return {
        **common(votes),
        "items": len(answers.items),
        "pairs": len(rows.pairs[0]),
        "ties": int((~decided).sum()),
        "left_wins": float((answers.outcome[decided] == LEFT).mean()) if decided.any() else None,
        "item_components": len(np.unique(components)),
        "largest_component": int((rows.component[rows.asked > 0] == 0).sum()),
        "pairwise_agreement": float((counts * (counts - 1)).sum()) / pairs if pairs else None,
    }


# ----------------------------------------------------------------
# Leaderboards and workers for the terminal.

Row = list[str]
# Rows of a leaderboard on the terminal, and components that get one.
TOP, COMPONENTS = 20, 5


def leaderboard_rows(table: pl.DataFrame) -> list[Row]:
    """Format the rows: place, item, score, interval, ranks, group and number of answers."""
    out = []
    for i, row in enumerate(table.iter_rows(named=True), 1):
        item, score, between, places = score_cells(row)
        group = "–" if places == "–" else str(row["group"])
        out.append([str(i), item, score, between, places, group, f"{row['n_asked']:,}"])
    return out


def score_cells(row: Mapping[str, Any]) -> list[str]:
    """Format item, score, its interval and the ranks of a row; a dash stands for what the method does not have."""
    ends = ["–", "–"]
    if row["se"] is not None and np.isfinite(row["se"]):
        ends = [f"{row['low']:.2f} – {row['high']:.2f}", f"{row['rank_low']} – {row['rank_high']}"]
    return [str(row["item"])[:60], f"{row['score']:.3f}", *ends]


HEADER = ["", "item", "score", "interval", "places", "group", "answers"]


def leaderboards(estimate: ComparisonEstimate, limit: int = TOP, components: int = COMPONENTS) -> list[Table]:
    """Return one table for each of the largest components."""
    board = estimate.leaderboard().filter(pl.col("n_asked") > 0)
    out = []
    for component in board["component"].unique().sort().head(components).to_list():
        members = board.filter(pl.col("component") == component)
        many = board["component"].n_unique() > 1
        title = "Leaderboard" + (f", component {component}" if many else "")
        title += f" (the first {limit} of {len(members):,})" if len(members) > limit else ""
        out.append(Table(title, HEADER, leaderboard_rows(members.head(limit))))
    return out


def sentences(votes: Votes[Comparisons], result: Result) -> list[str]:
    """Summarize the leading items, the components and ties in sentences."""
    estimate = result.estimate
    assert isinstance(estimate, ComparisonEstimate)
    board = estimate.leaderboard().filter(pl.col("n_asked") > 0)
    if not len(board):
        return ["no items were compared"]
    components = board["component"].n_unique()
    first = board.filter(pl.col("component") == board["component"][0])
    out = [_lead(first, result, "" if components == 1 else f" of the largest component ({len(first):,} items)")]
    if components > 1:
        out.append(
            f"the {len(board):,} items form {components:,} components that were never compared with each other: "
            "scores and ranks hold within a component only"
        )
    ties = int((votes.answers.outcome == 2).sum())
    if ties == len(votes):
        out.append("every answer is a tie: the items cannot be distinguished")
    if len(board) == 2:
        out.append(
            "two items: how often a worker votes for the winner is not reliability; `workers` or `judges` with --gold, "
            "or pairs in both orders, measure it"
        )
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
        return f"{best} leads{of}, significantly ahead of all others ({level:.0f} %, all pairs at once)"
    names = ", ".join(str(name)[:40] for name in top[:4]) + (f" and {len(top) - 4:,} more" if len(top) > 4 else "")
    return f"the first {len(top):,}{of} cannot be distinguished: {names} ({level:.0f} %, all pairs at once)"


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[Row]]:
    """Header and rows of the best and the worst workers, by the ends of the intervals of their reliability."""
    header, rows = summary_rows(result, limit, "reliability", ("slope", "position"))
    if len(result.items) == 2:  # whoever votes for the better item, unread, would look reliable
        header[2] = "for the winner"
    return header, rows


def show(result: Result) -> tuple[str, list[Table]]:
    """Return a summary, the leaderboards and the pairs closest to even."""
    estimate = result.estimate
    assert isinstance(estimate, ComparisonEstimate)
    even = np.where(result.labels_per_task > 0, np.abs(estimate.chance[:, 0] - estimate.chance[:, 1]), np.inf)
    order = np.argsort(even, kind="stable")[:5]
    table = result.to_table()[order.tolist()]
    rows = [[f"{c:.3f}" if isinstance(c, float) else str(c)[:50] for c in row] for row in table.iter_rows()]
    return estimate.summary(), [*leaderboards(estimate), Table("Pairs closest to even", table.columns, rows)]


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Return rows for the table of sizes, further tables, and advice."""
    agreement, left = facts["pairwise_agreement"], facts["left_wins"]
    rows = [
        ["items", f"{facts['items']:,}"],
        ["pairs of items", f"{facts['pairs']:,}"],
        ["ties", f"{facts['ties']:,}"],
        ["left wins (without ties)", "–" if left is None else f"{left:.1%}"],
        ["components of compared items", f"{facts['item_components']:,} (largest {facts['largest_component']:,})"],
        ["agreement of two answers to a task", "–" if agreement is None else f"{agreement:.1%}"],
    ]
    advice = []
    if facts["item_components"] > 1:
        advice.append("items of different components were never compared: their scores are not comparable")
    if left is not None and facts["annotations"] >= 50 and abs(left - 0.5) > 0.15:
        advice.append(f"left wins {left:.0%} of the answers without ties: were the sides drawn at random?")
    return rows, [], advice
