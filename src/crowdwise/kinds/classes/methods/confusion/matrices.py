"""Confusion-matrix methods fitted by EM: Dawid-Skene and its restrictions to fewer parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from .....core.arrays import F8
from .....core.method_registry import card
from .....core.params import Above, Below, MethodName, NonNegative, Positive
from .....stats.coins import even
from ..partitioned import PartitionedVotes, VotesShape
from .base import ConfusionAggregator, ConfusionModel, ReliableStart, Start, start_from_method


@dataclass(frozen=True, kw_only=True)
class OneCoin(ConfusionAggregator):
    """One-coin: one accuracy per worker, errors uniform over the other classes, fitted by EM.

        P(y_iw = z_i) = p_w,   every wrong label (1 - p_w) / (K - 1)

    The symmetric Dawid-Skene model; Zhang, Chen, Zhou & Jordan (2016), JMLR 17(102). Few parameters, so it is steady
    on sparse data. Fails with class-biased workers, which it cannot describe: on bluebird it falls to chance where
    Dawid-Skene is at .90.

    Args:
        seed: Seed for ties and random starts.
        max_iter: Maximum number of EM iterations.
        tol: Relative change of the objective at which EM stops.
        n_init: Number of starts; the one with the highest objective is used.
        accelerate: Whether to extrapolate the EM steps (SQUAREM).
        smoothing: Pseudo-count of right labels of each worker, usually 0.01 to 2; wrong labels have K - 1 times as
            many, so that the prior mean is the accuracy of guessing.
        prior_class: Pseudo-count of each class.

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> OneCoin().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "one_coin"
    smoothing: Positive = 0.5
    prior_class: NonNegative = 0.0

    def model(self, shape: VotesShape) -> ConfusionModel:  # noqa: ARG002
        """One probability per worker."""
        return CoinModel(np.full((1, 1), float(self.smoothing)), self.prior_class)


class CoinModel(ConfusionModel):
    """One probability per worker; prior[0, 0] is the smoothing."""

    def confusion(self, counts: F8) -> F8:
        """Estimate the share of right labels, after adding `smoothing` right and (K - 1) · smoothing wrong ones."""
        a, k = float(self.prior[0, 0]), counts.shape[1]
        right = np.einsum("wkk->w", counts)
        p = (right + a) / (counts.sum(axis=(1, 2)) + k * a)
        return coin_matrix(p[:, None].repeat(k, axis=1))

    def log_confusion_density(self, theta: F8) -> float:
        """Return the log density of the workers' Beta priors."""
        return coin_density(theta[:, 0, 0], theta.shape[1], float(self.prior[0, 0]))


def coin_matrix(p: F8) -> F8:
    """Return theta[worker, observed, true] with p[worker, true] on the diagonal and uniform errors."""
    k = p.shape[1]
    return np.ones((len(p), 1, 1)) if k == 1 else even(p[:, None], ((1 - p) / (k - 1))[:, None], k)


def coin_density(p: F8, k: int, smoothing: float) -> float:
    """Return the log density of the Beta prior of the M-step: `smoothing` right, (k - 1) · smoothing wrong."""
    if k == 1:
        return 0.0
    return float(smoothing * (np.log(p) + (k - 1) * np.log(1 - p)).sum())


@dataclass(frozen=True, kw_only=True)
class ConfusionVector(ConfusionAggregator):
    """Confusion vector: one accuracy per worker and true class, errors uniform over the other classes, fitted by EM.

        P(y_iw = z_i | z_i = k) = p_wk,   every wrong label (1 - p_wk) / (K - 1)

    Between one-coin and full matrices: it describes class-biased workers with K numbers each.
    Fails where errors concentrate on particular classes (cat for dog), as it assumes uniform errors.
    Raykar et al. (2010), JMLR 11(43), is its binary case (sensitivity and specificity).

    `smoothing` (> 0) counts each worker that many times right and K - 1 times as often wrong in every class.

    Args:
        smoothing: Pseudo-count of right labels of each worker in each class; wrong labels have K - 1 times as many.
            Larger values pull every accuracy toward that of guessing.
        prior_class: Pseudo-count of each class; larger values make the class frequencies more equal, 0 leaves them as
            estimated.

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> ConfusionVector().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "confusion_vector"
    smoothing: Positive = 1.0
    prior_class: NonNegative = 0.0

    def model(self, shape: VotesShape) -> ConfusionModel:  # noqa: ARG002
        """One probability per worker and class."""
        return _Vector(np.full((1, 1), float(self.smoothing)), self.prior_class)


class _Vector(ConfusionModel):
    def confusion(self, counts: F8) -> F8:
        a, k = float(self.prior[0, 0]), counts.shape[1]
        right = np.einsum("wkk->wk", counts)
        return coin_matrix((right + a) / (counts.sum(axis=1) + k * a))

    def log_confusion_density(self, theta: F8) -> float:
        return coin_density(np.einsum("wkk->wk", theta), theta.shape[1], float(self.prior[0, 0]))


# Maximum likelihood gives zeros to cells without counts; among the labels that a worker has used they get this floor.
FLOOR = 1e-10


@dataclass(frozen=True, kw_only=True)
class DawidSkene(ConfusionAggregator):
    """Dawid-Skene: one confusion matrix per worker, fitted by EM.

        z_i ~ Cat(class_prior),   y_iw | z_i = k ~ Cat(confusion[w, k])

    Dawid & Skene (1979), Applied Statistics 28(1), doi:10.2307/2346806.
    Fails on workers with few labels (their matrices are noise and the posterior grows overconfident: see
    `hierarchical`), with one label per task, and with workers who copy each other.

    Args:
        seed: Seed for ties and random starts.
        max_iter: Maximum number of EM iterations.
        tol: Relative change of the objective at which EM stops.
        n_init: Number of starts; the one with the highest objective is used.
        accelerate: Whether to extrapolate the EM steps (SQUAREM).
        smoothing: Pseudo-count of every cell (maximum a posteriori); 0 is maximum likelihood, 0.01 to 1 is usual.
        smoothing_diagonal: Pseudo-count of the diagonal; that of the other cells by default.
        prior_class: Pseudo-count of each class.
        init: Method whose posterior is a further start besides the vote shares (a moment method, for example).

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> DawidSkene().fit(votes).class_prior
    array([0.5, 0.5])
    """

    name: ClassVar[str] = "dawid_skene"
    smoothing: NonNegative = 0.01
    smoothing_diagonal: NonNegative | None = None
    prior_class: NonNegative = 0.0
    init: MethodName = "majority_vote"

    def __post_init__(self) -> None:
        super().__post_init__()
        card(self.init)

    def starts(self, data: PartitionedVotes) -> list[Start]:
        """Return vote shares, random mixtures, and the posterior of `init`."""
        starts = super().starts(data)
        if self.init == "majority_vote":
            return starts
        return [*starts, start_from_method(self.init, data, self.seed)]

    def model(self, shape: VotesShape) -> ConfusionModel:
        """Return the model with pseudo-counts off and on the diagonal."""
        diagonal = self.smoothing if self.smoothing_diagonal is None else self.smoothing_diagonal
        prior = np.full((shape.n_classes, shape.n_classes), float(self.smoothing))
        np.fill_diagonal(prior, diagonal)
        kind = ConfusionModel if prior.min() > 0 else MaximumLikelihood
        return kind(prior, self.prior_class)


class MaximumLikelihood(ConfusionModel):
    """Model with some zero pseudo-counts: cells without counts are floored so that no class is lost for good."""

    def confusion(self, counts: F8) -> F8:
        """Normalise counts, floored for labels that the worker has used; workers without labels answer uniformly."""
        theta = counts + self.prior
        used = theta.sum(axis=2, keepdims=True) > 0
        used |= ~used.any(axis=1, keepdims=True)
        theta = np.where(used, np.maximum(theta, FLOOR), 0.0)
        theta /= theta.sum(axis=1, keepdims=True)
        return np.asarray(theta)

    def log_confusion_density(self, theta: F8) -> float:
        """Return the log density; zero pseudo-counts contribute nothing, whatever the logarithm of their cell."""
        prior = np.broadcast_to(self.prior, theta.shape)
        positive = prior > 0
        return float((prior[positive] * np.log(theta[positive])).sum())


@dataclass(frozen=True, kw_only=True)
class Pooled(ConfusionAggregator):
    """Pooled: one confusion matrix for the whole crowd, fitted by EM.

        y_iw | z_i = k ~ Cat(confusion[k])   for every worker w

    Dawid & Skene (1979) with all workers treated as one. It learns which classes the crowd confuses, but nothing
    about single workers: appropriate when workers have a handful of labels each. Fails as soon as workers differ.

    `smoothing` pseudo-counts in every cell of the one matrix, `prior_class` in every class (smoothing > 0).

    Args:
        smoothing: Pseudo-count of every cell of the one matrix; larger values pull it toward that of guessing.
        prior_class: Pseudo-count of each class; larger values make the class frequencies more equal, 0 leaves them as
            estimated.

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> Pooled().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "pooled"
    smoothing: Positive = 0.01
    prior_class: NonNegative = 0.0

    def model(self, shape: VotesShape) -> ConfusionModel:
        """Return the model with one matrix and the same pseudo-count everywhere."""
        return _Pool(np.full((shape.n_classes,) * 2, float(self.smoothing)), self.prior_class)


class _Pool(ConfusionModel):
    def confusion(self, counts: F8) -> F8:
        total = counts.sum(axis=0) + self.prior
        return np.broadcast_to(total / total.sum(axis=0), counts.shape)

    def log_confusion_density(self, theta: F8) -> float:
        return float((self.prior * np.log(theta[0])).sum()) if len(theta) else 0.0


@dataclass(frozen=True, kw_only=True)
class ZenCrowd(ConfusionAggregator):
    """ZenCrowd: one reliability per worker, with a uniform class prior, fitted by EM.

        P(y_iw = z_i) = p_w,   every wrong label (1 - p_w) / (K - 1),   z_i uniform

    Demartini, Difallah & Cudré-Mauroux (2012), WWW, doi:10.1145/2187836.2187900. `one_coin` with the class prior
    held uniform: a frequent class does not attract further tasks, which prevents the collapse of `one_coin` where
    classes are imbalanced. Fails with class-biased workers, which it cannot describe.

    `start` (1/K..1) is every worker's reliability before the first step; `smoothing` (> 0, usually 0.01 to 2)
    counts each worker that many times right and K - 1 times as often wrong.

    Args:
        smoothing: Pseudo-count of right labels of each worker; wrong labels have K - 1 times as many. Larger values
            pull every reliability toward that of guessing.
        start: Probability of a right label of every worker in the first E-step; values near 1 start from sharper
            majorities, 1 / K starts from uniform posteriors, and below 1 / K votes count against their class.

    >>> from crowdwise import Annotations
    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> ZenCrowd().fit(votes).class_prior
    array([0.5, 0.5])
    """

    name: ClassVar[str] = "zencrowd"
    smoothing: Positive = 0.01
    start: Annotated[float, Above(0), Below(1)] = 0.8

    def model(self, shape: VotesShape) -> ConfusionModel:  # noqa: ARG002
        """Return the model with one probability per worker and a fixed class prior."""
        return _Even(np.full((1, 1), float(self.smoothing)), 0.0)

    def starts(self, data: PartitionedVotes) -> list[Start]:
        """Return the E-step at equal reliabilities, then the usual restarts of confusion methods."""
        odds = self.start * max(data.n_classes - 1, 1) / (1 - self.start)
        return [ReliableStart(odds), *super().starts(data)[1:]]


class _Even(CoinModel):
    def class_prior(self, mass: F8) -> F8:
        return np.full(len(mass), 1 / len(mass))
