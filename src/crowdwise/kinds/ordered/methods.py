""""""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import ParameterError
from ...core.method_registry import card, method
from ...core.params import Above, MethodName, MethodNames, NonNegative
from ...em.kernels import Stats, Workspace, stats_of
from ...stats.dirichlet import best_strength
from ..classes.annotations import Annotations
from ..classes.answers import Classes
from ..classes.methods.base import Aggregator, Run
from ..classes.methods.confusion.base import ConfusionModel, Found, Params
from ..classes.methods.gold import Gold
from ..classes.methods.spread import Learnt, Solution
from .fitting import InRounds, OrderedAggregator
from .maths import Types

F8 = npt.NDArray[np.float64]
ABOVE = pl.Series("label", ["no", "yes"])


@dataclass(frozen=True, kw_only=True)
class OrdinalSplit(OrderedAggregator):
    """Ordinal split: is it above the first class, above the second, ...? One question with two answers for each step.

        P(z = k) = P(z > k - 1) - P(z > k),   each P(z > k) by a method for two classes, made to fall with k

    Raykar et al. (2010), Learning from crowds, JMLR 11, section 5.2, after Frank & Hall (2001),
    doi:10.1007/3-540-44795-4_13. Each step knows whether a worker says too much or too little there, and nothing of
    the other steps.

    `by` is the method for two classes that answers at each step.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"llhh"], order=["l", "m", "h"])
    >>> OrdinalSplit().fit(votes).to_table()["label"].to_list()
    ['l', 'h']
    """

    name: ClassVar[str] = "ordinal_split"
    by: MethodName = "hierarchical"

    def __post_init__(self) -> None:
        super().__post_init__()
        own = card(self.by)
        if own.takes != "classes" or {"gold", "order"} & own.needs:
            raise ParameterError(f"by must be a method for classes that needs neither gold nor an order, got {self.by}")

    def on_levels(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """One fit for each step."""
        k = annotations.n_classes
        above = np.ones((annotations.n_tasks, k + 1))
        above[:, k] = 0.0
        passes, settled = 0, True
        for step in range(1, k):
            found = self._step(annotations, gold, run, step)
            above[:, step] = found.posterior[:, 1]
            passes, settled = max(passes, found.n_iter), settled and found.converged
        # Made to fall from below and from above, and averaged: neither end of the ladder is the first.
        low, high = -np.maximum.accumulate(-above, axis=1), np.maximum.accumulate(above[:, ::-1], axis=1)[:, ::-1]
        falling = (low + high) / 2
        posterior = np.maximum(falling[:, :-1] - falling[:, 1:], 0.0)
        posterior /= posterior.sum(axis=1, keepdims=True)
        mass = posterior.mean(axis=0) if len(posterior) else np.full(k, 1 / k)
        confusion, counts = confusions(annotations, posterior)
        return Solution(posterior, mass, confusion, counts, n_iter=passes, converged=settled)

    def _step(self, annotations: Annotations, gold: Gold | None, run: Run, step: int) -> Solution:
        yes = (annotations.label >= step).astype(np.int32)
        own = replace(annotations, answers=Classes(yes, ABOVE))
        known = None
        if gold is not None:
            told = np.where(gold.label < gold.n_classes, (gold.label >= step).astype(np.int32), 2)
            known = Gold(told.astype(np.int32), 2)
        asked: Aggregator = method(self.by, seed=self.seed)
        return asked.answer(own, known, replace(run, prior=None, callback=None))


def confusions(annotations: Annotations, posterior: F8) -> tuple[F8, F8]:
    """Each worker's matrix [worker, true, observed] under a posterior, shrunk to the crowd's, and the counts behind."""
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


# Pseudo-tasks that make all classes equally likely, whatever the data say.
EVEN = 1e9
# A member's name -> the method and its parameters.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {"hierarchical_even": ("hierarchical", {"prior_class": EVEN})}
MEMBERS = ("majority_vote", "hierarchical", "hierarchical_even", "ordinal_split", "ordinal_types", "ordinal_prior")


@dataclass(frozen=True, kw_only=True)
class OrdinalCommittee(OrderedAggregator):
    """Ordinal committee: the average of six methods, three of which know the order of the classes.

    `majority_vote`, `hierarchical`, `hierarchical` with classes equally likely, `ordinal_split`, `ordinal_types`,
    `ordinal_prior`. Each has crowds in which it fails: two numbers a worker where classes are confused out of order,
    class priors where few answers speak of rare classes, steps by themselves where workers are few. Their average
    was never far from the best of them on the open sets. Stone (1961), doi:10.1214/aoms/1177704873.

    `members` are names of methods for classes ("hierarchical_even": classes equally likely); each has one voice.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"llhh"], order=["l", "m", "h"])
    >>> OrdinalCommittee().fit(votes).to_table()["label"].to_list()
    ['l', 'h']
    """

    name: ClassVar[str] = "ordinal_committee"
    calibrates: ClassVar[bool] = True
    members: MethodNames = MEMBERS

    def on_levels(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """Ask every member and average."""
        k = annotations.n_classes
        laddered = replace(
            annotations, answers=Classes(annotations.label, annotations.classes, np.arange(k, dtype=np.int32))
        )
        pool = np.zeros((annotations.n_tasks, k))
        passes, settled = 0, True
        speaker: Solution | None = None
        for name in self.members:
            found = _member(name, self.seed).answer(laddered, gold, replace(run, prior=None, callback=None))
            pool += found.posterior / len(self.members)
            passes, settled = passes + found.n_iter, settled and found.converged
            if name == "ordinal_prior":
                speaker = found
        posterior = pool if gold is None else gold.clamp(pool)
        mass = posterior.mean(axis=0) if len(posterior) else np.full(k, 1 / k)
        # The average is softer than any member: workers are judged by the member that knows ladder and record.
        if speaker is None or speaker.confusion is None:
            confusion, counts = confusions(annotations, posterior)
            return Solution(posterior, mass, confusion, counts, n_iter=passes, converged=True)
        return Solution(
            posterior,
            mass,
            speaker.confusion,
            speaker.counts,
            n_iter=passes,
            converged=True,
            workers_posteriors=(speaker.posterior,),
            extra={"settled": settled},
        )


def _member(name: str, seed: int) -> Aggregator:
    plain, params = VARIANTS.get(name, (name, {}))
    found: Aggregator = method(plain, seed=seed, **params)
    return found


@dataclass(frozen=True, kw_only=True)
class OrdinalPrior(InRounds):
    """Ordinal prior: confusion matrices that shrink to what the worker's place on the ladder would give.

        confusion[w, k] ~ Dir(1 + strength[k] · mean[w, k]),   mean[w] = the mean matrix of the worker's ordinal types

    `hierarchical` with the ladder of `ordinal_types` in the place of the crowd's matrix: a worker with few labels is
    judged by their bias and scale, one with many by their own record, which may leave the ladder. The strength of
    each class has the highest Dirichlet-multinomial evidence of the workers' expected counts (Minka 2000).

    `strength_max` bounds the shrinkage; `prior_class` is in tasks per class.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"llhh"], order=["l", "m", "h"])
    >>> OrdinalPrior().fit(votes).to_table()["label"].to_list()
    ['l', 'h']
    """

    name: ClassVar[str] = "ordinal_prior"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("bias", "scale", "spammer")
    prior_class: NonNegative = 10.0
    strength_max: Annotated[float, Above(0.1)] = 100.0

    def under(self, types: Types, stats: Stats) -> ConfusionModel:
        """Dawid-Skene whose prior matrix is each worker's own."""
        mean = types.mean(types.judge(stats.counts))
        heard = stats.counts.sum(axis=(1, 2)) > 0
        k = mean.shape[1]
        strength = np.full(k, 10.0)
        for true in range(k):
            rows, own = stats.counts[:, :, true], mean[:, :, true]
            some = heard & (rows.sum(axis=1) > 0)
            if some.any():
                strength[true] = best_strength(rows[some], own[some], 0.1, self.strength_max)
        return ConfusionModel(strength * mean, self.prior_class)


@dataclass(frozen=True)
class TypeBeliefs(Params):
    """theta as the E-step wants it, exp E log p over the worker's types; their mean; the beliefs' divergence."""

    mean: F8
    divergence: float


class TypeModel(ConfusionModel):
    """Workers of types that are held fixed; what is learnt are the beliefs over each worker's type."""

    def __init__(self, types: Types, prior_class: float) -> None:
        super().__init__(np.ones(1), prior_class)
        self.types, self.log_p = types, types.log_p

    def maximise(self, stats: Stats) -> TypeBeliefs:
        """The best beliefs for these expected counts."""
        belief = self.types.judge(stats.counts)
        k = len(self.types.spam)
        theta = np.exp((belief @ self.log_p.reshape(len(self.log_p), -1)).reshape(-1, k, k))
        apart = belief * (np.log(np.maximum(belief, 1e-300)) - self.types.log_share)
        return TypeBeliefs(theta, self.class_prior(stats.mass), self.types.mean(belief), float(apart.sum()))

    def log_confusion_density(self, theta: F8) -> float:  # noqa: ARG002
        """Matrices have no prior of their own."""
        return 0.0

    def log_prior(self, params: Params) -> float:
        """Minus the divergence: with the log-likelihood under theta, a lower bound of the evidence."""
        assert isinstance(params, TypeBeliefs)
        return super().log_prior(params) - params.divergence


@dataclass(frozen=True, kw_only=True)
class OrdinalTypes(InRounds):
    """Ordinal types: every worker has a bias and a scale on the ladder of the classes, or does not look at the task.

        P(y <= l | z = k) = sigmoid((threshold[l] - k - bias[w]) / scale[w]), (bias, scale) on a grid, thresholds shared

    Beliefs over the types of each worker (13 × 9 pairs, those who always name one class, one who draws from the
    crowd's answers) and over the classes, by variational EM. The graded-response model of Samejima (1969),
    Psychometrika Monograph 17, with workers in the place of persons; DeYoreo & Kottas (2018),
    doi:10.1080/10618600.2017.1316280, has it for raters. Two numbers a worker tell little: where classes are
    confused out of order it goes astray (it is part of `ordinal_committee` for crowds in which it does not). See
    `ordinal_prior` for a model that can leave the ladder.

    `extra` holds bias, scale and spammer (probability) of each worker; `prior_class` (tasks per class) is what is
    believed of the classes before the first label.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"lmhh"], order=["l", "m", "h"])
    >>> OrdinalTypes().fit(votes).to_table()["label"].to_list()[1]
    'h'
    """

    name: ClassVar[str] = "ordinal_types"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("bias", "scale", "spammer")

    def under(self, types: Types, stats: Stats) -> ConfusionModel:  # noqa: ARG002
        """The types as they are."""
        return TypeModel(types, self.prior_class)

    def told(self, found: Learnt, fit: Found, types: Types, belief: F8) -> Learnt:
        """Means are published; what the E-step used is kept for `Result.infer`."""
        own = super().told(found, fit, types, belief)
        assert isinstance(fit.params, TypeBeliefs)
        theta = np.ascontiguousarray(fit.params.theta.transpose(0, 2, 1))
        mean = np.ascontiguousarray(fit.params.mean.transpose(0, 2, 1))
        return replace(own, confusion=mean, extra={**own.extra, "theta": theta})
