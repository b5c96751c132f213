"""Methods for label sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8
from ...core.callback import Callback
from ...core.errors import ParameterError
from ...core.method_registry import card, method
from ...core.params import Count, NonNegative, Positive, PositiveShare
from ...core.votes import Votes
from ...em.kernels import many_fits
from ..classes.annotations import Annotations
from ..classes.methods.base import Aggregator, SolveOptions
from ..classes.methods.gold import GoldLabels
from ..classes.methods.partitioned import Solution
from .answers import Sets
from .fitting import SetAggregator, SetSolution
from .maths import CrowdPrior, Pseudo, SetModel, SetRows

NO_YES = pl.Series("label", ["no", "yes"])


@dataclass(frozen=True, kw_only=True)
class BinaryRelevance(SetAggregator):
    """Binary relevance: each class is a separate yes/no question, fitted by a method for classes.

    What is learned about a worker on one class does not inform the others, so rare classes are estimated from little
    data. Boutell et al. (2004), Pattern Recognition 37(9), doi:10.1016/j.patcog.2004.03.009.

    `by` is the name of the method for classes that fits each class.

    Args:
        by: Name of the method for classes that fits each class; methods that need gold are refused.

    >>> import crowdwise as cw
    >>> votes = cw.sets.set_votes([1, 1, 2, 2], [*"abab"], [["x"], ["x", "y"], ["y"], ["y"]])
    >>> cw.sets.BinaryRelevance(by="majority_vote").fit(votes).posterior.tolist()
    [[1.0, 0.5], [0.0, 1.0]]
    """

    name: ClassVar[str] = "binary_relevance"
    by: str = "hierarchical"

    def __post_init__(self) -> None:
        super().__post_init__()
        base_card = card(self.by)
        if base_card.takes != "classes":
            raise ParameterError(f"by must be a method for classes, but {self.by} is for {base_card.takes}")
        if "gold" in base_card.needs:
            raise ParameterError(f"by must be a method that needs no gold, but {self.by} needs it")

    def solve(
        self,
        votes: Votes[Sets],
        rows: SetRows,
        gold: npt.NDArray[np.int8] | None,
        callback: Callback | None,
    ) -> SetSolution:
        """Fit each class separately."""
        n, m, k = rows.n_tasks, rows.n_workers, rows.n_classes
        posterior, rate = np.zeros((n, k)), np.zeros(k)
        hits: F8 | None = np.full((m, k), 0.5)
        alarms: F8 | None = np.full((m, k), 0.5)
        passes, converged = 0, True
        for j in range(k):
            with many_fits():
                solution = self._one(votes, j, gold)
            posterior[:, j], rate[j] = solution.posterior[:, 1], solution.class_prior[1]
            passes, converged = max(passes, solution.n_iter), converged and solution.converged
            if solution.confusion is None or hits is None or alarms is None:
                hits = alarms = None
            else:
                hits[:, j], alarms[:, j] = solution.confusion[:, 1, 1], solution.confusion[:, 0, 1]
            if callback is not None:
                callback(j + 1, float("nan"))
        return SetSolution(posterior, rate, hits, alarms, n_iter=passes, converged=converged)

    def _one(self, votes: Votes[Sets], j: int, gold: npt.NDArray[np.int8] | None) -> Solution:
        yes = names_class(votes, j)
        annotations = Annotations(
            votes.task,
            votes.worker,
            yes,
            votes.tasks,
            votes.workers,
            NO_YES,
            weight=votes.weight,
        )
        if votes.answers.menu is not None and votes.answers.menus is not None:
            annotations = annotations.take(votes.answers.menus[votes.answers.menu, j])
        class_gold = None
        if gold is not None and (gold[:, j] >= 0).any():
            class_gold = GoldLabels(np.where(gold[:, j] >= 0, gold[:, j], 2).astype(np.int32), 2)
        base_method: Aggregator = method(self.by, seed=self.seed)
        return base_method.fit_solution(
            annotations, class_gold, SolveOptions()
        )  # only the estimates are needed, not the skills


def names_class(votes: Votes[Sets], j: int) -> npt.NDArray[np.int32]:
    """Return whether each row names class j."""
    yes = np.zeros(len(votes), dtype=np.int32)
    yes[votes.answers.row[votes.answers.code == j]] = 1
    return yes


# EM iterations per round. Within a round, at a fixed prior, the objective never decreases.
PASSES = 5
# Rounds in which shifts and strengths are updated; later updates would only alternate between neighbours on the grid.
PRIOR_ROUNDS = 40


@dataclass(frozen=True, kw_only=True)
class JointSets(SetAggregator):
    """Joint sets: hits and false alarms of each worker and class, with priors shared across classes and workers.

        member[i, k] ~ Bernoulli(rate[k]),   named[w, i, k] ~ Bernoulli(hits[w, k] if member[i, k] else alarms[w, k])
        hits[w, k] ~ Beta(strength[k] · m[w, k]),   logit m[w, k] = logit(pooled hits of class k) + shift[w]

    and the same for alarms. Classes that are easy to miss are missed by all workers, and workers who name few classes
    do so for every class: the shift transfers what is learned about a worker from common classes to rare ones.
    Hierarchical Dawid-Skene for each class, joined by the shifts; logit effects as in Carpenter (2008), Multilevel
    Bayesian models of categorical data annotation.

    Rounds of EM at fixed priors alternate with updates of shifts and strengths from the expected counts. Fails if
    classes exclude or imply each other, since classes are independent given the workers.

    It stops when no probability changes by more than `tol` in a round, or after `max_iter` iterations.

    `prior_strength` (in answers) is the weight of the prior guess of a class's rates, `prior_rate` (in tasks) that of
    the prior guess that a class is in half of all sets; `shifts=False` removes the workers' shifts.

    Args:
        max_iter: Maximum number of EM iterations.
        tol: Largest change of a probability in a round at which EM stops.
        prior_strength: Pseudo-answers in the crowd's rates of each class; larger values pull hits to .8 and false
            alarms to the rate at which classes are named, at most .2.
        prior_rate: Pseudo-tasks with, and as many without, each class; larger values pull its frequency to one half.
        shifts: Whether each worker has a shift of hits and one of false alarms that all classes share.

    >>> import crowdwise as cw
    >>> votes = cw.sets.set_votes([1, 1, 2, 2], [*"abab"], [["x"], ["x", "y"], ["y"], ["y"]])
    >>> cw.sets.JointSets().fit(votes).sets
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
        """Run rounds of EM, each under the prior updated from the counts of the previous round."""
        model = SetModel(rows, gold)
        posterior = model.clamp(rows.shares())
        crowd = CrowdPrior.start(rows.n_workers, rows.n_classes)
        counts = model.counts(posterior)
        trace: list[float] = []
        stage: list[int] = []
        passes, converged, turn = 0, False, 0
        while passes < self.max_iter and not converged:
            if turn < PRIOR_ROUNDS:  # afterwards the prior is fixed, so that EM converges
                crowd = crowd.update(counts, self.prior_strength, shifts=self.shifts)
            pseudo, before = crowd.pseudo(self.prior_rate), posterior
            for _ in range(min(PASSES, self.max_iter - passes)):
                rates = model.rates(counts, pseudo)
                posterior, objective = model.posterior(rates, pseudo)
                counts = model.counts(posterior)
                trace.append(objective)
                stage.append(turn)
                passes += 1
            converged = turn > 0 and float(np.abs(posterior - before).max(initial=0.0)) <= self.tol
            turn += 1
            if callback is not None:
                callback(passes, trace[-1])
        extra = {"strength_hits": crowd.hits.strength, "strength_alarms": crowd.alarms.strength}
        extra |= {"shift_hits": crowd.hits.shift, "shift_alarms": crowd.alarms.shift}
        return SetSolution(
            posterior,
            rates.rate,
            rates.hits,
            rates.alarms,
            trace=np.array(trace),
            stage=np.array(stage),
            n_iter=passes,
            converged=converged,
            extra=extra,
        )


@dataclass(frozen=True, kw_only=True)
class SetCoin(SetAggregator):
    """One hit rate and one false-alarm rate per worker, the same for all classes.

        member[i, k] ~ Bernoulli(rate[k]),   named[w, i, k] ~ Bernoulli(hits[w] if member[i, k] else alarms[w])

    Two parameters per worker suffice if classes are similar and answers few. Fails if some classes are missed by all
    workers. The two-coin model of Raykar et al. (2010), jmlr v11/raykar10a, over all classes at once.

    It stops when no probability changes by more than `tol`, or after `max_iter` iterations.

    `prior_strength` (in answers) is the weight of the prior guess of a worker's rates: 8 in 10 hits, and false alarms
    as often as classes are named at all; `prior_rate` (in tasks) that of the prior guess that a class is in half of all
    sets.

    Args:
        max_iter: Maximum number of EM iterations.
        tol: Largest change of a probability at which EM stops.
        prior_strength: Pseudo-answers in each worker's rates; larger values pull hits to .8 and false alarms to the
            rate at which classes are named, at most .2.
        prior_rate: Pseudo-tasks with, and as many without, each class; larger values pull its frequency to one half.

    >>> import crowdwise as cw
    >>> votes = cw.sets.set_votes([1, 1, 2, 2], [*"abab"], [["x"], ["x", "y"], ["y"], ["y"]])
    >>> cw.sets.SetCoin().fit(votes).sets[1]
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
        """Run EM from the shares of the answers."""
        model = SetModel(rows, gold, tied=True)
        posterior = model.clamp(rows.shares())
        offered = float(rows.offered_to_worker.sum())
        usual = min(float(rows.named_by_worker.sum()) / offered, 0.2) if offered else 0.2
        yes, no = self.prior_strength * 0.8, self.prior_strength * 0.2
        low = self.prior_strength * max(usual, 1e-3)
        pseudo_counts = [np.asarray(count) for count in (yes, no, low, self.prior_strength - low)]
        pseudo = Pseudo(pseudo_counts[0], pseudo_counts[1], pseudo_counts[2], pseudo_counts[3], self.prior_rate)
        trace: list[float] = []
        converged = False
        while len(trace) < self.max_iter and not converged:
            rates = model.rates(model.counts(posterior), pseudo)
            before = posterior
            posterior, objective = model.posterior(rates, pseudo)
            converged = float(np.abs(posterior - before).max(initial=0.0)) <= self.tol
            trace.append(objective)
            if callback is not None:
                callback(len(trace), objective)
        hits, alarms = (np.array(pseudo_counts) for pseudo_counts in model.full(rates))
        return SetSolution(
            posterior, rates.rate, hits, alarms, trace=np.array(trace), n_iter=len(trace), converged=converged
        )


@dataclass(frozen=True, kw_only=True)
class SetMajority(SetAggregator):
    """Majority per class: a class is in the set if enough of the workers who could name it did.

        posterior[i, k] = named / offered,   in the set if at least `cut`

    Fails if workers rarely name all true classes, so that true classes do not reach a majority. A lower `cut` helps,
    but choosing it requires some gold.

    A class is in the set if a share of at least `cut` (0..1) of the answers names it.

    Args:
        cut: Minimum share of the answers that name a class of the set; smaller values give larger sets.

    >>> import crowdwise as cw
    >>> votes = cw.sets.set_votes([1, 1, 1], ["a", "b", "c"], [["x", "y"], ["x"], ["x"]])
    >>> cw.sets.SetMajority().fit(votes).sets
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
        """Take the shares of the answers."""
        shares = rows.shares()
        is_offered = rows.offered_in_task > 0
        mass: Any = np.where(is_offered, shares, 0.0).sum(axis=0) / np.maximum(is_offered.sum(axis=0), 1)
        return SetSolution(shares, np.asarray(mass))
