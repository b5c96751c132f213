"""Whom to pay: which judges together, what each adds, and what to buy next.

Subsets are compared by their stack's out-of-fold log-loss on two thirds of the gold; of those within one paired
standard error of the best the cheapest is taken. What is printed is scored on the last third: the apparent best of
many subsets is too good to be true.
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
    """Some judges, their price a task, and each gold task's out-of-fold loss."""

    judges: Subset
    cost: float
    loss: F8


@dataclass(frozen=True)
class Frontier:
    """Offers that nobody beats, cheapest first; `chosen` among them; scores from gold that took no part."""

    table: pl.DataFrame
    chosen: tuple[str, ...]
    note: str


def frontier(voices: F8, truth: I8, price: F8, names: pl.Series, l2: float, seed: int) -> Frontier:
    """From voices[gold task, judge, class], the truth, and the price of each judge's verdict."""
    n = len(truth)
    if n < MIN_GOLD:
        return Frontier(_empty(), (), f"{n} gold labels are too few to choose judges by; {MIN_GOLD} or more are needed")
    rng = np.random.default_rng(seed)
    held = np.zeros(n, dtype=bool)
    held[rng.permutation(n)[: n // 3]] = True
    fold = folds(int((~held).sum()), rng)
    offers = _offers(voices[~held], truth[~held], price, l2, fold)
    mean = np.array([offer.loss.mean() for offer in offers])
    on = np.flatnonzero(pareto(np.array([offer.cost for offer in offers]), mean))
    best = offers[int(np.argmin(mean))]
    choice = _cheapest(offers, best)
    shown = sorted({*on.tolist(), offers.index(choice)}, key=lambda i: (offers[i].cost, mean[i]))
    rows = [_row(offers[i], voices, truth, held, l2, names, offers[i] is choice) for i in shown]
    chosen = tuple(str(names[j]) for j in choice.judges)
    note = f"scored on {int(held.sum())} gold tasks that took no part in the choice among {len(offers)} sets of judges"
    return Frontier(pl.DataFrame(rows, schema=_SCHEMA), chosen, note)


_SCHEMA: dict[str, Any] = {
    "judges": pl.String, "n_judges": pl.Int64, "cost": pl.Float64, "accuracy": pl.Float64, "accuracy_low": pl.Float64,
    "accuracy_high": pl.Float64, "log_loss": pl.Float64, "r2": pl.Float64, "chosen": pl.Boolean,
}  # fmt: skip


def _empty() -> pl.DataFrame:
    return pl.DataFrame([], schema=_SCHEMA)


def _offers(voices: F8, truth: I8, price: F8, l2: float, fold: I8) -> list[Offer]:
    """All subsets of few judges, else all that are met when the judge who helps most is added, one after another."""
    m = voices.shape[1]

    def offer(judges: Subset) -> Offer:
        part = voices[:, list(judges)]
        p = out_of_fold(lambda _: part, truth, l2, fold)
        return Offer(judges, float(price[list(judges)].sum()), log_loss(p, truth))

    if m <= ALL_SUBSETS:
        return [offer(judges) for judges in subsets(m)]
    found: list[Offer] = []
    current: Subset = ()
    while len(current) < m:
        tried = [offer((*current, j)) for j in range(m) if j not in current]
        found += tried
        current = min(tried, key=lambda each: float(each.loss.mean())).judges
    return [Offer(tuple(sorted(each.judges)), each.cost, each.loss) for each in found]


def _cheapest(offers: list[Offer], best: Offer) -> Offer:
    """The cheapest within one paired standard error of the best; of equally cheap ones the better."""
    n = len(best.loss)
    near = []
    for each in offers:
        gap = each.loss - best.loss
        if gap.mean() <= gap.std(ddof=1) / np.sqrt(n) + 1e-12:
            near.append(each)
    return min(near, key=lambda each: (each.cost, float(each.loss.mean())))


def _row(
    offer: Offer, voices: F8, truth: I8, held: npt.NDArray[np.bool_], l2: float, names: pl.Series, chosen: bool
) -> dict[str, Any]:
    part = voices[:, list(offer.judges)]
    p = fit_stack(part[~held], truth[~held], l2).posterior(part[held])
    right = float((p.argmax(axis=1) == truth[held]).mean())
    low, high = jeffreys(right, int(held.sum()))
    return {
        "judges": ", ".join(str(names[j]) for j in offer.judges),
        "n_judges": len(offer.judges),
        "cost": offer.cost,
        "accuracy": right,
        "accuracy_low": low,
        "accuracy_high": high,
        "log_loss": float(log_loss(p, truth[held]).mean()),
        "r2": squared_correlation(p, truth[held]),
        "chosen": chosen,
    }
