"""The value that each judge adds to the others, and what to buy next: verdicts or labels of people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..core.arrays import F8, I8
from ..kinds.classes.maths.judges import folds, out_of_fold
from ..stats.bootstrap import central
from .maths import (
    best_variance,
    effective_number,
    error_correlation,
    labels_per_task,
    squared_correlation,
    variance,
    worth_up_to,
)

DRAWS = 500
MORE = 10  # labels of people that are compared with verdicts for the same money


def marginal_table(
    verdicts: F8, wrong: F8, truth: I8, price: F8 | None, names: pl.Series, l2: float, seed: int
) -> pl.DataFrame:
    """Table with a row per judge: the loss of accuracy, R2 and effective number without them, and their own R2.

    With bootstrap intervals, and the price (in people's labels) up to which the judge alone is worth its cost.
    """
    rng = np.random.default_rng(seed)
    fold = folds(len(truth), rng)
    m, n = verdicts.shape[1], len(truth)
    full = out_of_fold(lambda _: verdicts, truth, l2, fold)
    times = np.stack([np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(DRAWS)]).astype(np.float64)
    hit = full.argmax(axis=1) == truth
    r2 = squared_correlation(full, truth)
    r2_draws = np.array([squared_correlation(full, truth, t) for t in times])
    r = error_correlation(wrong).r
    rows = []
    for j in range(m):
        others = [i for i in range(m) if i != j]
        verdict = verdicts[:, [j]]
        r2_alone = squared_correlation(out_of_fold(lambda _, verdict=verdict: verdict, truth, l2, fold), truth)  # type: ignore[misc]
        row: dict[str, Any] = {"judge": str(names[j]), "price": None if price is None else float(price[j])}
        row |= {"r2_alone": r2_alone, "worth_up_to": worth_up_to(r2_alone)}
        if others:
            part = verdicts[:, others]
            without = out_of_fold(lambda _, part=part: part, truth, l2, fold)  # type: ignore[misc]
            gain = hit.astype(np.float64) - (without.argmax(axis=1) == truth)
            r2_without = np.array([squared_correlation(without, truth, t) for t in times])
            row |= _with_span("accuracy", float(gain.mean()), times @ gain / n, n)
            row |= _with_span("r2", r2 - squared_correlation(without, truth), r2_draws - r2_without, n)
            row |= {"adds_voices": effective_number(r) - effective_number(r[np.ix_(others, others)])}
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def _with_span(name: str, value: float, draws: F8, n: int) -> dict[str, float]:
    low, high = central(draws, n, 0.95)
    return {f"adds_{name}": value, f"adds_{name}_low": low, f"adds_{name}_high": high}


@dataclass(frozen=True)
class Spend:
    """What to buy next for an estimate, with the reduction of its variance per unit of money either way."""

    r2: float
    person_price: float
    judge_price: float
    labels_per_task: float
    people_gain: float
    tasks_gain: float
    saved: float

    @property
    def better(self) -> str:
        """The better purchase: people or verdicts."""
        return "people" if self.people_gain >= self.tasks_gain else "verdicts"

    def sentence(self) -> str:
        """The recommendation as a sentence."""
        if self.better == "people":
            what = f"{MORE} more labels of people narrow an estimate more than verdicts for the same money"
        else:
            what = "judging more tasks narrows an estimate more than labels of people for the same money"
        if self.saved >= 1:
            return "next best spend: labels of people; for an estimate these verdicts cost more than they save"
        return (
            f"next best spend: {what}; the best mix is one label of a person for every "
            f"{1 / self.labels_per_task:,.1f} judged tasks, at {self.saved:.0%} of the cost of people alone"
        )


def next_spend(r2: float, n_gold: int, n_judged: int, judge_price: float, person_price: float) -> Spend:
    """Compare ten more labels of people with judged tasks for the same money.

    Args:
        r2: R2 of the stack of judges.
        n_gold: Number of labels of people.
        n_judged: Number of judged tasks.
        judge_price: Price of a judged task.
        person_price: Price of a person's label.
    """
    current = variance(r2, n_gold, n_judged)
    budget = MORE * person_price
    people = (current - variance(r2, n_gold + MORE, n_judged)) / budget
    tasks = (
        (current - variance(r2, n_gold, n_judged + budget / judge_price)) / budget if judge_price > 0 else float("inf")
    )
    pays = judge_price < worth_up_to(r2) * person_price
    saved = best_variance(r2, judge_price, person_price, 1.0) / person_price if pays else 1.0
    mix = labels_per_task(r2, judge_price, person_price)
    return Spend(r2, person_price, judge_price, mix, people, tasks if pays else 0.0, saved)
