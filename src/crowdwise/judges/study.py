"""cw.judges: everything about some judges at once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError, IdentifiabilityWarning
from ..core.result import Result
from ..kinds.classes.annotations import Annotations, as_annotations
from ..kinds.classes.methods.confusion.matrices import DawidSkene
from ..kinds.classes.methods.gold import Gold, as_gold
from ..kinds.classes.methods.judges import FamilyVote, JudgeStack, Voices, voices, without_gold
from .alternative import alternative_table
from .bias import bias_table
from .confidence import Stated, stated
from .dependence import Effective, effective, pair_table, wrong_shares
from .frontier import Frontier, frontier
from .known import families_of, is_person, prices_of, refuse_gold_of_models, with_families
from .marginal import Spend, marginal_table, next_spend
from .table import judge_table

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

LEAST_GOLD = 10
FIT_LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Judges:
    """What is known of some judges.

    `table` has a row a judge, `pairs` a row a pair, `bias` a row a check and judge, `alternative` whether a judge may
    replace a person (where people are among the workers). `n_eff` says how many independent voices they are. `stack` is
    the result to use: judge_stack with gold, family_vote without. `notes` are to be read.
    """

    votes: Annotations = field(repr=False)
    gold: Gold | None = field(repr=False)
    said: Voices = field(repr=False)
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
    def _known(self) -> I8:
        return np.empty(0, dtype=np.int64) if self.gold is None else self.gold.known

    def _learning(self) -> tuple[F8, I8, float]:
        """Voices of the gold tasks, their truth, and the stack's penalty."""
        if self.gold is None or "penalty" not in self.stack.extra:
            raise DataError("whom to pay can only be told with gold; pass gold= (on the command line --gold FILE)")
        truth = self.gold.label[self._known].astype(np.int64)
        return self.said.of_tasks(self._known), truth, float(self.stack.extra["penalty"])

    def _prices(self, prices: Any) -> tuple[F8 | None, float | None]:
        return prices_of(self.votes, self.prices if prices is None else prices)

    def frontier(self, prices: Any = None) -> Frontier:
        """Which judges together, for which price a task (a mapping or table worker, price; without prices each costs
        1); scored on gold that took no part in the choice."""
        return self._usual_frontier if prices is None else self._frontier(prices)

    @cached_property
    def _usual_frontier(self) -> Frontier:
        return self._frontier(None)

    def _frontier(self, prices: Any) -> Frontier:
        said, truth, l2 = self._learning()
        price, _ = self._prices(prices)
        price = np.ones(self.votes.n_workers) if price is None else price
        return frontier(said, truth, price, self.votes.workers, l2, self.seed)

    def marginal(self, prices: Any = None) -> pl.DataFrame:
        """What each judge adds to the others."""
        said, truth, l2 = self._learning()
        assert self.gold is not None
        wrong = wrong_shares(self.said, self.gold.label.astype(np.int64), self._known)
        return marginal_table(said, wrong, truth, self._prices(prices)[0], self.votes.workers, l2, self.seed)

    def next_spend(self, prices: Any = None) -> Spend | None:
        """Verdicts of the judges who are worth their price on more tasks, or labels of people? None where prices of
        judges or of a person are unknown, or gold is too little to choose judges by."""
        price, person = self._prices(prices)
        offers = self.frontier(prices).table.filter(pl.col("chosen")).to_dicts()
        if price is None or person is None or not offers:
            return None
        judged = int((self.votes.labels_per_task > 0).sum())
        return next_spend(min(offers[0]["r2"], 0.999), len(self._known), judged, offers[0]["cost"], person)


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
    """How good, how dependent and how biased judges are, what to believe, and whom to pay.

    `gold` is what people say of some tasks (a mapping or a table task, label): 30 or more make most of this possible.
    `families` (worker -> family, or a table worker, family) says who is related; without it families are looked for.
    `covariates` is a table with a row a task: numbers (a length, a length difference), groups, or `family` (of the
    model that is judged). `prices` (worker -> price, `person` for a person's label) is for `frontier` and `next_spend`.

    >>> import crowdwise as cw
    >>> votes = cw.simulate.scenario("one_coin", tasks=60, workers=5, seed=1)
    >>> cw.judges(votes.annotations, gold=votes.truth_table()).n_eff.n_judges
    5
    """
    votes = with_families(as_annotations(votes), families)
    refuse_gold_of_models(gold, votes)
    known = as_gold(gold, votes)
    said = voices(votes)
    family, family_names, told = families_of(votes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        consensus = DawidSkene(seed=seed).fit(votes).labels.astype(np.int64)
    found = effective(said, known, consensus, LEAST_GOLD, level)
    bias = bias_table(votes, said, known, family_names, covariates)
    people = is_person(votes)
    result, notes = _result(votes, gold, known, family, people, seed)
    sure = [stated(said, known, judge) for judge in range(said.n_judges)]
    price = prices_of(votes, prices)[0]
    return Judges(
        votes=votes,
        gold=known,
        said=said,
        table=judge_table(votes, said, known, family_names, price, result, sure, bias),
        n_eff=found,
        pairs=pair_table(said, known, family, votes.workers.cast(pl.String)),
        bias=bias,
        stack=result,
        alternative=alternative_table(said, people, votes.workers, votes.classes),
        stated=sure,
        family=family,
        families_told=told,
        notes=notes,
        prices=prices,
        seed=seed,
    )


def _result(
    votes: Annotations, gold: Any, known: Gold | None, family: I8, people: npt.NDArray[np.bool_], seed: int
) -> tuple[Result, tuple[str, ...]]:
    """The stack with enough gold, else the vote of families; and what to read beside it."""
    n_gold = 0 if known is None else len(known.known)
    if known is not None and n_gold < LEAST_GOLD:
        raise DataError(
            f"{n_gold} gold labels are too few to judge judges by; give {LEAST_GOLD} or more, or none at all"
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", IdentifiabilityWarning)
        if known is not None:
            result = JudgeStack(seed=seed).fit(votes, gold=gold)
        else:
            groups = [np.flatnonzero(family == g) for g in np.unique(family)]
            named = tuple(tuple(votes.workers[int(w)] for w in g) for g in groups if len(g) > 1)
            result = FamilyVote(groups=named, seed=seed).fit(votes)
    notes = tuple(str(each.message) for each in caught if issubclass(each.category, IdentifiabilityWarning))
    machines = int((~people).sum())
    if known is None and machines >= 2:
        notes += (without_gold(machines),)
    return result, notes
