"""The study of judges behind `cw.judges`."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.arrays import F8, I8
from ..core.errors import DataError, IdentifiabilityWarning
from ..core.progress import watching
from ..core.result import Result
from ..evaluation.guarantee.verdicts import in_classes
from ..kinds.classes.annotations import Annotations, as_annotations
from ..kinds.classes.methods.confusion.matrices import DawidSkene
from ..kinds.classes.methods.gold import GoldLabels, as_gold
from ..kinds.classes.methods.judges import FamilyVote, JudgeStack, JudgeVerdicts, judge_verdicts, without_gold
from .alternative import alternative_table
from .bias import bias_table
from .dependence import Effective, effective, pair_table, wrong_shares
from .frontier import Frontier, frontier
from .marginal import Spend, marginal_table, next_spend
from .metadata import families_of, is_person, prices_of, refuse_gold_of_models, with_families
from .panel import HALF_WIDTH, PanelVerdict, panel_of
from .table import Stated, judge_table, stated

LEAST_GOLD = 10
FIT_LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Judges:
    """Quality, dependence and biases of judges.

    Attributes:
        votes: The verdicts.
        gold: Gold labels of people.
        verdicts: The verdicts of each judge on each task, over repeats, prompts and orders.
        table: One row per judge.
        n_eff: The effective number of independent judges.
        pairs: One row per pair of judges.
        bias: One row per bias check and judge.
        stack: The aggregated result: `judge_stack` with gold, `family_vote` without.
        alternative: Whether a judge may replace a person, where people are among the workers.
        stated: The stated confidence of each judge (None: none stated).
        family: Family of each judge, as a number.
        families_told: Whether families were given, not estimated.
        notes: Warnings.
        prices: Prices of the judges, as given.
        seed: Seed of random draws.
    """

    votes: Annotations = field(repr=False)
    gold: GoldLabels | None = field(repr=False)
    verdicts: JudgeVerdicts = field(repr=False)
    table: pl.DataFrame
    n_eff: Effective
    pairs: pl.DataFrame
    bias: pl.DataFrame
    stack: Result
    alternative: pl.DataFrame
    stated: list[Stated | None] = field(repr=False)
    family: I8 = field(repr=False)
    families_told: bool
    notes: tuple[str, ...]
    prices: Any = field(default=None, repr=False)
    seed: int = 0

    @cached_property
    def _gold_tasks(self) -> I8:
        return np.empty(0, dtype=np.int64) if self.gold is None else self.gold.tasks

    def _learning(self) -> tuple[F8, I8, float]:
        """Verdicts on the gold tasks, their truth, and the penalty of the stack."""
        if self.gold is None or "penalty" not in self.stack.extra:
            raise DataError("the frontier needs gold; pass gold= (on the command line --gold FILE)")
        truth = self.gold.label[self._gold_tasks].astype(np.int64)
        return self.verdicts.of_tasks(self._gold_tasks), truth, float(self.stack.extra["penalty"])

    def _prices(self, prices: Any) -> tuple[F8 | None, float | None]:
        return prices_of(self.votes, self.prices if prices is None else prices)

    def panel(self, half_width: float = HALF_WIDTH) -> PanelVerdict:
        """Return what the judges may be trusted for, which of them to drop, and how many more human labels are needed.

        Args:
            half_width: Half of the width of the interval for which human labels are counted.
        """
        return self._usual_panel if half_width == HALF_WIDTH else panel_of(self, half_width)

    @cached_property
    def _usual_panel(self) -> PanelVerdict:
        return panel_of(self)

    def frontier(self, prices: Any = None) -> Frontier:
        """Compute the cost-quality frontier of sets of judges, scored on held-out gold.

        Args:
            prices: A mapping or a table worker, price (None: those of the study; without prices each judge costs 1).
        """
        return self._usual_frontier if prices is None else self._frontier(prices)

    @cached_property
    def _usual_frontier(self) -> Frontier:
        return self._frontier(None)

    def _frontier(self, prices: Any) -> Frontier:
        gold_verdicts, truth, l2 = self._learning()
        price, _ = self._prices(prices)
        price = np.ones(self.votes.n_workers) if price is None else price
        return frontier(gold_verdicts, truth, price, self.votes.workers, l2, self.seed)

    def marginal(self, prices: Any = None) -> pl.DataFrame:
        """Compute what each judge adds to the others.

        Args:
            prices: A mapping or a table worker, price (None: those of the study).
        """
        gold_verdicts, truth, l2 = self._learning()
        assert self.gold is not None
        wrong = wrong_shares(self.verdicts, self.gold.label.astype(np.int64), self._gold_tasks)
        return marginal_table(gold_verdicts, wrong, truth, self._prices(prices)[0], self.votes.workers, l2, self.seed)

    def next_spend(self, prices: Any = None) -> Spend | None:
        """Recommend what to buy next: more verdicts of the chosen judges, or more labels of people.

        Returns None where the prices of judges or of a person are unknown, or there is too little gold.
        """
        price, person = self._prices(prices)
        offers = self.frontier(prices).table.filter(pl.col("chosen")).to_dicts()
        if price is None or person is None or not offers:
            return None
        n_judged = int((self.votes.labels_per_task > 0).sum())
        return next_spend(min(offers[0]["r2"], 0.999), len(self._gold_tasks), n_judged, offers[0]["cost"], person)


@watching("judges")
def judges(
    votes: Any,
    gold: Any = None,
    *,
    families: Any = None,
    covariates: Any = None,
    prices: Any = None,
    level: float = FIT_LEVEL,
    seed: int = 0,
) -> Judges:
    """Study the quality, dependence, biases and value of judges.

    Args:
        votes: Verdicts of the judges.
        gold: Labels of people for some tasks, as a mapping or a table task, label. Most checks need 30 or more.
        families: A mapping worker -> family, or a table worker, family (None: estimated from the verdicts).
        covariates: A table with a row per task: numbers (a length, a length difference), groups, or `family` (of the
            model that is judged), for bias checks.
        prices: A mapping worker -> price or a table worker, price, with `person` for a person's label. Used
            by `frontier` and `next_spend`.
        level: Confidence level of the effective number.
        seed: Seed of random draws.

    >>> import crowdwise as cw
    >>> votes = cw.simulate.scenario("one_coin", tasks=60, workers=5, seed=1)
    >>> cw.judges(votes.annotations, gold=votes.truth_table()).n_eff.n_judges
    5
    """
    votes, gold, _ = in_classes(votes, gold)
    votes = with_families(as_annotations(votes), families)
    refuse_gold_of_models(gold, votes)
    gold_labels = as_gold(gold, votes)
    verdicts = judge_verdicts(votes)
    family, family_names, families_given = families_of(votes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        consensus = DawidSkene(seed=seed).fit(votes).labels.astype(np.int64)
    n_eff = effective(verdicts, gold_labels, consensus, LEAST_GOLD, level)
    bias = bias_table(votes, verdicts, gold_labels, family_names, covariates)
    people = is_person(votes)
    result, notes = _result(votes, gold, gold_labels, family, people, seed)
    confidences = [stated(verdicts, gold_labels, judge) for judge in range(verdicts.n_judges)]
    price = prices_of(votes, prices)[0]
    return Judges(
        votes=votes,
        gold=gold_labels,
        verdicts=verdicts,
        table=judge_table(votes, verdicts, gold_labels, family_names, price, result, confidences, bias),
        n_eff=n_eff,
        pairs=pair_table(verdicts, gold_labels, family, votes.workers.cast(pl.String), seed),
        bias=bias,
        stack=result,
        alternative=alternative_table(verdicts, people, votes.workers, votes.classes),
        stated=confidences,
        family=family,
        families_told=families_given,
        notes=notes,
        prices=prices,
        seed=seed,
    )


def _result(
    votes: Annotations, gold: Any, gold_labels: GoldLabels | None, family: I8, people: npt.NDArray[np.bool_], seed: int
) -> tuple[Result, tuple[str, ...]]:
    """Aggregate by the stack with gold, else by the vote of families; with the warnings of the fit."""
    n_gold = 0 if gold_labels is None else len(gold_labels.tasks)
    if gold_labels is not None and n_gold < LEAST_GOLD:
        raise DataError(f"{n_gold} gold labels are too few to evaluate judges; give {LEAST_GOLD} or more, or none")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", IdentifiabilityWarning)
        if gold_labels is not None:
            result = JudgeStack(seed=seed).fit(votes, gold=gold)
        else:
            groups = [np.flatnonzero(family == g) for g in np.unique(family)]
            named_groups = tuple(tuple(votes.workers[int(w)] for w in g) for g in groups if len(g) > 1)
            result = FamilyVote(groups=named_groups, seed=seed).fit(votes)
    notes = tuple(str(warning.message) for warning in caught if issubclass(warning.category, IdentifiabilityWarning))
    machines = int((~people).sum())
    if gold_labels is None and machines >= 2:
        notes += (without_gold(machines),)
    return result, notes
