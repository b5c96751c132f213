"""Ordinal types: every worker has a bias and a scale on the ladder of the classes, or does not look at the task.

    P(y <= l | z = k) = sigmoid((threshold[l] - k - bias[w]) / scale[w]),   (bias, scale) on a grid, thresholds shared

Beliefs over the types of each worker (13 × 9 pairs, those who always name one class, one who draws from the crowd's
answers) and over the classes, by variational EM. The graded-response model of Samejima (1969), Psychometrika Monograph
17, with workers in the place of persons; DeYoreo & Kottas (2018), doi:10.1080/10618600.2017.1316280, has it for raters.
Two numbers a worker tell little: where classes are confused out of order it goes astray (it is part of
`ordinal_committee` for crowds in which it does not). See `ordinal_prior` for a model that can leave the ladder.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...maths.kernels import Stats
from ...maths.ordered.types import Types
from ..base import Learnt
from ..confusion.base import ConfusionModel, Found, Params
from .base import InRounds

F8 = npt.NDArray[np.float64]


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
    """`extra` holds bias, scale and spammer (probability) of each worker; `prior_class` (tasks per class) is what is
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
