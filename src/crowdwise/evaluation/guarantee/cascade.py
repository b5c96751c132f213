"""cascade: a cheap judge first, a strong one where it is unsure, a person where both are; one promise for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError, ParameterError
from ...stats.platt import fit_platt
from . import sequential as walks
from .accept import Terms, promise
from .certificate import Rung
from .gold import Gold, hashed, place
from .sampling import check_random, settle
from .verdicts import Verdicts, verdicts

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
# Share of the gold that calibrates the two confidences.
FIT = 0.25
LEAST = 15


@dataclass(frozen=True)
class Way:
    """One way to label everything: shares done by each, cost per task, and the threshold that was certified."""

    name: str
    cheap: float
    strong: float
    person: float
    cost: float
    threshold: float | None
    ladder: list[Rung]


@dataclass(frozen=True)
class Cascade:
    """`best` of three ways by cost: the cheap judge with acceptance, the strong one, or both in a cascade."""

    ways: list[Way]
    table: pl.DataFrame
    promise: str

    @property
    def best(self) -> Way:
        """The way that costs least."""
        return min(self.ways, key=lambda way: way.cost)


def cascade(
    cheap: Any,
    strong: Any,
    *,
    gold: Any,
    prices: tuple[float, float, float],
    error: float = 0.05,
    risk: float = 0.1,
    sampling: Any = "random",
    seed: int = 0,
) -> Cascade:
    """Three ways to labels with at most a share `error` wrong among those without a person, priced per task.

    `prices` are those of a cheap verdict, a strong verdict and a person's label. A quarter of the gold calibrates both
    judges' confidence, the rest certifies. Choosing the cheapest way after seeing all three spends a third of the risk
    on each. `table` has task, label, by ("cheap", "strong", "person") of the best way.
    """
    if len(prices) != 3 or min(prices) <= 0:
        raise ParameterError("prices are three: of a cheap verdict, a strong verdict and a person's label")
    terms = Terms(error, risk / 3)
    both = [verdicts(each) for each in (cheap, strong)]
    if not both[0].tasks.equals(both[1].tasks):
        raise DataError("both judges must have judged the same tasks")
    sample, first = place(gold, both[0])
    second_sample, second = place(gold, both[1])
    if not first.classes.equals(second.classes):
        raise DataError("both judges must know the same classes")
    del second_sample
    how, sample, _ = settle(sampling, sample, first, what="a cascade")
    if how == "random":
        check_random(sample, first, only=True)
    fit = hashed(first.tasks.gather(sample.task), seed) < FIT
    if fit.sum() < LEAST:
        raise DataError(f"{len(sample)} gold labels are too few for a cascade; a quarter of them must be {LEAST}")
    sure = [_calibrated(found, sample.take(fit)) for found in (first, second)]
    sample = sample.take(~fit)
    ways = [
        _way("cheap alone", sure[0], np.zeros(len(first)), (first, first), sample, prices, terms),
        _way("strong alone", np.zeros(len(first)), sure[1], (second, second), sample, (0.0, *prices[1:]), terms),
        _way("cascade", sure[0], sure[1], (first, second), sample, prices, terms),
    ]
    best = int(np.argmin([way.cost for way in ways]))
    table = _table(ways[best], sure, best, (first, second), sample)
    return Cascade(ways, table, promise(Terms(error, risk), None))


def _calibrated(found: Verdicts, gold: Gold) -> F8:
    right = gold.label == found.label[gold.task]
    return np.where(found.said, fit_platt(found.confidence[gold.task], right.astype(np.float64))(found.confidence), 0.0)


def _way(
    name: str, first: F8, second: F8, judges: tuple[Verdicts, Verdicts], gold: Gold, prices: tuple[float, ...],
    terms: Terms,
) -> Way:  # fmt: skip
    """Walk down one threshold for both: the first judge's label where it reaches it, else the second's."""
    best = np.maximum(first, second)
    threshold, size = walks.ladder(best)
    mine = [np.round(sure[gold.task], walks.DIGITS) for sure in (first, second)]
    m, e = (np.zeros(len(threshold), dtype=np.int64) for _ in range(2))
    for j, tau in enumerate(threshold):  # forty rungs
        one, two = mine[0] >= tau, mine[1] >= tau
        label = np.where(one, judges[0].label[gold.task], judges[1].label[gold.task])
        inside = one | two
        m[j], e[j] = inside.sum(), (inside & (label != gold.label)).sum()
    found = walks.walk(size, m, e, terms.error, terms.risk)
    bound = walks.upper(e, m, terms.risk)
    ladder = [
        Rung(float(t), int(s), int(a), int(b), float(p), float(u))
        for t, s, a, b, p, u in zip(threshold, size, m, e, found.p, bound, strict=True)
    ]
    tau = threshold[found.last] if found.last >= 0 else np.inf
    by_first = np.round(first, walks.DIGITS) >= tau
    by_second = ~by_first & (np.round(second, walks.DIGITS) >= tau)
    shares = float(by_first.mean()), float(by_second.mean())
    person = 1 - sum(shares)
    strong = second.any()
    asked = 1 - shares[0] if strong and first.any() else float(strong)
    cost = prices[0] + prices[1] * asked + prices[2] * person
    return Way(name, *shares, person, float(cost), None if found.last < 0 else float(tau), ladder)


def _table(way: Way, sure: list[F8], place: int, judges: tuple[Verdicts, Verdicts], gold: Gold) -> pl.DataFrame:
    tau = np.inf if way.threshold is None else way.threshold
    one = (np.round(sure[0], walks.DIGITS) >= tau) & (place != 1)
    two = (np.round(sure[1], walks.DIGITS) >= tau) & (place != 0) & ~one
    label = np.where(one, judges[0].label, judges[1].label)
    by = np.where(one, "cheap", np.where(two, "strong", "person")).astype(object)
    label[gold.task], by[gold.task] = gold.label, "gold"
    names = judges[0].classes.cast(pl.String)
    shown = names.gather(np.minimum(label, len(names) - 1).tolist()).set(pl.Series(by == "person"), None)
    return pl.DataFrame({"task": judges[0].tasks, "label": shown, "by": by.tolist()})
