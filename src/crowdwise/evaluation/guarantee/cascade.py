"""`cascade`: a cheap judge first, a strong one where it is unsure, a person where both are, with one guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError, ParameterError
from ...stats.platt import fit_platt
from . import sequential
from .accept import GuaranteeTerms, guarantee_sentence
from .certificate import LadderStep, ladder_steps
from .gold import GoldSample, hashed, place
from .sampling import random_sample
from .verdicts import Verdicts, as_verdicts

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
# Share of the gold that calibrates the two confidences.
FIT = 0.25
LEAST = 15


@dataclass(frozen=True)
class Strategy:
    """A way to label all tasks: share labelled by each, cost per task, and the certified threshold."""

    name: str
    cheap: float
    strong: float
    person: float
    cost: float
    threshold: float | None
    ladder: list[LadderStep]


@dataclass(frozen=True)
class Cascade:
    """Comparison of three strategies by cost: the cheap judge, the strong judge, or both in a cascade."""

    strategies: list[Strategy]
    table: pl.DataFrame
    promise: str

    @property
    def best(self) -> Strategy:
        """The strategy with the lowest cost."""
        return min(self.strategies, key=lambda strategy: strategy.cost)


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
    """Compare three strategies whose labels are wrong in at most a share `error` where no person decides.

    A quarter of the gold calibrates both judges' confidence, the rest certifies. Since the cheapest strategy is chosen
    after seeing all three, each is certified at a third of the risk.

    Args:
        cheap: Votes or result of the cheap judge.
        strong: Votes or result of the strong judge, on the same tasks.
        gold: Known labels of tasks drawn at random.
        prices: Price of a cheap verdict, of a strong verdict, and of a person's label.
        error: Highest share of wrong labels.
        risk: Probability with which the guarantee may fail.
        sampling: How the gold was drawn, or a `Draw`.
        seed: Seed for splitting the gold.

    Returns:
        The strategies, and a table task, label, by ("cheap", "strong", "person") of the best one.
    """
    if len(prices) != 3 or min(prices) <= 0:
        raise ParameterError("three positive prices are needed: cheap verdict, strong verdict, a person's label")
    terms = GuaranteeTerms(error, risk / 3)
    both_verdicts = [as_verdicts(judge) for judge in (cheap, strong)]
    if not both_verdicts[0].tasks.equals(both_verdicts[1].tasks):
        raise DataError("both judges must have judged the same tasks")
    sample, first = place(gold, both_verdicts[0])
    _, second = place(gold, both_verdicts[1])
    if not first.classes.equals(second.classes):
        raise DataError("both judges must use the same classes")
    sample = random_sample(sampling, sample, first, "a cascade").gold
    calibrates = hashed(first.tasks.gather(sample.task), seed) < FIT
    if calibrates.sum() < LEAST:
        raise DataError(f"{len(sample)} gold labels are too few for a cascade; a quarter of them must be {LEAST}")
    confidences = [_calibrated(judge_verdicts, sample.take(calibrates)) for judge_verdicts in (first, second)]
    sample = sample.take(~calibrates)
    ways = [
        _way("cheap alone", confidences[0], np.zeros(len(first)), (first, first), sample, prices, terms),
        _way("strong alone", np.zeros(len(first)), confidences[1], (second, second), sample, (0.0, *prices[1:]), terms),
        _way("cascade", confidences[0], confidences[1], (first, second), sample, prices, terms),
    ]
    best = int(np.argmin([way.cost for way in ways]))
    table = _table(ways[best], confidences, best, (first, second), sample)
    return Cascade(ways, table, guarantee_sentence(GuaranteeTerms(error, risk), None))


def _calibrated(verdicts: Verdicts, gold: GoldSample) -> F8:
    is_right = gold.label == verdicts.label[gold.task]
    return np.where(
        verdicts.has_verdict,
        fit_platt(verdicts.confidence[gold.task], is_right.astype(np.float64))(verdicts.confidence),
        0.0,
    )


def _way(
    name: str, first: F8, second: F8, judges: tuple[Verdicts, Verdicts], gold: GoldSample, prices: tuple[float, ...],
    terms: GuaranteeTerms,
) -> Strategy:  # fmt: skip
    """Test one threshold for both: the first judge's label if its confidence reaches it, else the second's."""
    best = np.maximum(first, second)
    threshold, size = sequential.ladder(best)
    gold_confidences = [np.round(sure[gold.task], sequential.DIGITS) for sure in (first, second)]
    m, e = (np.zeros(len(threshold), dtype=np.int64) for _ in range(2))
    for j, tau in enumerate(threshold):
        by_first_, by_second_ = gold_confidences[0] >= tau, gold_confidences[1] >= tau
        label = np.where(by_first_, judges[0].label[gold.task], judges[1].label[gold.task])
        inside = by_first_ | by_second_
        m[j], e[j] = inside.sum(), (inside & (label != gold.label)).sum()
    test = sequential.fixed_sequence(size, m, e, terms.error, terms.risk)
    ladder = ladder_steps(threshold, size, m, e, test, terms.risk)
    tau = threshold[test.last] if test.last >= 0 else np.inf
    by_first = np.round(first, sequential.DIGITS) >= tau
    by_second = ~by_first & (np.round(second, sequential.DIGITS) >= tau)
    shares = float(by_first.mean()), float(by_second.mean())
    person = 1 - sum(shares)
    strong = second.any()
    strong_share = 1 - shares[0] if strong and first.any() else float(strong)
    cost = prices[0] + prices[1] * strong_share + prices[2] * person
    return Strategy(name, *shares, person, float(cost), None if test.last < 0 else float(tau), ladder)


def _table(
    way: Strategy, confidences: list[F8], best: int, judges: tuple[Verdicts, Verdicts], gold: GoldSample
) -> pl.DataFrame:
    tau = np.inf if way.threshold is None else way.threshold
    by_first = (np.round(confidences[0], sequential.DIGITS) >= tau) & (best != 1)
    by_second = (np.round(confidences[1], sequential.DIGITS) >= tau) & (best != 0) & ~by_first
    label = np.where(by_first, judges[0].label, judges[1].label)
    by = np.where(by_first, "cheap", np.where(by_second, "strong", "person")).astype(object)
    label[gold.task], by[gold.task] = gold.label, "gold"
    names = judges[0].classes.cast(pl.String)
    shown = names.gather(np.minimum(label, len(names) - 1).tolist()).set(pl.Series(by == "person"), None)
    return pl.DataFrame({"task": judges[0].tasks, "label": shown, "by": by.tolist()})
