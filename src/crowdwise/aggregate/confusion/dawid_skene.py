"""Dawid-Skene: one confusion matrix per worker, fitted by EM.

    z_i ~ Cat(class_prior),   y_iw | z_i = k ~ Cat(confusion[w, k])

Dawid & Skene (1979), Applied Statistics 28(1), doi:10.2307/2346806.
Fails on workers with few labels (their matrices are noise and the posterior grows overconfident: see
`hierarchical`), with one label per task, and with workers who copy each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import MethodName, NonNegative
from ..registry import card
from ..spread import Shape, Spread
from .base import ConfusionAggregator, ConfusionModel, told_by
from .starts import Start

F8 = npt.NDArray[np.float64]

# Maximum likelihood puts zeros where nothing was counted; among the labels that a worker has used they count as this.
FLOOR = 1e-10


@dataclass(frozen=True, kw_only=True)
class DawidSkene(ConfusionAggregator):
    """Maximum a posteriori Dawid-Skene with `smoothing` pseudo-counts in every cell.

    `smoothing_diagonal` (default: the same) sets the diagonal's pseudo-count, `prior_class` that of each class.
    `smoothing=0` is maximum likelihood. Any value from 0 up makes sense; 0.01 to 1 is usual. `init` names a method
    whose posterior is a start beside the vote shares (a moment method, say); the higher objective wins.

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

    def starts(self, data: Spread) -> list[Start]:
        """Vote shares, random mixtures, and what `init` says."""
        found = super().starts(data)
        if self.init == "majority_vote":
            return found
        return [*found, told_by(self.init, data, self.seed)]

    def model(self, shape: Shape) -> ConfusionModel:
        """Pseudo-counts off and on the diagonal."""
        diagonal = self.smoothing if self.smoothing_diagonal is None else self.smoothing_diagonal
        prior = np.full((shape.n_classes, shape.n_classes), float(self.smoothing))
        np.fill_diagonal(prior, diagonal)
        kind = ConfusionModel if prior.min() > 0 else MaximumLikelihood
        return kind(prior, self.prior_class)


class MaximumLikelihood(ConfusionModel):
    """Where some pseudo-counts are zero: cells without counts are floored so that no class is lost for good."""

    def confusion(self, counts: F8) -> F8:
        """Counts, floored for the labels that the worker has used; a worker without labels answers uniformly."""
        theta = counts + self.prior
        used = theta.sum(axis=2, keepdims=True) > 0
        used |= ~used.any(axis=1, keepdims=True)
        theta = np.where(used, np.maximum(theta, FLOOR), 0.0)
        theta /= theta.sum(axis=1, keepdims=True)
        return np.asarray(theta)

    def log_confusion_density(self, theta: F8) -> float:
        """Zero pseudo-counts add nothing, whatever the logarithm of their cell."""
        prior = np.broadcast_to(self.prior, theta.shape)
        positive = prior > 0
        return float((prior[positive] * np.log(theta[positive])).sum())
