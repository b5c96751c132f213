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

from ..evaluation.intervals import jeffreys
from ..kinds.classes.maths.judges import fit_stack, folds, log_loss, out_of_fold
from .maths import ALL_SUBSETS, pareto, squared_correlation, subsets

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Subset = tuple[int, ...]

MIN_GOLD = 45


@dataclass(frozen=True)
class Offer:
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


def frontier(voices: F8, truth: I8, price: F8, names: pl.Series, l2: float, seed: int) -> Frontier:
    """Compute the frontier.

    Args:
        voices: voices[gold task, judge, class], the verdicts on the gold tasks.
        truth: The class of each gold task.
        price: Price of each judge's verdict.
        names: Names of the judges.
        l2: Penalty of the stack.
        seed: Seed of folds and the held-out third.
    """
    n = len(truth)
    if n < MIN_GOLD:
        return Frontier(_empty(), (), f"{n} gold labels are too few to choose judges; {MIN_GOLD} or more are needed")
    rng = np.random.default_rng(seed)
    held_out = np.zeros(n, dtype=bool)
    held_out[rng.permutation(n)[: n // 3]] = True
    fold = folds(int((~held_out).sum()), rng)
    offers = _offers(voices[~held_out], truth[~held_out], price, l2, fold)
    mean = np.array([offer.loss.mean() for offer in offers])
    on = np.flatnonzero(pareto(np.array([offer.cost for offer in offers]), mean))
    best = offers[int(np.argmin(mean))]
    choice = _cheapest(offers, best)
    shown = sorted({*on.tolist(), offers.index(choice)}, key=lambda i: (offers[i].cost, mean[i]))
    rows = [_row(offers[i], voices, truth, held_out, l2, names, offers[i] is choice) for i in shown]
    chosen = tuple(str(names[j]) for j in choice.judges)
    note = f"scored on {int(held_out.sum())} gold tasks held out from the choice among {len(offers)} sets of judges"
    return Frontier(pl.DataFrame(rows, schema=_SCHEMA), chosen, note)


_SCHEMA: dict[str, Any] = {
    "judges": pl.String, "n_judges": pl.Int64, "cost": pl.Float64, "accuracy": pl.Float64, "accuracy_low": pl.Float64,
    "accuracy_high": pl.Float64, "log_loss": pl.Float64, "r2": pl.Float64, "chosen": pl.Boolean,
}  # fmt: skip


def _empty() -> pl.DataFrame:
    return pl.DataFrame([], schema=_SCHEMA)


def _offers(voices: F8, truth: I8, price: F8, l2: float, fold: I8) -> list[Offer]:
    """All subsets of few judges, else those tried by greedy forward selection."""
    m = voices.shape[1]

    def offer(judges: Subset) -> Offer:
        part = voices[:, list(judges)]
        p = out_of_fold(lambda _: part, truth, l2, fold)
        return Offer(judges, float(price[list(judges)].sum()), log_loss(p, truth))

    if m <= ALL_SUBSETS:
        return [offer(judges) for judges in subsets(m)]
    offers: list[Offer] = []
    current: Subset = ()
    while len(current) < m:
        tried = [offer((*current, j)) for j in range(m) if j not in current]
        offers += tried
        current = min(tried, key=lambda option: float(option.loss.mean())).judges
    return [Offer(tuple(sorted(option.judges)), option.cost, option.loss) for option in offers]


def _cheapest(offers: list[Offer], best: Offer) -> Offer:
    """The cheapest offer within one paired standard error of the best; among equally cheap ones the better."""
    n = len(best.loss)
    candidates = []
    for option in offers:
        gap = option.loss - best.loss
        if gap.mean() <= gap.std(ddof=1) / np.sqrt(n) + 1e-12:
            candidates.append(option)
    return min(candidates, key=lambda option: (option.cost, float(option.loss.mean())))


def _row(
    offer: Offer, voices: F8, truth: I8, held_out: npt.NDArray[np.bool_], l2: float, names: pl.Series, chosen: bool
) -> dict[str, Any]:
    part = voices[:, list(offer.judges)]
    p = fit_stack(part[~held_out], truth[~held_out], l2).posterior(part[held_out])
    right = float((p.argmax(axis=1) == truth[held_out]).mean())
    low, high = jeffreys(right, int(held_out.sum()))
    return {
        "judges": ", ".join(str(names[j]) for j in offer.judges),
        "n_judges": len(offer.judges),
        "cost": offer.cost,
        "accuracy": right,
        "accuracy_low": low,
        "accuracy_high": high,
        "log_loss": float(log_loss(p, truth[held_out]).mean()),
        "r2": squared_correlation(p, truth[held_out]),
        "chosen": chosen,
    }
