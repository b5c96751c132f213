"""The cost-quality frontier of sets of judges.

Subsets are compared by the out-of-fold log-loss of their stack on two thirds of the gold. Among those within one paired
standard error of the best, the cheapest is chosen. Reported scores are from the held-out third, as the apparent best of
many subsets is optimistic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.arrays import F8, I8
from ..evaluation.intervals import jeffreys
from ..kinds.classes.maths.judges import fit_stack, folds, log_loss, out_of_fold
from .maths import ALL_SUBSETS, pareto, squared_correlation, subsets

Subset = tuple[int, ...]

MIN_GOLD = 45


@dataclass(frozen=True)
class JudgeSet:
    """A set of judges, their price per task, and the out-of-fold loss of each gold task."""

    judges: Subset
    cost: float
    loss: F8


@dataclass(frozen=True)
class Frontier:
    """Sets of judges on the Pareto frontier, cheapest first, with the chosen one; scores from held-out gold."""

    table: pl.DataFrame
    chosen: tuple[str, ...]
    note: str


def frontier(verdicts: F8, truth: I8, price: F8, names: pl.Series, l2: float, seed: int) -> Frontier:
    """Compute the frontier.

    Args:
        verdicts: verdicts[gold task, judge, class], the share of each class in a judge's verdicts on a gold task.
        truth: The class of each gold task.
        price: Price of each judge's verdict.
        names: Names of the judges.
        l2: Penalty of the stack.
        seed: Seed of folds and the held-out third.
    """
    n = len(truth)
    if n < MIN_GOLD:
        reason = f"{n} gold labels are too few to choose judges; {MIN_GOLD} or more are needed"
        return Frontier(pl.DataFrame([], schema=_SCHEMA), (), reason)
    rng = np.random.default_rng(seed)
    held_out = np.zeros(n, dtype=bool)
    held_out[rng.permutation(n)[: n // 3]] = True
    fold = folds(int((~held_out).sum()), rng)
    candidates = _judge_sets(verdicts[~held_out], truth[~held_out], price, l2, fold)
    mean = np.array([candidate.loss.mean() for candidate in candidates])
    on = np.flatnonzero(pareto(np.array([candidate.cost for candidate in candidates]), mean))
    best = candidates[int(np.argmin(mean))]
    choice = _cheapest(candidates, best)
    shown = sorted({*on.tolist(), candidates.index(choice)}, key=lambda i: (candidates[i].cost, mean[i]))
    rows = [_row(candidates[i], verdicts, truth, held_out, l2, names, candidates[i] is choice) for i in shown]
    chosen = tuple(str(names[j]) for j in choice.judges)
    note = f"scored on {int(held_out.sum())} gold tasks held out from the choice among {len(candidates)} sets of judges"
    return Frontier(pl.DataFrame(rows, schema=_SCHEMA), chosen, note)


_SCHEMA: dict[str, Any] = {
    "judges": pl.String, "n_judges": pl.Int64, "cost": pl.Float64, "accuracy": pl.Float64, "accuracy_low": pl.Float64,
    "accuracy_high": pl.Float64, "log_loss": pl.Float64, "r2": pl.Float64, "chosen": pl.Boolean,
}  # fmt: skip


def _judge_sets(verdicts: F8, truth: I8, price: F8, l2: float, fold: I8) -> list[JudgeSet]:
    """All subsets of few judges, else those tried by greedy forward selection."""
    m = verdicts.shape[1]

    def candidate(judges: Subset) -> JudgeSet:
        part = verdicts[:, list(judges)]
        p = out_of_fold(lambda _: part, truth, l2, fold)
        return JudgeSet(judges, float(price[list(judges)].sum()), log_loss(p, truth))

    if m <= ALL_SUBSETS:
        return [candidate(judges) for judges in subsets(m)]
    candidates: list[JudgeSet] = []
    current: Subset = ()
    while len(current) < m:
        tried = [candidate((*current, j)) for j in range(m) if j not in current]
        candidates += tried
        current = min(tried, key=lambda option: float(option.loss.mean())).judges
    return [JudgeSet(tuple(sorted(option.judges)), option.cost, option.loss) for option in candidates]


def _cheapest(candidates: list[JudgeSet], best: JudgeSet) -> JudgeSet:
    """The cheapest set within one paired standard error of the best; among equally cheap ones the better."""
    n = len(best.loss)
    as_good = []
    for option in candidates:
        gap = option.loss - best.loss
        if gap.mean() <= gap.std(ddof=1) / np.sqrt(n) + 1e-12:
            as_good.append(option)
    return min(as_good, key=lambda option: (option.cost, float(option.loss.mean())))


def _row(
    candidate: JudgeSet,
    verdicts: F8,
    truth: I8,
    held_out: npt.NDArray[np.bool_],
    l2: float,
    names: pl.Series,
    chosen: bool,
) -> dict[str, Any]:
    part = verdicts[:, list(candidate.judges)]
    p = fit_stack(part[~held_out], truth[~held_out], l2).posterior(part[held_out])
    right = float((p.argmax(axis=1) == truth[held_out]).mean())
    low, high = jeffreys(right, int(held_out.sum()))
    return {
        "judges": ", ".join(str(names[j]) for j in candidate.judges),
        "n_judges": len(candidate.judges),
        "cost": candidate.cost,
        "accuracy": right,
        "accuracy_low": low,
        "accuracy_high": high,
        "log_loss": float(log_loss(p, truth[held_out]).mean()),
        "r2": squared_correlation(p, truth[held_out]),
        "chosen": chosen,
    }
