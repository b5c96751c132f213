"""What the variational Bayes methods share: beliefs over confusion matrices, and a model that EM can run.

    q(z) Π_w q(A_w) q(d),   theta = exp E log A,   class_prior = exp E log d

The usual E-step under theta (whose rows sum to less than one) gives q(z). The log-likelihood under theta minus the
divergence of the beliefs from their priors is then exactly the evidence lower bound (ELBO), which never falls:
the one EM loop serves these methods as it stands.
Attias (2000), NIPS 12; Kim & Ghahramani (2012), AISTATS, proceedings.mlr.press/v22/kim12.html.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ...core.rules import AtLeast
from ...maths.coins import even
from ...maths.dirichlet import divergence, log_mean
from ...maths.kernels import Stats, Workspace
from ...maths.rows import LabelRows
from ..base import Learnt, Run, Spread
from ..confusion.base import ConfusionAggregator, ConfusionModel, Found, Params, learnt
from ..learnt import Judge, Judged
from ..spread import Shape

F8 = npt.NDArray[np.float64]

# exp(digamma(prior)) meets the kernels' floor of 1e-18 below about 0.025; from here up the ELBO is exact.
LEAST_PRIOR = 0.05
PriorCount = Annotated[float, AtLeast(LEAST_PRIOR)]


@dataclass(frozen=True)
class Beliefs(Params):
    """theta and class_prior as the E-step wants them; what is published: their means; and the beliefs' divergence."""

    confusion_mean: F8  # worker, observed, true
    class_mean: F8
    divergence: float


class BayesModel(ConfusionModel):
    """Dirichlet beliefs over the rows of every worker's matrix and over the classes.

    prior[observed, true] (or [worker, observed, true]) holds the parameters of the rows' priors.
    """

    def maximise(self, stats: Stats) -> Beliefs:
        """The best beliefs for these expected counts: priors plus counts."""
        theta, mean, apart = self.rows(stats.counts)
        weight, class_mean, classes_apart = self.classes(stats.mass)
        return Beliefs(theta, weight, mean, class_mean, apart + classes_apart)

    def log_prior(self, params: Params) -> float:
        """Minus the divergence: with the log-likelihood under theta, the ELBO."""
        assert isinstance(params, Beliefs)
        return -params.divergence

    def rows(self, counts: F8) -> tuple[F8, F8, float]:
        """exp E log A, E A, and the divergence, of counts[worker, observed, true]."""
        belief = counts + self.prior
        theta = np.exp(log_mean(belief, axis=1))
        mean = belief / belief.sum(axis=1, keepdims=True)
        return theta, mean, divergence(belief, np.broadcast_to(self.prior, belief.shape), axis=1)

    def classes(self, mass: F8) -> tuple[F8, F8, float]:
        """exp E log d, E d, and the divergence."""
        belief = mass + self.prior_class
        prior = np.full_like(belief, self.prior_class)
        return np.exp(log_mean(belief, axis=0)), belief / belief.sum(), divergence(belief, prior, axis=0)


@dataclass(frozen=True, kw_only=True)
class BayesAggregator(ConfusionAggregator):
    """Pseudo-counts of the right label, of each wrong one, and of each class, before the first label is seen."""

    prior_diagonal: PriorCount = 4.0
    prior_off: PriorCount = 1.0
    prior_class: PriorCount = 1.0

    def model(self, shape: Shape) -> ConfusionModel:
        """Dirichlet priors with more on the diagonal than off it."""
        return BayesModel(diagonal_prior(shape.n_classes, self.prior_diagonal, self.prior_off), self.prior_class)

    def learn(self, data: Spread, run_: Run) -> Learnt:
        """The highest ELBO over the starts."""
        return bayes_learnt(*self.search(data, run_))


def diagonal_prior(k: int, diagonal: float, off: float) -> F8:
    """The same pseudo-counts for every class, [observed, true]."""
    return even(diagonal, off, k)


def prior_where_silent(posterior: F8, rows: LabelRows, class_mean: F8) -> F8:
    """Tasks that nobody labelled have the mean of the class beliefs, not their exp E log."""
    return np.where((rows.labels_per_task > 0)[:, None], posterior, class_mean)


@dataclass(frozen=True, eq=False)
class Believed:
    """A judge's posterior; tasks that nobody labelled have the mean of the class beliefs."""

    judge: Judge
    class_mean: F8

    def __call__(self, space: Workspace) -> Judged:
        """What is believed of a part's tasks."""
        return Judged(prior_where_silent(self.judge(space).posterior, space.shard, self.class_mean))


def bayes_learnt(fit: Found, judge: Judge) -> Learnt:
    """Means are published; what the E-step used is kept for `Result.infer`."""
    beliefs = fit.params
    assert isinstance(beliefs, Beliefs)
    return replace(
        learnt(fit, Believed(judge, beliefs.class_mean)),
        class_prior=beliefs.class_mean,
        confusion=np.ascontiguousarray(beliefs.confusion_mean.transpose(0, 2, 1)),
        extra={
            "theta": np.ascontiguousarray(beliefs.theta.transpose(0, 2, 1)),
            "class_weight": beliefs.class_prior,
        },
    )
