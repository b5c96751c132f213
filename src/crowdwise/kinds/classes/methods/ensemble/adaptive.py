"""Adaptive: between a robust average and model-based posteriors, by whether the crowd's errors are independent.

    posterior = (1 - g) · committee + g · ((1 - d) · M + d / K)
    M         = half leave-one-out model, half likelihood-weighted average of six methods
    g         = probability that the evidence power b is above POWER

**Evidence power.** Every label is predicted from the other labels of its task (kinds/classes/maths/leave_out.py). The
power b at which their likelihood predicts best is 1 if errors are independent given the class, and lower if the labels
of a task share errors: two labels then carry less than twice the evidence of one. On simulated crowds of independent
workers b is about 1, on real crowds with many labels per task mostly .1 to .7. With a high b the models' confidence is
justified, with a low b only the robust average is safe. A few tasks do not determine b, so its likelihood is combined
with a prior fitted to real crowds.

**Copies.** Workers who copy each other are detected by excess agreement on doubtful labels
(kinds/classes/maths/copying.py). In every method, the votes of such a group on one task have the total weight of one
vote.

**Doubt.** d = DOUBT / K^1.5, at least that of the committee: a label on which the workers agree may still be wrong, and
more often with fewer classes.

**The model.** Confusion matrices, estimated in two steps from `hierarchical_early`, with a shrinkage chosen for each
worker by the likelihood of the worker's labels. The six methods are weighted by exp(EVIDENCE · log-likelihood of the
left-out labels), which removes methods that have drifted. Vote shares are no probabilities, so a voting method of
weight w enters with w (1 - w) as it is and with w² through its own leave-one-out model, whose likelihood determines w.

With one label per task, with `prior=`, or with too many classes for confusion matrices, this is `committee`.
Fails if most of a crowd makes the same errors, which no test without truth detects.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .....core.arrays import F8, I4, I8
from .....em.kernels import Workspace, many_fits, stats_of, transposed
from .....em.loop import Additive, plus
from ...maths.leave_out import LeaveOutTables, Predictions, fit_mixture, posterior_of, predictions
from ..base import PartitionedAggregator, SolveOptions
from ..partitioned import (
    FitState,
    PartitionedVotes,
    PartPosterior,
    Predictor,
    Solution,
    SolutionPredictor,
    TransformedPredictor,
    apply_predictor,
    clamped,
)
from ..requirements import too_sparse
from .committee import BRIEF, EARLY, MEMBERS, Committee, has_prior, learn_method
from .confidence import DOUBT as LEAST_DOUBT
from .confidence import shipped
from .copy_groups import GroupWeights, find_groups, group_codes
from .independence import EvidencePower, dispersion, tables_of
from .pool import PosteriorPool, tuned

if TYPE_CHECKING:
    from .....core.result import Result
    from ...annotations import Annotations


MODEL = "hierarchical"
VOTING = ("majority_vote", "wawa")
AVERAGED = (*VOTING, EARLY, "mace_once", MODEL, "one_coin")
# From this many labels × classes on, methods run few passes only, because later passes no longer change labels.
LARGE = 20_000_000
BRIEF_VARIANT = {MODEL: BRIEF, "mace_once": "mace_brief", "one_coin": "one_coin_brief"}
EVIDENCE = 0.02
# The robust average is not computed if the models have more than this weight, a method not below this weight.
MODELS_ONLY, NEGLIGIBLE = 0.98, 1e-4
DOUBT = 0.6
# Labels × classes used by the tests; of larger data they use a sample of the tasks.
MOST_CELLS = 4_000_000


@dataclass(frozen=True, kw_only=True)
class Adaptive(PartitionedAggregator):
    """Adaptive, the default: a weighted average of the robust committee and of model-based posteriors.

    The weight is the probability that the errors of different workers are independent given the class. Fails if most of
    a crowd makes the same errors, which no test without truth detects.

    Args:
        seed: Seed for ties and for the methods that are averaged.
        copies: Whether to detect groups of workers who copy each other, each of which then counts as one vote per task.

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> Adaptive().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "adaptive"
    calibrates: ClassVar[bool] = True
    copies: bool = True

    def learn(self, data: PartitionedVotes, options: SolveOptions) -> FitState:
        """Fit the methods, fit them again with copies down-weighted, then weight the average and the models."""
        data = data.for_many_fits()
        if not self._testable(data, options):
            return Committee(seed=self.seed).learn(data, options)
        with many_fits():
            # If there are copies, all methods are fitted again, so on large data the cheapest one is used here.
            first = EARLY if len(data) * data.n_classes >= LARGE else MODEL
            model = self._learn(first, data, options)
            groups = find_groups(data, model.predictor, model.counts) if self.copies and data.n_workers > 2 else []
            if not groups:
                return self._weigh(data, data, options, {first: model}, None, [])
            transform = GroupWeights(group_codes(groups, data.n_workers))
            return self._weigh(data, data.transformed(transform), options, {}, transform, groups)

    def _learn(self, name: str, data: PartitionedVotes, options: SolveOptions) -> FitState:
        """Fit a method; on large data no method is run to convergence."""
        large = len(data) * data.n_classes >= LARGE
        return learn_method(BRIEF_VARIANT.get(name, name) if large else name, self.seed, data, options)

    @staticmethod
    def _testable(data: PartitionedVotes, options: SolveOptions) -> bool:
        """Whether labels can be predicted from others; with a prior the committee is used, whose members support it."""
        several = len(data) > 0 and data.n_classes > 1 and not data.single_label
        return several and not has_prior(options) and not too_sparse(data)

    def _weigh(
        self,
        data: PartitionedVotes,
        weighted: PartitionedVotes,
        options: SolveOptions,
        fits: dict[str, FitState],
        transform: GroupWeights | None,
        groups: list[I8],
    ) -> FitState:
        """Weight the average and the models by the evidence power.

        Args:
            data: The votes.
            weighted: The votes after `transform`.
            options: The options of the fit.
            fits: Methods that are fitted already.
            transform: Gives each group of copies the weight of one vote; None without copies.
            groups: The groups of copies.
        """

        def fit(names: tuple[str, ...]) -> None:
            for name in names:
                if name not in fits:
                    fits[name] = self._learn(name, weighted, options)

        fit(AVERAGED)
        source = None if transform is None else transform.group
        step = _step(data)
        models, scores = {}, {}
        for name in AVERAGED:
            models[name], scores[name] = _leave_out(weighted, fits[name].predictor, source, step, fits[name].counts)
        first = models[EARLY]
        test = _power(weighted, first, step)
        second = _leave_out(weighted, first, source, step)[0]
        weights = _weights({name: score * step for name, score in scores.items()})
        robust = None
        if test.share < MODELS_ONLY:
            fit(MEMBERS)
            members = dict.fromkeys(MEMBERS, 1 / len(MEMBERS))
            robust = tuned(weighted, PosteriorPool({m: fits[m].predictor for m in (*MEMBERS, MODEL)}, members, MODEL))
        predictors = {name: state.predictor for name, state in fits.items()}
        predictors |= {_left_out(name): models[name] for name in VOTING}
        mixture: Predictor = AdaptiveMixture(
            robust, predictors, _split(weights), second, test.share, doubt_of(data.n_classes)
        )
        predictor: Predictor = mixture if transform is None else TransformedPredictor(transform, mixture)
        sums = data.sum(partial(_mixture_sums, predictor), plus)
        tables = LeaveOutTables.of(sums.counts, sums.model)
        total, open_tasks = sums.top.tolist()
        extra: dict[str, Any] = {
            "independence": {**test.to_dict(), **dispersion(weighted, fits[MODEL].predictor, models[MODEL].tables)},
            "copying": [data.workers.gather(group).to_list() for group in groups],
            "weight": weights,
            "unsettled": [name for name in (MODEL, "one_coin") if not fits[name].converged],
        }
        if open_tasks:
            mean, low, high = shipped().expected(float(total / open_tasks))
            extra["expected_accuracy"] = {"mean": mean, "low": low, "high": high, "level": 0.9}
        return FitState(
            predictor=predictor,
            n_worker_posteriors=2,
            class_prior=sums.mass / data.n_tasks,
            confusion=tables.confusion(second.mixture),
            counts=transposed(sums.counts),
            n_iter=sum(fit.n_iter for fit in fits.values()),
            extra=extra,
        )


def fit_tests(votes: Annotations, result: Result | None = None) -> dict[str, float | None]:
    """Run the tests of independence; a result of MODEL without gold is used instead of a new fit."""
    data = PartitionedVotes.of(votes, None).for_many_fits()
    if not Adaptive._testable(data, SolveOptions()):
        return {**EvidencePower.unknown().to_dict(), "dispersion": None, "low_share": None}
    with many_fits():
        early, step = learn_method(EARLY, 0, data, SolveOptions()), _step(data)
        power = _power(data, _leave_out(data, early.predictor, None, step, early.counts)[0], step)
        if result is not None and result.method == MODEL and result.gold is None:
            predictor: Predictor = SolutionPredictor(Solution(result.posterior, result.class_prior))
        else:
            predictor = Adaptive()._learn(MODEL, data, SolveOptions()).predictor
        return {**power.to_dict(), **dispersion(data, predictor, tables_of(data, predictor))}


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Posterior under confusion matrices that leave each label out, estimated from the posterior of `base`.

    Workers with the same `source` are left out together.
    """

    base: Predictor
    tables: LeaveOutTables
    mixture: F8
    source: I4 | None

    def __call__(self, space: Workspace) -> PartPosterior:
        """Posterior of a part's tasks."""
        q = apply_predictor(self.base, space, keep=True).posterior
        return PartPosterior(posterior_of(space, q, self.tables, self.mixture, self.source))


@dataclass(frozen=True, eq=False)
class AdaptiveMixture:
    """The robust average (None if it has no weight) and the average of the models, which has the weight `share`."""

    robust: PosteriorPool | None
    predictors: dict[str, Predictor]
    weights: dict[str, float]
    model: LeaveOneOut
    share: float
    doubt: float

    def __call__(self, space: Workspace) -> PartPosterior:
        """Posterior of a part's tasks; workers are scored by the model, with `hierarchical_early` as a second view."""
        needed = [name for name, weight in self.weights.items() if weight > 0]
        needed = [*dict.fromkeys([*needed, EARLY, *([] if self.robust is None else self.robust.predictors)])]
        posteriors = {name: apply_predictor(self.predictors[name], space).posterior for name in needed}
        model = apply_predictor(self.model, space).posterior
        posterior = model.copy()
        for name, weight in self.weights.items():
            if weight > 0:
                posterior += weight * posteriors[name]
        posterior *= (1 - self.doubt) / 2
        posterior += self.doubt / model.shape[1]
        if self.robust is not None:
            posterior *= self.share
            posterior += (1 - self.share) * self.robust.average(space, posteriors)
        return PartPosterior(clamped(space, posterior), worker_posteriors=(model, posteriors[EARLY]))


@dataclass(frozen=True)
class MixtureSums(Additive):
    """Sums over tasks: the posterior, (the confidence of tasks without gold, their number), and the expected counts
    and posterior of the model."""

    mass: F8
    top: F8
    counts: F8
    model: F8


def _leave_out(
    data: PartitionedVotes, base: Predictor, source: I4 | None, step: int, counts: F8 | None = None
) -> tuple[LeaveOneOut, float]:
    """Return the leave-one-out model of a posterior, and the log-likelihood of the labels that choose its shrinkage.

    counts[worker, true, observed] are the expected counts under the posterior, if they are available.
    """
    tables = tables_of(data, base, counts)
    sums = data.sum(partial(_predict, base, tables, source, step), plus)
    return LeaveOneOut(base, tables, fit_mixture(sums.scores), source), sums.best


def _step(data: PartitionedVotes) -> int:
    """Return n: the tests use one in every n tasks."""
    return int(np.ceil(len(data) * data.n_classes / MOST_CELLS))


def _power(data: PartitionedVotes, model: LeaveOneOut, step: int) -> EvidencePower:
    return EvidencePower.of(data.sum(partial(_test, model, step), plus), data.n_tasks / step)


def doubt_of(k: int) -> float:
    """Return the uniform share that is mixed into the posteriors of the models of k classes."""
    return max(DOUBT / (k * math.sqrt(k)), LEAST_DOUBT)


def _weights(scores: dict[str, float]) -> dict[str, float]:
    """Return the weights of the averaged methods, given the log-likelihoods of left-out labels."""
    log = EVIDENCE * np.array(list(scores.values()))
    weight = np.exp(log - log.max())
    weight[weight < NEGLIGIBLE] = 0.0
    return dict(zip(scores, (weight / weight.sum()).tolist(), strict=True))


def _left_out(name: str) -> str:
    """Return the name of a voting method's leave-one-out model among the averaged posteriors."""
    return f"{name}, leave-one-out"


def _split(weights: dict[str, float]) -> dict[str, float]:
    """Split the weight of each voting method between its vote shares and its leave-one-out model."""
    shares = {name: weight * (1 - weight) if name in VOTING else weight for name, weight in weights.items()}
    return shares | {_left_out(name): weights[name] ** 2 for name in VOTING}


def _predict(
    predictor: Predictor, tables: LeaveOutTables, source: I4 | None, step: int, space: Workspace
) -> Predictions:
    return predictions(space, apply_predictor(predictor, space, keep=True).posterior, tables, None, source, step=step)


def _test(model: LeaveOneOut, step: int, space: Workspace) -> Predictions:
    q = apply_predictor(model.base, space, keep=True).posterior
    return predictions(space, q, model.tables, model.mixture, model.source, step=step, all_powers=True)


def _mixture_sums(predictor: Predictor, space: Workspace) -> MixtureSums:
    estimate = apply_predictor(predictor, space, keep=True)
    top = estimate.posterior.max(axis=1)
    top = top if space.gold is None else top[space.gold >= estimate.posterior.shape[1]]
    model = stats_of(space, estimate.worker_posteriors[0])
    return MixtureSums(estimate.posterior.sum(axis=0), np.array([top.sum(), len(top)]), model.counts, model.mass)
