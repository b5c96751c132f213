"""Methods for ordered classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8
from ...core.errors import ParameterError
from ...core.method_registry import card, method
from ...core.params import Above, MethodName, MethodNames, NonNegative
from ...em.kernels import Stats, Workspace, stats_of
from ...stats.dirichlet import best_strength
from ..classes.annotations import Annotations
from ..classes.answers import Classes
from ..classes.methods.base import Aggregator, SolveOptions
from ..classes.methods.confusion.base import ConfusionFit, ConfusionModel, Params
from ..classes.methods.gold import GoldLabels
from ..classes.methods.partitioned import FitState, Solution
from .fitting import OrderedAggregator, RoundsAggregator
from .maths import WorkerTypes

ABOVE = pl.Series("label", ["no", "yes"])


@dataclass(frozen=True, kw_only=True)
class OrdinalSplit(OrderedAggregator):
    """Ordinal split: one binary problem for each threshold (above the first class, above the second, ...).

        P(z = k) = P(z > k - 1) - P(z > k),   each P(z > k) by a method for two classes, made monotone in k

    Raykar et al. (2010), Learning from crowds, JMLR 11, section 5.2, after Frank & Hall (2001),
    doi:10.1007/3-540-44795-4_13. Each threshold has its own estimates of the workers' errors and does not use the
    other thresholds.

    Args:
        by: Name of the method for two classes.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"llhh"], order=["l", "m", "h"])
    >>> OrdinalSplit().fit(votes).to_table()["label"].to_list()
    ['l', 'h']
    """

    name: ClassVar[str] = "ordinal_split"
    by: MethodName = "hierarchical"

    def __post_init__(self) -> None:
        super().__post_init__()
        base = card(self.by)
        if base.takes != "classes" or {"gold", "order"} & base.needs:
            raise ParameterError(f"by must be a method for classes that needs neither gold nor an order, got {self.by}")

    def solve_levels(self, annotations: Annotations, gold: GoldLabels | None, run: SolveOptions) -> Solution:
        """Fit each threshold and combine the posteriors."""
        k = annotations.n_classes
        above = np.ones((annotations.n_tasks, k + 1))
        above[:, k] = 0.0
        passes, converged = 0, True
        for step in range(1, k):
            solution = self._step(annotations, gold, run, step)
            above[:, step] = solution.posterior[:, 1]
            passes, converged = max(passes, solution.n_iter), converged and solution.converged
        # Made monotone from below and from above, then averaged, so that both ends are treated alike.
        low, high = -np.maximum.accumulate(-above, axis=1), np.maximum.accumulate(above[:, ::-1], axis=1)[:, ::-1]
        falling = (low + high) / 2
        posterior = np.maximum(falling[:, :-1] - falling[:, 1:], 0.0)
        posterior /= posterior.sum(axis=1, keepdims=True)
        mass = posterior.mean(axis=0) if len(posterior) else np.full(k, 1 / k)
        confusion, counts = confusions(annotations, posterior)
        return Solution(posterior, mass, confusion, counts, n_iter=passes, converged=converged)

    def _step(self, annotations: Annotations, gold: GoldLabels | None, run: SolveOptions, step: int) -> Solution:
        yes = (annotations.label >= step).astype(np.int32)
        binary = replace(annotations, answers=Classes(yes, ABOVE))
        binary_gold = None
        if gold is not None:
            labels = np.where(gold.label < gold.n_classes, (gold.label >= step).astype(np.int32), 2)
            binary_gold = GoldLabels(labels.astype(np.int32), 2)
        base: Aggregator = method(self.by, seed=self.seed)
        return base.fit_solution(binary, binary_gold, replace(run, prior=None, callback=None))


def confusions(annotations: Annotations, posterior: F8) -> tuple[F8, F8]:
    """Confusion matrices [worker, true, observed] under a posterior, shrunk to the crowd's, and their counts."""
    counts = stats_of(Workspace.of(annotations), posterior).counts  # worker, observed, true
    k = counts.shape[1]
    pooled = counts.sum(axis=0) + 0.25 + np.eye(k)
    mean = pooled / pooled.sum(axis=0)
    strength = np.full(k, 10.0)
    for true in range(k):
        rows = counts[:, :, true][counts[:, :, true].sum(axis=1) > 0]
        if len(rows):
            strength[true] = best_strength(rows, mean[:, true], 0.1, 100.0)
    theta = counts + strength * mean
    theta = theta / theta.sum(axis=1, keepdims=True)
    return np.ascontiguousarray(theta.transpose(0, 2, 1)), np.ascontiguousarray(counts.transpose(0, 2, 1))


# Pseudo-tasks per class that make the class prior uniform whatever the data.
EVEN = 1e9
# Member name -> method and parameters.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {"hierarchical_even": ("hierarchical", {"prior_class": EVEN})}
MEMBERS = ("majority_vote", "hierarchical", "hierarchical_even", "ordinal_split", "ordinal_types", "ordinal_prior")


@dataclass(frozen=True, kw_only=True)
class OrdinalCommittee(OrderedAggregator):
    """Ordinal committee: the average of six methods, three of which know the order of the classes.

    `majority_vote`, `hierarchical`, `hierarchical` with a uniform class prior, `ordinal_split`, `ordinal_types`,
    `ordinal_prior`. Each member fails on some crowds: models with two parameters per worker where confusions do not
    follow the order, fitted class priors where rare classes have few answers, separate thresholds where workers are
    few. On open datasets their average was never far from the best member. Stone (1961),
    doi:10.1214/aoms/1177704873.

    Args:
        members: Names of methods for classes ("hierarchical_even": uniform class prior), all with the same weight.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"llhh"], order=["l", "m", "h"])
    >>> OrdinalCommittee().fit(votes).to_table()["label"].to_list()
    ['l', 'h']
    """

    name: ClassVar[str] = "ordinal_committee"
    calibrates: ClassVar[bool] = True
    members: MethodNames = MEMBERS

    def solve_levels(self, annotations: Annotations, gold: GoldLabels | None, run: SolveOptions) -> Solution:
        """Fit all members and average their posteriors."""
        k = annotations.n_classes
        ordered = replace(
            annotations, answers=Classes(annotations.label, annotations.classes, np.arange(k, dtype=np.int32))
        )
        pool = np.zeros((annotations.n_tasks, k))
        passes, all_converged = 0, True
        worker_source: Solution | None = None
        for name in self.members:
            solution = _member(name, self.seed).fit_solution(ordered, gold, replace(run, prior=None, callback=None))
            pool += solution.posterior / len(self.members)
            passes, all_converged = passes + solution.n_iter, all_converged and solution.converged
            if name == "ordinal_prior":
                worker_source = solution
        posterior = pool if gold is None else gold.clamp(pool)
        mass = posterior.mean(axis=0) if len(posterior) else np.full(k, 1 / k)
        # The average is less certain than any member, so the worker estimates come from `ordinal_prior`.
        if worker_source is None or worker_source.confusion is None:
            confusion, counts = confusions(annotations, posterior)
            return Solution(posterior, mass, confusion, counts, n_iter=passes, converged=True)
        return Solution(
            posterior,
            mass,
            worker_source.confusion,
            worker_source.counts,
            n_iter=passes,
            converged=True,
            worker_posteriors=(worker_source.posterior,),
            extra={"settled": all_converged},
        )


def _member(name: str, seed: int) -> Aggregator:
    plain, params = VARIANTS.get(name, (name, {}))
    member: Aggregator = method(plain, seed=seed, **params)
    return member


@dataclass(frozen=True, kw_only=True)
class OrdinalPrior(RoundsAggregator):
    """Ordinal prior: confusion matrices shrunk to those of the worker's ordinal types.

        confusion[w, k] ~ Dir(1 + strength[k] · mean[w, k]),   mean[w] = the mean matrix of the worker's ordinal types

    Like `hierarchical`, with the mean matrix of `ordinal_types` as the prior instead of the crowd's matrix: workers
    with few labels are described by bias and scale, workers with many by their own confusion matrix, which need not
    follow the order. The strength of each class maximises the Dirichlet-multinomial evidence of the workers' expected
    counts (Minka 2000).

    Args:
        prior_class: Prior of the class shares, in tasks per class.
        strength_max: Upper bound of the shrinkage.
        max_iter: Maximum number of passes.
        tol: Largest change of a posterior in a round at convergence.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"llhh"], order=["l", "m", "h"])
    >>> OrdinalPrior().fit(votes).to_table()["label"].to_list()
    ['l', 'h']
    """

    name: ClassVar[str] = "ordinal_prior"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("bias", "scale", "spammer")
    prior_class: NonNegative = 10.0
    strength_max: Annotated[float, Above(0.1)] = 100.0

    def under(self, types: WorkerTypes, stats: Stats) -> ConfusionModel:
        """Return a Dawid-Skene model with a prior matrix for each worker."""
        mean = types.mean(types.posterior(stats.counts))
        active = stats.counts.sum(axis=(1, 2)) > 0
        k = mean.shape[1]
        strength = np.full(k, 10.0)
        for true in range(k):
            rows, prior_mean = stats.counts[:, :, true], mean[:, :, true]
            has_counts = active & (rows.sum(axis=1) > 0)
            if has_counts.any():
                strength[true] = best_strength(rows[has_counts], prior_mean[has_counts], 0.1, self.strength_max)
        return ConfusionModel(strength * mean, self.prior_class)


@dataclass(frozen=True)
class TypeBeliefs(Params):
    """theta of the E-step (exp E log p over the worker's types), the mean matrices, and the divergence of the types."""

    mean: F8
    divergence: float


class TypeModel(ConfusionModel):
    """Model with fixed types; the posterior over each worker's type is fitted."""

    def __init__(self, types: WorkerTypes, prior_class: float) -> None:
        super().__init__(np.ones(1), prior_class)
        self.types, self.log_p = types, types.log_p

    def maximise(self, stats: Stats) -> TypeBeliefs:
        """Posterior of the types given the expected counts."""
        belief = self.types.posterior(stats.counts)
        k = len(self.types.spam)
        theta = np.exp((belief @ self.log_p.reshape(len(self.log_p), -1)).reshape(-1, k, k))
        divergence = belief * (np.log(np.maximum(belief, 1e-300)) - self.types.log_share)
        return TypeBeliefs(theta, self.class_prior(stats.mass), self.types.mean(belief), float(divergence.sum()))

    def log_confusion_density(self, theta: F8) -> float:  # noqa: ARG002
        """Return 0: the matrices have no prior of their own."""
        return 0.0

    def log_prior(self, params: Params) -> float:
        """Negative divergence of the types; added to the log-likelihood under theta, a lower bound of the evidence."""
        assert isinstance(params, TypeBeliefs)
        return super().log_prior(params) - params.divergence


@dataclass(frozen=True, kw_only=True)
class OrdinalTypes(RoundsAggregator):
    """Ordinal types: each worker has a bias and a scale on the ordinal scale, or is a spammer.

        P(y <= l | z = k) = sigmoid((threshold[l] - k - bias[w]) / scale[w]), (bias, scale) on a grid, thresholds shared

    Variational EM over the type of each worker (13 × 9 pairs of bias and scale, a spammer for each class, and one who
    draws from the distribution of all answers) and the classes of the tasks. The graded-response model of Samejima
    (1969), Psychometrika Monograph 17, with workers in place of persons; DeYoreo & Kottas (2018),
    doi:10.1080/10618600.2017.1316280, apply it to raters. Fails where confusions do not follow the order; see
    `ordinal_prior` for a model that can deviate from it. `extra` holds bias, scale and spammer probability of each
    worker.

    Args:
        prior_class: Prior of the class shares, in tasks per class.
        max_iter: Maximum number of passes.
        tol: Largest change of a posterior in a round at convergence.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"lmhh"], order=["l", "m", "h"])
    >>> OrdinalTypes().fit(votes).to_table()["label"].to_list()[1]
    'h'
    """

    name: ClassVar[str] = "ordinal_types"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("bias", "scale", "spammer")

    def under(self, types: WorkerTypes, stats: Stats) -> ConfusionModel:  # noqa: ARG002
        """Return the model of these types."""
        return TypeModel(types, self.prior_class)

    def with_worker_types(self, state: FitState, fit: ConfusionFit, types: WorkerTypes, belief: F8) -> FitState:
        """Report the mean matrices as confusion, and keep theta of the E-step for `Result.infer`."""
        with_types = super().with_worker_types(state, fit, types, belief)
        assert isinstance(fit.params, TypeBeliefs)
        theta = np.ascontiguousarray(fit.params.theta.transpose(0, 2, 1))
        mean = np.ascontiguousarray(fit.params.mean.transpose(0, 2, 1))
        return replace(with_types, confusion=mean, extra={**with_types.extra, "theta": theta})
