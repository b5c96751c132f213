"""Mean field: variational Bayes with the class prior held fixed, with one or two coins per worker.

    two:  y_iw | z_i = k ~ Cat(A[w, k]),   A[w, k] ~ Dir(prior_off + (prior_diagonal - prior_off) e_k)
    one:  y_iw = z_i with probability p[w], else any other class,   p[w] ~ Beta(prior_diagonal, prior_off)

Liu, Peng & Ihler (2012), Variational inference for crowdsourcing, NIPS 25. It differs from EM in one place, digamma
instead of the logarithm; that place is why it leans on workers with a record.
Fails under a prior that does not fit: with Beta(2, 1.4) assumed for Beta(2, 1) and one guesser who labels every task,
it believes the guesser (accuracy .50 on a sparse binary graph), and it is overconfident on sparse graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from ...core.errors import ParameterError
from ...core.rules import Proportions
from ...maths.coins import even
from ...maths.dirichlet import divergence, log_mean
from ..base import Learnt, Run, Spread
from ..confusion.base import ConfusionAggregator, ConfusionModel
from ..spread import Shape
from .base import BayesModel, PriorCount, bayes_learnt, diagonal_prior

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class MeanField(ConfusionAggregator):
    """The mean field of Liu et al.; `class_prior` None is uniform, else one probability per class, in class order.

    `coin` is "two" (a matrix per worker) or "one" (an accuracy per worker); `prior_diagonal` (2) and `prior_off` (1),
    at least 0.05, are the pseudo-counts of right and wrong labels.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> MeanField(coin="one").fit(votes).class_prior
    array([0.5, 0.5])
    """

    name: ClassVar[str] = "mean_field"
    coin: Literal["two", "one"] = "two"
    prior_diagonal: PriorCount = 2.0
    prior_off: PriorCount = 1.0
    class_prior: Annotated[tuple[float, ...], Proportions()] | None = None

    def model(self, shape: Shape) -> ConfusionModel:
        """Beliefs over workers only."""
        k = shape.n_classes
        given = np.full(k, 1 / k) if self.class_prior is None else np.asarray(self.class_prior, dtype=np.float64)
        if len(given) != k:
            raise ParameterError(f"class_prior has {len(given)} entries and the data have {k} classes")
        given = given / given.sum()
        if self.coin == "one":
            return OneCoinBeliefs(np.array([self.prior_diagonal, self.prior_off]), given)
        return FixedClasses(diagonal_prior(k, self.prior_diagonal, self.prior_off), given)

    def learn(self, data: Spread, run_: Run) -> Learnt:
        """The highest ELBO over the starts."""
        return bayes_learnt(*self.search(data, run_))


class FixedClasses(BayesModel):
    """Beliefs over matrices; the classes' probabilities are given."""

    def __init__(self, prior: F8, given: F8) -> None:
        super().__init__(prior, 0.0)
        self.given = given

    def classes(self, mass: F8) -> tuple[F8, F8, float]:  # noqa: ARG002
        """As given, whatever the data say."""
        return self.given, self.given, 0.0


class OneCoinBeliefs(FixedClasses):
    """Beliefs over one accuracy per worker: Beta(right, wrong), wrong labels even over the K - 1 other classes.

    Its prior is the pair of Beta parameters, or one pair per worker.
    """

    def with_history(self, history: F8 | None) -> Self:
        """Right and wrong labels of earlier projects stand beside the Beta parameters."""
        if history is None:
            return self
        right = np.einsum("wkk->w", history)
        return super().with_history(np.stack([right, history.sum(axis=(1, 2)) - right], axis=1))

    def rows(self, counts: F8) -> tuple[F8, F8, float]:
        """The matrices that E log p and E log (1 - p) stand for, their means, and the divergence."""
        k = counts.shape[1]
        right = np.einsum("wkk->w", counts)
        wrong = np.maximum(counts.sum(axis=(1, 2)) - right, 0.0)
        prior = np.broadcast_to(self.prior, (len(right), 2))
        belief = prior + np.stack([right, wrong], axis=1)  # worker, (right, wrong)
        share = np.array([1.0, 1.0 / max(k - 1, 1)])
        theta = _coin(np.exp(log_mean(belief, axis=1)) * share, k)
        mean = _coin(belief / belief.sum(axis=1, keepdims=True) * share, k)
        if k == 1:
            mean = np.ones_like(mean)
        return theta, mean, divergence(belief, prior, axis=1)


def _coin(pair: F8, k: int) -> F8:
    """(right, each wrong) of every worker as a matrix."""
    return even(pair[:, 0, None, None], pair[:, 1, None, None], k)
