"""How good are scores of items and winners of pairs, given the truth of either."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...aggregate.comparisons.gold import outcomes
from ...core.errors import DataError
from ...core.result import Result
from ...core.truth import truth_table
from ...core.vocabulary import lookup, quote
from ...kinds.comparisons.estimate import ComparisonEstimate
from ...maths.bootstrap import central
from ...maths.comparisons.concordance import concordance
from ..evaluate import ALL_GOLD, among
from ..scored import Scored, Table
from .truth import numbers

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
