"""Hierarchical: every worker's confusion matrix shrinks toward the crowd's, as far as the data ask for it.

    confusion[w, k] ~ Dir(1 + strength[k] · crowd[k]),   y_iw | z_i = k ~ Cat(confusion[w, k])

crowd[k] and strength[k] are learnt by empirical Bayes: rounds of EM at fixed (crowd, strength), each followed by
maximising the Dirichlet-multinomial evidence of the workers' expected counts. A worker with three labels is judged by
the crowd, one with three thousand by their own record. In the spirit of the item-free hierarchical Dawid-Skene of
Paun et al. (2018), TACL 6, doi:10.1162/tacl_a_00040, with a conjugate prior; evidence: Minka (2000).

Two choices matter. `strength` stops at 100: expected counts are smoother than real ones, so their evidence alone
would call all workers alike whenever labels are scarce. The class prior has `prior_class` pseudo-tasks in every
class: without them, rare classes melt away on sparse data with many classes.
`dependence` says how alike the labels of one task are beyond their class: n of them then count as
n / (1 + (n - 1) · dependence), the effective number of draws with that correlation within a cluster (Kish 1965).
Fails where most of the crowd is wrong together on the same tasks, and with workers who copy each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from .....core.params import Above, Count, NonNegative, Positive, PositiveShare, Share
from .....em.kernels import Stats
from .....em.passes import Passes, run
from .....em.sources import Known
from .....stats.coins import coins
from .....stats.dirichlet import best_strength, update_mean
from .....stats.information import counts_as
from ...annotations import Annotations
from ..base import Run, SpreadAggregator
from ..spread import After, Learnt, Spread, with_rows
from .base import ConfusionModel, Matrices, in_rounds

F8 = npt.NDArray[np.float64]

# EM passes at one (crowd, strength); the passes of a round never lower that round's objective.
PASSES = 5


@dataclass(frozen=True, kw_only=True)
class Hierarchical(SpreadAggregator):
    """Ends when no posterior moves by more than `tol` in a round, or after `max_iter` passes.

    `prior_accuracy` (0..1) and `prior_strength` (labels per class) say what is believed of the crowd before the
    first label; `prior_class` (tasks per class) of the classes; `strength_max` bounds the shrinkage; `dependence`
    (0..1) tempers what many labels of one task say together.

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

    def learn(self, votes: Spread, run_: Run) -> Learnt:
        """Rounds of EM, each under the prior that the last round's counts call for."""
        tempered = Effective(self.dependence)
        crowd = Crowd.start(votes.n_classes, self)
        model = crowd.model(self.prior_class)
        data: Matrices = Passes(model, votes.through(tempered) if self.dependence else votes)
        stats, before = data.start(), None
        traces: list[F8] = []
        passes, settled = 0, False
        while passes < self.max_iter and not settled:
            known = stats if run_.prior is None else Stats(stats.counts + run_.prior, stats.mass)
            crowd = crowd.learn(known, self.strength_max)
            model = crowd.model(self.prior_class).with_history(run_.prior)
            data = data.under(model)
            fit = run(data, stats, max_iter=min(PASSES, self.max_iter - passes), tol=0.0)
            settled = data.moved(before, fit.params) <= self.tol
            before, stats = fit.params, fit.stats
            passes += fit.n_iter
            traces.append(fit.trace)
            if run_.callback is not None:
                run_.callback(passes, fit.objective)
        extra = {"strength": crowd.strength, "crowd": crowd.mean.T.copy()}
        found = in_rounds(fit, model, traces, passes, settled, extra)
        return replace(found, judge=After(tempered, found.judge)) if self.dependence else found


@dataclass(frozen=True)
class Effective:
    """The annotations, those of each task weighed as their effective number."""

    dependence: float

    def __call__(self, part: Annotations, known: Known | None) -> tuple[Annotations, Known | None]:
        """A part of them."""
        n = np.bincount(part.task, weights=part.weight, minlength=part.n_tasks)
        own = 1.0 if part.weight is None else part.weight
        return with_rows(part, weight=own * counts_as(n, self.dependence)[part.task]), known


@dataclass(frozen=True)
class Crowd:
    """The prior that all workers share: mean[observed, true], strength[true], and pseudo-counts of the mean."""

    mean: F8
    strength: F8
    pseudo: F8

    @classmethod
    def start(cls, k: int, own: Hierarchical) -> Crowd:
        """What is believed before the first label."""
        mean = coins(np.array([own.prior_accuracy]), k)[0].T
        mean = mean / mean.sum(axis=0)
        return cls(mean, np.full(k, min(10.0, own.strength_max)), own.prior_strength * mean)

    def learn(self, stats: Stats, strength_max: float) -> Crowd:
        """Mean and strength of each true class with the highest evidence, given the workers' expected counts."""
        mean, strength = self.mean.copy(), self.strength.copy()
        pooled = stats.counts.sum(axis=0) + self.pseudo
        for k in range(len(strength)):
            rows = stats.counts[:, :, k]  # worker, observed
            rows = rows[rows.sum(axis=1) > 0]
            mean[:, k] = update_mean(rows, pooled[:, k] / pooled[:, k].sum(), strength[k], self.pseudo[:, k])
            strength[k] = best_strength(rows, mean[:, k], 0.1, strength_max)
        return Crowd(mean, strength, self.pseudo)

    def model(self, prior_class: float) -> ConfusionModel:
        """Dawid-Skene with this prior."""
        return ConfusionModel(self.strength * self.mean, prior_class)
