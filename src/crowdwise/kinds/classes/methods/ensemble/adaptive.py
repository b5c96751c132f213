"""Adaptive: between a robust average and model-based posteriors, by whether the crowd's errors are independent.

    posterior = (1 - g) · committee + g · ((1 - d) · M + d / K)
    M         = half leave-one-out model, half likelihood-weighted average of six methods
    g         = probability that the evidence power b is above POWER

**Evidence power.** Every label is predicted from the other labels of its task (maths/trust). The power b at
which their likelihood predicts best is 1 where errors are independent given the class, and falls where labels of a task
err together: two labels then tell less than twice what one tells. On planted crowds of independent workers b is about
1; on real crowds with many labels a task it is mostly .1 to .7. Where it is high the models may be confident, where it
is low only the robust average is safe. Few tasks say little about b, so its likelihood is combined with a prior that
was chosen with real crowds in view.

**Copies.** Workers who repeat each other's labels are found by their excess agreement on doubtful labels
(kinds/classes/maths/copying.py). The votes of such a group on one task together weigh as much as one vote, in every
method.

**Doubt.** d = DOUBT / K^1.5, at least the committee's: what workers agree on may still not be the truth, the more so
the fewer classes there are.

**The model.** Confusion matrices whose shrinkage is chosen for each worker by how well it predicts the worker's labels,
two steps from `hierarchical_early`. The six methods are weighted by exp(EVIDENCE · log-likelihood of the left-out
labels), which removes methods that have drifted. A share of the votes is no probability, so a voting method of weight w
enters with w (1 - w) as it is and with w² through its own leave-one-out model, whose likelihood earned the weight.

With one label per task, with `prior=`, or with too many classes for confusion matrices, this is `committee`.
Fails where a crowd fits the model well and is wrong alike (no test without truth shows it).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from .....em.kernels import Workspace, many_fits, stats_of
from .....em.loop import Additive, plus
from ...maths.leave_out import LeaveOutTables, Predictions, fit_mixture, posterior_of, predictions
from ..base import PartitionedAggregator, Run
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
from .committee import BRIEF, EARLY, MEMBERS, Committee, learn_method
from .confidence import DOUBT as LEAST_DOUBT
from .confidence import shipped
from .independence import EvidencePower, dispersion, tables_of
from .pool import Pool, tuned
from .voices import GroupWeights, find_groups, voices

if TYPE_CHECKING:
    from .....core.result import Result
    from ...annotations import Annotations

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]

MODEL = "hierarchical"
VOTING = ("majority_vote", "wawa")
AVERAGED = (*VOTING, EARLY, "mace_once", MODEL, "one_coin")
# From so many labels × classes on, a method is replaced by one with few passes: later ones no longer change labels.
LARGE = 20_000_000
STAND_IN = {MODEL: BRIEF, "mace_once": "mace_brief", "one_coin": "one_coin_brief"}
EVIDENCE = 0.02
# Above this share the robust average is left out, below this weight a method.
BELIEVED, NEGLIGIBLE = 0.98, 1e-4
DOUBT = 0.6
# Labels × classes that the tests look at; of larger data a sample of the tasks.
MOST_CELLS = 4_000_000


@dataclass(frozen=True, kw_only=True)
class Adaptive(PartitionedAggregator):
    """The default method for classes: weighs a robust average of methods and model-based posteriors.

    The weight is the probability that the errors of different workers are independent given the class. Fails where a
    crowd fits the model well and its workers err alike, which no test without truth shows.

    Args:
        seed: Seed for ties and for the methods that are averaged.
        copies: Whether to look for groups of workers who repeat each other's labels; each group counts as one vote.

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> Adaptive().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "adaptive"
    calibrates: ClassVar[bool] = True
    copies: bool = True

    def learn(self, data: PartitionedVotes, run: Run) -> FitState:
        """Fit the methods, find copies and fit again without their weight, then weigh average and models."""
        data = data.for_many_fits()
        if not self._testable(data, run):
            return Committee(seed=self.seed).learn(data, run)
        with many_fits():
            # Copies call for all fits again, so on large data they are looked for by the cheapest.
            first = EARLY if len(data) * data.n_classes >= LARGE else MODEL
            model = self._learn(first, data, run)
            groups = find_groups(data, model.predictor, model.counts) if self.copies and data.n_workers > 2 else []
            if not groups:
                return self._weigh(data, data, run, {first: model}, None, [])
            change = GroupWeights(voices(groups, data.n_workers))
            return self._weigh(data, data.transformed(change), run, {}, change, groups)

    def _learn(self, name: str, data: PartitionedVotes, run: Run) -> FitState:
        """A method's fit; on large data no method is run to convergence."""
        large = len(data) * data.n_classes >= LARGE
        return learn_method(STAND_IN.get(name, name) if large else name, self.seed, data, run)

    @staticmethod
    def _testable(data: PartitionedVotes, run: Run) -> bool:
        """Whether labels can be predicted from others; a prior goes to the committee's members that can use it."""
        has_prior = run.prior is not None and bool(run.prior.any())
        return len(data) > 0 and data.n_classes > 1 and not data.single_label and not has_prior and not too_sparse(data)

    def _weigh(
        self,
        data: PartitionedVotes,
        weighted: PartitionedVotes,
        run: Run,
        fits: dict[str, FitState],
        change: GroupWeights | None,
        groups: list[npt.NDArray[np.int64]],
    ) -> FitState:
        """`weighted` are the data after `change`, `fits` those of the methods that need not be fitted again."""

        def fit(names: tuple[str, ...]) -> None:
            for name in names:
                if name not in fits:
                    fits[name] = self._learn(name, weighted, run)

        fit(AVERAGED)
        voice = None if change is None else change.voice
        step = _step(data)
        models, scores = {}, {}
        for name in AVERAGED:
            own_counts = fits[name].counts  # those of the posterior: EM has made them
            models[name], scores[name] = _leave_out(weighted, fits[name].predictor, voice, step, own_counts)
        first = models[EARLY]
        test = _power(weighted, first, step)
        second = _leave_out(weighted, first, voice, step)[0]
        weights = _weights({name: score * step for name, score in scores.items()})
        robust = None
        if test.share < BELIEVED:
            fit(MEMBERS)
            members = dict.fromkeys(MEMBERS, 1 / len(MEMBERS))
            robust = tuned(weighted, Pool({m: fits[m].predictor for m in (*MEMBERS, MODEL)}, members, MODEL))
        predictors = {name: state.predictor for name, state in fits.items()}
        predictors |= {_left_out(name): models[name] for name in VOTING}
        own: Predictor = AdaptiveMixture(
            robust, predictors, _split(weights), second, test.share, doubt_of(data.n_classes)
        )
        predictor: Predictor = own if change is None else TransformedPredictor(change, own)
        tally = data.sum(partial(_tally, predictor), plus)
        tables = LeaveOutTables.of(tally.counts, tally.model)
        total, open_tasks = tally.top.tolist()
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
            class_prior=tally.mass / data.n_tasks,
            confusion=tables.confusion(second.mixture),
            counts=np.ascontiguousarray(tally.counts.transpose(0, 2, 1)),
            n_iter=sum(fit.n_iter for fit in fits.values()),
            extra=extra,
        )


def fit_tests(votes: Annotations, result: Result | None = None) -> dict[str, float | None]:
    """The tests of independence of votes as they are; a result of MODEL without gold need not be fitted again."""
    data = PartitionedVotes.of(votes, None).for_many_fits()
    if not Adaptive._testable(data, Run()):
        return {**EvidencePower.unknown().to_dict(), "dispersion": None, "low_share": None}
    with many_fits():
        early, step = learn_method(EARLY, 0, data, Run()), _step(data)
        power = _power(data, _leave_out(data, early.predictor, None, step, early.counts)[0], step)
        if result is not None and result.method == MODEL and result.gold is None:
            predictor: Predictor = SolutionPredictor(Solution(result.posterior, result.class_prior))
        else:
            predictor = Adaptive()._learn(MODEL, data, Run()).predictor
        return {**power.to_dict(), **dispersion(data, predictor, tables_of(data, predictor))}


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Posterior under confusion matrices that leave each label out, made from the posterior of `base`."""

    base: Predictor
    tables: LeaveOutTables
    mixture: F8
    voice: I4 | None

    def __call__(self, space: Workspace) -> PartPosterior:
        """Of a part's tasks."""
        q = apply_predictor(self.base, space, keep=True).posterior
        return PartPosterior(posterior_of(space, q, self.tables, self.mixture, self.voice))


@dataclass(frozen=True, eq=False)
class AdaptiveMixture:
    """The robust average (None where the models are believed) and the models' average, weighed by `share`."""

    robust: Pool | None
    predictors: dict[str, Predictor]
    weights: dict[str, float]
    model: LeaveOneOut
    share: float
    doubt: float

    def __call__(self, space: Workspace) -> PartPosterior:
        """The posterior of a part; workers are judged by the model, with `hierarchical_early` as the other view."""
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
class Tally(Additive):
    """Sums over tasks: the posterior, (its top over tasks without gold, their number), and the model's expected counts
    and posterior."""

    mass: F8
    top: F8
    counts: F8
    model: F8


def _leave_out(
    data: PartitionedVotes, base: Predictor, voice: I4 | None, step: int, counts: F8 | None = None
) -> tuple[LeaveOneOut, float]:
    """The leave-one-out model from a posterior, and the log-likelihood of the labels that choose its shrinkage.
    counts[worker, true, observed] are the posterior's, where they are there already."""
    tables = tables_of(data, base, counts)
    sums = data.sum(partial(_predict, base, tables, voice, step), plus)
    return LeaveOneOut(base, tables, fit_mixture(sums.scores), voice), sums.best


def _step(data: PartitionedVotes) -> int:
    """Of so many tasks the tests look at one."""
    return int(np.ceil(len(data) * data.n_classes / MOST_CELLS))


def _power(data: PartitionedVotes, model: LeaveOneOut, step: int) -> EvidencePower:
    return EvidencePower.of(data.sum(partial(_test, model, step), plus), data.n_tasks / step)


def doubt_of(k: int) -> float:
    """How far what workers agree on is doubted where the models are believed."""
    return max(DOUBT / (k * math.sqrt(k)), LEAST_DOUBT)


def _weights(scores: dict[str, float]) -> dict[str, float]:
    """Weights of the averaged methods, from the log-likelihoods of left-out labels."""
    log = EVIDENCE * np.array(list(scores.values()))
    weight = np.exp(log - log.max())
    weight[weight < NEGLIGIBLE] = 0.0
    return dict(zip(scores, (weight / weight.sum()).tolist(), strict=True))


def _left_out(name: str) -> str:
    """The name of a voting method's leave-one-out model among the averaged posteriors."""
    return f"{name}, leave-one-out"


def _split(weights: dict[str, float]) -> dict[str, float]:
    """The weight of each voting method divided between its vote shares and its leave-one-out model."""
    shares = {name: weight * (1 - weight) if name in VOTING else weight for name, weight in weights.items()}
    return shares | {_left_out(name): weights[name] ** 2 for name in VOTING}


def _predict(
    predictor: Predictor, tables: LeaveOutTables, voice: I4 | None, step: int, space: Workspace
) -> Predictions:
    return predictions(space, apply_predictor(predictor, space, keep=True).posterior, tables, None, voice, step=step)


def _test(model: LeaveOneOut, step: int, space: Workspace) -> Predictions:
    q = apply_predictor(model.base, space, keep=True).posterior
    return predictions(space, q, model.tables, model.mixture, model.voice, step=step, all_powers=True)


def _tally(predictor: Predictor, space: Workspace) -> Tally:
    estimate = apply_predictor(predictor, space, keep=True)
    top = estimate.posterior.max(axis=1)
    top = top if space.gold is None else top[space.gold >= estimate.posterior.shape[1]]
    model = stats_of(space, estimate.worker_posteriors[0])
    return Tally(estimate.posterior.sum(axis=0), np.array([top.sum(), len(top)]), model.counts, model.mass)
