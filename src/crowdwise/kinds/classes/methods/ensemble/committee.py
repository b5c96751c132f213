"""Committee: an average of several methods, weighted equally or by the likelihood of held-out labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np

from .....core import method_registry as registry
from .....core.arrays import F8
from .....core.errors import ParameterError
from .....core.params import MethodName, MethodNames, NonNegative, Share
from .....core.result import FitTrace
from .....em.kernels import Workspace, many_fits, stats_of, transposed
from .....em.loop import plus
from .....em.rows import row_weights
from .....em.sources import GoldCodes
from ...annotations import Annotations
from ..base import Aggregator, PartitionedAggregator, SolveOptions
from ..gold import GoldLabels
from ..held_out import held_out, shrunk, splits
from ..partitioned import FitState, PartitionedVotes, Predictor, Solution, SolutionPredictor, with_columns
from ..requirements import affordable, too_sparse
from .pool import PosteriorPool, expectation, tuned

# ----------------------------------------------------------------
# Held-out likelihood of methods on votes in parts. The folds are those of `kinds/classes/methods/held_out.py`, drawn
# within each part: all labels of a task are in one part. They depend on the parts only, not on the executor.

# Floor of likelihoods before their logarithm is taken.
LEAST = 1e-12


@dataclass(frozen=True)
class TrainingRows:
    """A transform of parts that removes the rows of the held-out fold."""

    seed: int

    def __call__(self, part: Annotations, gold: GoldCodes | None) -> tuple[Annotations, GoldCodes | None]:
        """Return the training rows."""
        return self.split(part)[0], gold

    def split(self, part: Annotations) -> tuple[Annotations, Annotations]:
        """Return the training rows and the held-out rows; every task keeps a label."""
        part = with_columns(part)
        folds = splits(part, seed=self.seed, enough=1)
        empty = np.empty(0, dtype=np.int64)
        train, test = folds[0] if folds else (np.arange(len(part)), empty)
        return part.take(train), part.take(test)


def predicted(learn: Callable[[PartitionedVotes], FitState], data: PartitionedVotes, seed: int) -> tuple[float, float]:
    """Return the mean log-likelihood of the held-out labels under a method fitted to the others, and their weight."""
    training_rows = TrainingRows(seed)
    train = data.transformed(training_rows)
    predictor = learn(train).predictor
    confusion = shrunk(train.sum(partial(_counts, predictor), plus))
    total, weight = data.sum(partial(_scored, predictor, training_rows, confusion), plus)
    return float(total / weight) if weight else 0.0, float(weight)


def _counts(predictor: Predictor, space: Workspace) -> F8:
    return stats_of(space, predictor(space).posterior).counts


def _scored(predictor: Predictor, training_rows: TrainingRows, confusion: F8, space: Workspace) -> F8:
    """Return the summed log-likelihood of a part's held-out labels, and their weight."""
    train, test = training_rows.split(cast(Annotations, space.shard))
    posterior = predictor(Workspace.of(train, space.gold, space.compiled, space.first)).posterior
    likelihood = np.einsum("rk,rk->r", posterior[test.task], confusion[test.worker, test.label])
    weight = row_weights(test)
    return np.array([weight @ np.log(np.maximum(likelihood, LEAST)), weight.sum()])


EVEN = "_even"
# The method whose confusion matrices can represent any counts.
FREE_ROWS = "hierarchical"
# Pseudo-tasks per class that make the class prior uniform.
EVEN_PRIOR = 1e6
EARLY, TEMPERED, BRIEF = "hierarchical_early", "hierarchical_tempered", "hierarchical_brief"
# Methods with other parameters, by their names in an ensemble.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    EARLY: ("hierarchical", {"max_iter": 2, "prior_class": 50.0}),
    TEMPERED: ("hierarchical", {"max_iter": 2, "prior_class": EVEN_PRIOR, "dependence": 0.3}),
    BRIEF: ("hierarchical", {"max_iter": 10}),
    "mace_once": ("mace", {"n_init": 1}),
    "mace_brief": ("mace", {"n_init": 1, "max_iter": 4}),
    "one_coin_brief": ("one_coin", {"max_iter": 4}),
}
MEMBERS = ("majority_vote", "wawa", EARLY, "mace_once", TEMPERED)
# Held-out scores count for at most this share of the number of held-out annotations.
SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class Committee(PartitionedAggregator):
    """Committee: the average of a few methods that fail in different ways, with confidence learnt over many crowds.

        pool      = (1 - lean) · mean over members of posterior_m + lean · posterior of `model`
        posterior = pool, calibrated by a shipped table                    (confidence.py)

    Methods are overconfident when they fail, and then they disagree, which lowers the confidence of the average. The
    members:

        majority_vote           vote shares
        wawa                    a weighted vote: accurate workers weigh more, clear majorities stay
        hierarchical_early      confusion matrices after two passes of EM: the first passes learn most of the matrices,
                                drift of the classes away from the meaning of the labels comes with later ones
        mace_once               workers who know or spam, started from the votes
        hierarchical_tempered   matrices with the labels of a task tempered as dependent, and a uniform class prior

    All of them estimate more uniform class frequencies than a converged model. With uneven classes the converged
    `model` therefore replaces them: `lean` grows from 0 to 1 as the entropy of its class prior falls from .75 to .65 of
    the maximum, if the votes are uneven too and have the same most frequent class (otherwise the model has drifted).
    Members have equal weights; with `evidence` > 0 they are weighted by the likelihood of held-out annotations
    (kinds/classes/methods/held_out.py), which gained nothing on 58 sets. Expected counts are those of `model` or of
    mace, whichever agrees better with the pool; `extra["speaker"]` names it. Only the matrices of hierarchical are used
    as they are: a model with fewer parameters (mace: one accuracy and one distribution of wrong labels) cannot
    represent all counts, so its matrices are estimated again from its expected counts.
    Linear opinion pool: Stone (1961), Annals of Mathematical Statistics 32(4), doi:10.1214/aoms/1177704873.
    Early stopping as regularisation: Yao, Rosasco & Caponnetto (2007), doi:10.1007/s00365-006-0663-2. Fails where
    all members fail together: when most of the crowd makes the same errors, or copies.

    `members` are registry names or variants of them ("one_coin_even": classes equally likely).

    `model` replaces the members where classes are uneven. `calibrated` takes the confidence from the shipped table;
    without it a uniform distribution is mixed in with the weight `doubt` (0 to 1). `evidence` (0 and up) is the number
    of annotations that a held-out score counts for. With one label per task only members that keep single labels are
    used, with `prior=` only those that support it.

    Args:
        members: Names of the methods or variants whose posteriors are averaged.
        model: Name of the method that replaces the members where classes are uneven.
        evidence: Maximum number of annotations that a held-out score counts for; 0 gives equal weights, and larger
            values favour the members that predict held-out annotations best.
        doubt: Weight of the uniform distribution if not `calibrated`; 0 leaves the average unchanged.
        calibrated: Whether the confidence is calibrated by the shipped table.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> Committee().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "committee"
    calibrates: ClassVar[bool] = True
    members: MethodNames = MEMBERS
    model: MethodName = "hierarchical"
    evidence: NonNegative = 0.0
    doubt: Share = 0.02
    calibrated: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("members", self.members, self.seed)
        variant(self.model, self.seed)

    def learn(self, data: PartitionedVotes, options: SolveOptions) -> FitState:
        """Fit the members and the model and average them; the one closest to the pool gives the worker estimates."""
        data = data.for_many_fits()
        members = affordable(self._eligible_members(data, options), data, plain_name)
        with many_fits():
            weight = self._weights(members, data, options)
            names = members if too_sparse(data) else dict.fromkeys((*members, self.model))
            states = {m: learn_method(m, self.seed, data, options) for m in names}
        pool = PosteriorPool(
            {m: state.predictor for m, state in states.items()},
            weight,
            self.model if self.model in states else None,
            doubt=None if self.calibrated else self.doubt,
        )
        pool = tuned(data, pool)
        sums = data.sum(pool.sums, plus)
        # Rounded, so that equal agreement does not depend on the order of a sum.
        agrees = {m: round(float(n) / data.n_tasks, 9) for m, n in zip(states, sums.agrees, strict=True)}
        # The average is less confident than its members, so it would underestimate the workers. They are scored by one
        # method (not by the early or tempered one, under which workers differ too little); the difference to the early
        # matrices enters the intervals.
        candidates = [m for m in states if states[m].confusion is not None and m not in (EARLY, TEMPERED)]
        scorer = max(candidates, key=agrees.__getitem__, default=None)
        worker_state = None if scorer is None else states[scorer]
        worker_members = [m for m, state in states.items() if state.confusion is not None and m in (scorer, EARLY)]
        pool = replace(pool, worker_members=tuple(m for m in dict.fromkeys((scorer, *worker_members)) if m is not None))
        return FitState(
            predictor=pool,
            n_worker_posteriors=len(pool.worker_members),
            class_prior=sums.mass / data.n_tasks,
            confusion=None if worker_state is None else free_confusion(str(scorer), worker_state),
            counts=None if worker_state is None else worker_state.counts,
            n_iter=sum(state.n_iter for state in states.values()),
            extra={
                "weight": weight,
                "lean": pool.lean,
                "skill": pool.skill,
                "agreement": agrees,
                "speaker": scorer,
                "unsettled": [m for m, state in states.items() if not state.converged and m not in VARIANTS],
                **(expectation(sums) if self.calibrated else {}),
            },
        )

    def _eligible_members(self, data: PartitionedVotes, options: SolveOptions) -> list[str]:
        """Return the members; with one label per task only those that keep it, with a prior those that support it."""
        members = supporting_prior("members", self.members, options)
        if data.single_label and not data.has_gold and not has_prior(options):
            return [m for m in members if method_can(m, "single")] or ["majority_vote"]
        return members

    def _weights(self, members: list[str], data: PartitionedVotes, options: SolveOptions) -> dict[str, float]:
        """Return the weights of the members by the likelihood of one held-out fold; equal if nothing is held out."""
        score, n_held_out = np.zeros(len(members)), 0.0
        if self.evidence > 0 and len(members) > 1 and not too_sparse(data):
            score, n_held_out = self._scores(members, data, options)
        weight = np.exp(min(self.evidence, SHARE * n_held_out) * (score - score.max()))
        return dict(zip(members, (weight / weight.sum()).tolist(), strict=True))

    def _scores(self, members: list[str], data: PartitionedVotes, options: SolveOptions) -> tuple[F8, float]:
        """Return the mean log-likelihood of the held-out labels under each member, and their number."""
        if data.in_memory is None:
            predictions = [
                predicted(partial(learn_method, m, self.seed, options=options), data, self.seed) for m in members
            ]
            return np.array([score for score, _ in predictions]), predictions[0][1]
        votes, gold = data.in_memory
        if not splits(votes, enough=1):
            return np.zeros(len(members)), 0.0
        scores = [
            held_out(partial(solve_method, m, self.seed, gold, options), votes, seed=self.seed, enough=1)
            for m in members
        ]
        return np.array([score.score for score in scores]), float(scores[0].weight.sum())


def free_confusion(name: str, state: FitState) -> F8 | None:
    """Return confusion[worker, true, observed] that can represent the method's expected counts."""
    if plain_name(name) == FREE_ROWS or state.counts is None:
        return state.confusion
    # One M-step: the expected counts, shrunk to the crowd's confusion matrix.
    return transposed(shrunk(state.counts.transpose(0, 2, 1)))


def check_names(parameter: str, names: Sequence[str], seed: int) -> None:
    """Raise unless a parameter names methods or variants that can be part of an ensemble."""
    if not names or {"committee", "auto"} & set(names):
        raise ParameterError(f"{parameter} must name at least one method, neither committee nor auto, got {names!r}")
    for name in names:
        variant(name, seed)


def has_prior(options: SolveOptions) -> bool:
    """Whether the fit has counts of earlier projects."""
    return options.prior is not None and bool(options.prior.any())


def supporting_prior(parameter: str, names: Sequence[str], options: SolveOptions) -> list[str]:
    """Return the methods; with a prior only those that support it, and an error if there are none."""
    supporting = [name for name in names if not has_prior(options) or method_can(name, "prior")]
    if not supporting:
        raise ParameterError(f"none of the {parameter} can use prior=, got {', '.join(names)}")
    return supporting


def variant(name: str, seed: int) -> Aggregator:
    """Return a method by its registry name or that of a variant; the suffix "_even" fixes a uniform class prior."""
    if name in VARIANTS:
        plain, params = VARIANTS[name]
        result: Aggregator = registry.method(plain, seed=seed, **params)
        return result
    plain = name.removesuffix(EVEN)
    if "gold" in registry.card(plain).needs:
        raise ParameterError(f"{name} needs gold labels, so it cannot be part of an ensemble")
    parameters: dict[str, Any] = {"seed": seed}
    if name != plain:
        if "prior_class" not in {f.name for f in fields(registry.get(plain))}:
            raise ParameterError(f"{plain} has no class prior that could be made even, got {name!r}")
        parameters["prior_class"] = EVEN_PRIOR
    method: Aggregator = registry.method(plain, **parameters)
    return method


def learn_method(name: str, seed: int, data: PartitionedVotes, options: SolveOptions) -> FitState:
    """Fit a method or variant; one that cannot work in parts is given all votes at once."""
    method, options = variant(name, seed), options if method_can(name, "prior") else replace(options, prior=None)
    if isinstance(method, PartitionedAggregator):
        return method.learn(data, options)
    solution = method.fit_solution(*data.require_in_memory(name), options)
    trace = {column.name: getattr(solution, column.name) for column in fields(FitTrace)}
    return FitState(
        predictor=SolutionPredictor(solution),
        class_prior=solution.class_prior,
        confusion=solution.confusion,
        counts=solution.counts,
        **trace,
    )


def solve_method(
    name: str, seed: int, gold: GoldLabels | None, options: SolveOptions, annotations: Annotations
) -> Solution:
    """Fit a method or variant to votes in memory, with the prior if it supports one."""
    return variant(name, seed).fit_solution(
        annotations, gold, options if method_can(name, "prior") else replace(options, prior=None)
    )


def method_can(name: str, ability: str) -> bool:
    """Whether the card of a method, or of the method that a variant is based on, lists an ability."""
    return ability in registry.card(plain_name(name)).can


def plain_name(name: str) -> str:
    """Return the method that a variant is based on."""
    return VARIANTS[name][0] if name in VARIANTS else name.removesuffix(EVEN)
