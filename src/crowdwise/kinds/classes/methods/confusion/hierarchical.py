"""Hierarchical Dawid-Skene: confusion matrices that shrink toward the crowd's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from .....core.arrays import F8
from .....core.params import Above, Count, NonNegative, Positive, PositiveShare, Share
from .....em.kernels import Stats
from .....em.passes import Passes, run
from .....em.sources import GoldCodes
from .....stats.coins import coins
from .....stats.dirichlet import best_strength, update_mean
from .....stats.information import counts_as
from ...annotations import Annotations
from ..base import PartitionedAggregator, SolveOptions
from ..partitioned import FitState, PartitionedVotes, TransformedPredictor, with_columns
from .base import ConfusionModel, Matrices, in_rounds

# EM passes at one (crowd, strength); the passes of a round never lower that round's objective.
PASSES = 5


@dataclass(frozen=True, kw_only=True)
class Hierarchical(PartitionedAggregator):
    """Hierarchical: every worker's confusion matrix shrinks toward the crowd's, by as much as the data suggest.

        confusion[w, k] ~ Dir(1 + strength[k] · crowd[k]),   y_iw | z_i = k ~ Cat(confusion[w, k])

    crowd[k] and strength[k] are learnt by empirical Bayes: rounds of EM at fixed (crowd, strength), each followed by
    maximising the Dirichlet-multinomial evidence of the workers' expected counts. A worker with three labels gets the
    crowd's matrix, one with three thousand labels their own. In the spirit of the item-free hierarchical Dawid-Skene
    of Paun et al. (2018), TACL 6, doi:10.1162/tacl_a_00040, with a conjugate prior; evidence: Minka (2000).

    Two choices matter. `strength` stops at 100: expected counts are smoother than real ones, so their evidence alone
    would make all workers equal whenever labels are scarce. The class prior has `prior_class` pseudo-tasks in every
    class: without them, rare classes vanish on sparse data with many classes. Fails where most of the crowd is wrong
    on the same tasks, and with workers who copy each other.

    `prior_accuracy` (0..1) and `prior_strength` (labels per class) are the prior of the crowd's matrix, `prior_class`
    (tasks per class) that of the classes; `strength_max` bounds the shrinkage. `dependence` (0..1) is the correlation
    of the labels of one task given its class: n of them then count as n / (1 + (n - 1) · dependence), the effective
    number of draws with that correlation within a cluster (Kish 1965). Ends when no posterior moves by more than `tol`
    in a round, or after `max_iter` passes.

    Args:
        max_iter: Maximum number of EM passes over the labels, over all rounds.
        tol: Largest change of any posterior in a round at which the fit has converged.
        prior_accuracy: Diagonal of the prior mean of the crowd's matrix; errors are uniform over the other classes.
        prior_strength: Weight of that prior mean, in labels per class; larger values keep the crowd's matrix near it.
        prior_class: Pseudo-tasks in each class; 0 lets rare classes vanish on sparse data, larger values make the class
            frequencies more equal.
        strength_max: Upper bound of the learnt strengths, in labels per class; larger values allow workers to be more
            alike.
        dependence: Correlation of the labels of one task given its class; 0 counts them as independent, 1 counts all
            labels of a task together as one.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> Hierarchical().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "hierarchical"
    max_iter: Count = 500
    tol: NonNegative = 1e-3
    prior_accuracy: PositiveShare = 0.8
    prior_strength: Positive = 1.25
    prior_class: NonNegative = 10.0
    strength_max: Annotated[float, Above(0.1)] = 100.0
    dependence: Share = 0.0

    def learn(self, votes: PartitionedVotes, options: SolveOptions) -> FitState:
        """Run rounds of EM, each under the prior estimated from the counts of the last round."""
        tempered = EffectiveWeights(self.dependence)
        crowd = SharedPrior.start(votes.n_classes, self)
        model = crowd.model(self.prior_class)
        data: Matrices = Passes(model, votes.transformed(tempered) if self.dependence else votes)
        stats, before = data.start(), None
        traces: list[F8] = []
        passes, converged = 0, False
        while passes < self.max_iter and not converged:
            total = stats if options.prior is None else Stats(stats.counts + options.prior, stats.mass)
            crowd = crowd.learn(total, self.strength_max)
            model = crowd.model(self.prior_class).with_history(options.prior)
            data = data.under(model)
            fit = run(data, stats, max_iter=min(PASSES, self.max_iter - passes), tol=0.0)
            converged = data.moved(before, fit.params) <= self.tol
            before, stats = fit.params, fit.stats
            passes += fit.n_iter
            traces.append(fit.trace)
            if options.callback is not None:
                options.callback(passes, fit.objective)
        extra = {"strength": crowd.strength, "crowd": crowd.mean.T.copy()}
        state = in_rounds(fit, model, traces, passes, converged, extra)
        return replace(state, predictor=TransformedPredictor(tempered, state.predictor)) if self.dependence else state


@dataclass(frozen=True)
class EffectiveWeights:
    """A transform of parts: the labels of each task together weigh their effective number."""

    dependence: float

    def __call__(self, part: Annotations, gold: GoldCodes | None) -> tuple[Annotations, GoldCodes | None]:
        """Return the part with new weights."""
        n = np.bincount(part.task, weights=part.weight, minlength=part.n_tasks)
        weight = 1.0 if part.weight is None else part.weight
        return with_columns(part, weight=weight * counts_as(n, self.dependence)[part.task]), gold


@dataclass(frozen=True)
class SharedPrior:
    """The prior shared by all workers: mean[observed, true], strength[true], and pseudo-counts of the mean."""

    mean: F8
    strength: F8
    pseudo: F8

    @classmethod
    def start(cls, k: int, method: Hierarchical) -> SharedPrior:
        """Return the prior before the first label."""
        mean = coins(np.array([method.prior_accuracy]), k)[0].T
        mean = mean / mean.sum(axis=0)
        return cls(mean, np.full(k, min(10.0, method.strength_max)), method.prior_strength * mean)

    def learn(self, stats: Stats, strength_max: float) -> SharedPrior:
        """Return the mean and strength of each true class with the highest evidence, given expected counts."""
        mean, strength = self.mean.copy(), self.strength.copy()
        pooled = stats.counts.sum(axis=0) + self.pseudo
        for k in range(len(strength)):
            rows = stats.counts[:, :, k]  # worker, observed
            rows = rows[rows.sum(axis=1) > 0]
            mean[:, k] = update_mean(rows, pooled[:, k] / pooled[:, k].sum(), strength[k], self.pseudo[:, k])
            strength[k] = best_strength(rows, mean[:, k], 0.1, strength_max)
        return SharedPrior(mean, strength, self.pseudo)

    def model(self, prior_class: float) -> ConfusionModel:
        """Return the Dawid-Skene model with this prior."""
        return ConfusionModel(self.strength * self.mean, prior_class)
