""""""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.callback import Callback
from ...core.errors import ParameterError
from ...core.method_registry import card, method
from ...core.params import Count, NonNegative, Positive, PositiveShare
from ...core.votes import Votes
from ...em.kernels import many_fits
from ..classes.annotations import Annotations
from ..classes.methods.base import Aggregator, Run
from ..classes.methods.gold import Gold
from ..classes.methods.spread import Solution
from .answers import Sets
from .fitting import SetAggregator, SetSolution
from .maths import Pseudo, SetCrowd, SetModel, SetRows

F8 = npt.NDArray[np.float64]
NO_YES = pl.Series("label", ["no", "yes"])


@dataclass(frozen=True, kw_only=True)
class BinaryRelevance(SetAggregator):
    """Binary relevance: every class is a question of its own, yes or no, answered by a method for classes.

    Any method for classes can answer; what it learns of a worker on one class it does not know on the next, so rare
    classes are judged by little. Boutell et al. (2004), Pattern Recognition 37(9), doi:10.1016/j.patcog.2004.03.009.

    `by` is the name of the method for classes that answers for each class.

    >>> from crowdwise.kinds.sets.kind import set_votes
    >>> votes = set_votes([1, 1, 2, 2], [*"abab"], [["x"], ["x", "y"], ["y"], ["y"]])
    >>> BinaryRelevance(by="majority_vote").fit(votes).posterior.tolist()
    [[1.0, 0.5], [0.0, 1.0]]
    """

    name: ClassVar[str] = "binary_relevance"
    by: str = "hierarchical"

    def __post_init__(self) -> None:
        super().__post_init__()
        own = card(self.by)
        if own.takes != "classes":
            raise ParameterError(f"by must be a method for classes, and {self.by} is for {own.takes}")
        if "gold" in own.needs:
            raise ParameterError(f"by must be a method that needs no gold, and {self.by} does")

    def solve(
        self,
        votes: Votes[Sets],
        rows: SetRows,
        gold: npt.NDArray[np.int8] | None,
        callback: Callback | None,
    ) -> SetSolution:
        """One fit for each class."""
        n, m, k = rows.n_tasks, rows.n_workers, rows.n_classes
        posterior, rate = np.zeros((n, k)), np.zeros(k)
        hits: F8 | None = np.full((m, k), 0.5)
        alarms: F8 | None = np.full((m, k), 0.5)
        passes, settled = 0, True
        for j in range(k):
            with many_fits():
                found = self._one(votes, j, gold)
            posterior[:, j], rate[j] = found.posterior[:, 1], found.class_prior[1]
            passes, settled = max(passes, found.n_iter), settled and found.converged
            if found.confusion is None or hits is None or alarms is None:
                hits = alarms = None
            else:
                hits[:, j], alarms[:, j] = found.confusion[:, 1, 1], found.confusion[:, 0, 1]
            if callback is not None:
                callback(j + 1, float("nan"))
        return SetSolution(posterior, rate, hits, alarms, n_iter=passes, converged=settled)

    def _one(self, votes: Votes[Sets], j: int, gold: npt.NDArray[np.int8] | None) -> Solution:
        yes = said(votes, j)
        own = Annotations(
            votes.task,
            votes.worker,
            yes,
            votes.tasks,
            votes.workers,
            NO_YES,
            weight=votes.weight,
        )
        if votes.answers.menu is not None and votes.answers.menus is not None:
            own = own.take(votes.answers.menus[votes.answers.menu, j])
        known = None
        if gold is not None and (gold[:, j] >= 0).any():
            known = Gold(np.where(gold[:, j] >= 0, gold[:, j], 2).astype(np.int32), 2)
        asked: Aggregator = method(self.by, seed=self.seed)
        return asked.answer(own, known, Run())  # what it says of the tasks; skills of each class are not wanted


def said(votes: Votes[Sets], j: int) -> npt.NDArray[np.int32]:
    """Whether each row names class j."""
    yes = np.zeros(len(votes), dtype=np.int32)
    yes[votes.answers.row[votes.answers.code == j]] = 1
    return yes


# EM passes at one prior; the passes of a round never lower that round's objective.
PASSES = 5
# Rounds in which shifts and strengths are learnt; later ones would only trade places between neighbours on the grid.
LEARNING = 40


@dataclass(frozen=True, kw_only=True)
class JointSets(SetAggregator):
    """Joint sets: hits and false alarms of each worker and class, where classes and workers share what they can.

        member[i, k] ~ Bernoulli(rate[k]),   named[w, i, k] ~ Bernoulli(hits[w, k] if member[i, k] else alarms[w, k])
        hits[w, k] ~ Beta(strength[k] · m[w, k]),   logit m[w, k] = logit(pooled hits of class k) + shift[w]

    and the same for alarms. A class that is easy to miss is so for everybody, a worker who names little does so for
    every class: the shift carries what is learnt of a worker on common classes over to rare ones. Hierarchical
    Dawid-Skene for each class, joined by the shifts; logit effects as in Carpenter (2008), Multilevel Bayesian
    models of categorical data annotation.

    Rounds of EM at fixed priors, each followed by learning shifts and strengths from the expected counts. Fails
    where classes exclude or demand each other: each is judged by itself given the workers. `shifts=False` leaves the
    workers' shifts out.

    Ends when no probability moves by more than `tol` in a round, or after `max_iter` passes.

    `prior_strength` (answers) is the weight of what is believed of a class before it is first named, `prior_rate`
    (tasks) that of a class being in half of all sets; `shifts` lets workers name more or less than the crowd.

    >>> from crowdwise.kinds.sets.kind import set_votes
    >>> votes = set_votes([1, 1, 2, 2], [*"abab"], [["x"], ["x", "y"], ["y"], ["y"]])
    >>> JointSets().fit(votes).sets
    [['x'], ['y']]
    """

    name: ClassVar[str] = "joint_sets"
    calibrates: ClassVar[bool] = True
    max_iter: Count = 1000
    tol: NonNegative = 1e-3
    prior_strength: Positive = 1.25
    prior_rate: Positive = 1.0
    shifts: bool = True

    def solve(
        self,
        votes: Votes[Sets],  # noqa: ARG002
        rows: SetRows,
        gold: npt.NDArray[np.int8] | None,
        callback: Callback | None,
    ) -> SetSolution:
        """Rounds of EM, each under the prior that the last round's counts call for."""
        model = SetModel(rows, gold)
        posterior = model.clamp(rows.shares())
        crowd = SetCrowd.start(rows.n_workers, rows.n_classes)
        counts = model.counts(posterior)
        trace: list[float] = []
        stage: list[int] = []
        passes, settled, turn = 0, False, 0
        while passes < self.max_iter and not settled:
            if turn < LEARNING:  # then the prior stands, and EM settles under it
                crowd = crowd.learn(counts, self.prior_strength, shifts=self.shifts)
            pseudo, before = crowd.pseudo(self.prior_rate), posterior
            for _ in range(min(PASSES, self.max_iter - passes)):
                rates = model.rates(counts, pseudo)
                posterior, objective = model.posterior(rates, pseudo)
                counts = model.counts(posterior)
                trace.append(objective)
                stage.append(turn)
                passes += 1
            settled = turn > 0 and float(np.abs(posterior - before).max(initial=0.0)) <= self.tol
            turn += 1
            if callback is not None:
                callback(passes, trace[-1])
        extra = {"strength_hits": crowd.hits.strength, "strength_alarms": crowd.alarms.strength}
        extra |= {"shift_hits": crowd.hits.shift, "shift_alarms": crowd.alarms.shift}
        return SetSolution(
            posterior, rates.rate, rates.hits, rates.alarms, np.array(trace), np.array(stage), passes, settled, extra
        )


@dataclass(frozen=True, kw_only=True)
class SetCoin(SetAggregator):
    """One coin pair: a worker names what is true with one probability and what is not with another, whatever the class.

        member[i, k] ~ Bernoulli(rate[k]),   named[w, i, k] ~ Bernoulli(hits[w] if member[i, k] else alarms[w])

    Two numbers a worker suffice where classes are alike and answers few. Fails where some classes are missed by
    everybody. The two-coin model of Raykar et al. (2010), jmlr v11/raykar10a, over all classes at once.

    Ends when no probability moves by more than `tol`, or after `max_iter` passes.

    `prior_strength` (answers) is the weight of what is believed of a worker before their first answer: 8 in 10 hits,
    and false alarms as often as a class is named at all; `prior_rate` (tasks) that of a class being in half the sets.

    >>> from crowdwise.kinds.sets.kind import set_votes
    >>> votes = set_votes([1, 1, 2, 2], [*"abab"], [["x"], ["x", "y"], ["y"], ["y"]])
    >>> SetCoin().fit(votes).sets[1]
    ['y']
    """

    name: ClassVar[str] = "set_coin"
    max_iter: Count = 500
    tol: NonNegative = 1e-5
    prior_strength: Positive = 2.0
    prior_rate: Positive = 1.0

    def solve(
        self,
        votes: Votes[Sets],  # noqa: ARG002
        rows: SetRows,
        gold: npt.NDArray[np.int8] | None,
        callback: Callback | None,
    ) -> SetSolution:
        """EM from the shares of the answers."""
        model = SetModel(rows, gold, tied=True)
        posterior = model.clamp(rows.shares())
        offered = float(rows.offered.sum())
        usual = min(float(rows.said.sum()) / offered, 0.2) if offered else 0.2
        yes, no = self.prior_strength * 0.8, self.prior_strength * 0.2
        low = self.prior_strength * max(usual, 1e-3)
        each = [np.asarray(count) for count in (yes, no, low, self.prior_strength - low)]
        pseudo = Pseudo(each[0], each[1], each[2], each[3], self.prior_rate)
        trace: list[float] = []
        settled = False
        while len(trace) < self.max_iter and not settled:
            rates = model.rates(model.counts(posterior), pseudo)
            before = posterior
            posterior, objective = model.posterior(rates, pseudo)
            settled = float(np.abs(posterior - before).max(initial=0.0)) <= self.tol
            trace.append(objective)
            if callback is not None:
                callback(len(trace), objective)
        hits, alarms = (np.array(each) for each in model.full(rates))
        stage = np.zeros(len(trace), dtype=np.int64)
        return SetSolution(posterior, rates.rate, hits, alarms, np.array(trace), stage, len(trace), settled)


@dataclass(frozen=True, kw_only=True)
class SetMajority(SetAggregator):
    """Majority by class: a class is in the set where enough of those who could name it did.

        posterior[i, k] = named / offered,   in the set from `cut` on

    Fails where workers rarely name all that is true: half of them may then never come together. A lower `cut` helps,
    but how low cannot be told without some truth.

    A class is in the set where a share of at least `cut` (0..1) of the answers names it.

    >>> from crowdwise.kinds.sets.kind import set_votes
    >>> votes = set_votes([1, 1, 1], ["a", "b", "c"], [["x", "y"], ["x"], ["x"]])
    >>> SetMajority().fit(votes).sets
    [['x']]
    """

    name: ClassVar[str] = "set_majority"
    cut: PositiveShare = 0.5

    def solve(
        self,
        votes: Votes[Sets],  # noqa: ARG002
        rows: SetRows,
        gold: npt.NDArray[np.int8] | None,  # noqa: ARG002
        callback: Callback | None,  # noqa: ARG002
    ) -> SetSolution:
        """Shares of the answers."""
        shares = rows.shares()
        heard = rows.asked > 0
        mass: Any = np.where(heard, shares, 0.0).sum(axis=0) / np.maximum(heard.sum(axis=0), 1)
        return SetSolution(shares, np.asarray(mass))
