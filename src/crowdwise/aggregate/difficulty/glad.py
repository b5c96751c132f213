"""GLAD: how likely a label is right depends on the worker's ability and on the task's difficulty.

    P(y_iw = z_i) = sigma(ability[w] / difficulty[i]),   every wrong label alike,   z_i uniform
    ability ~ N(prior_ability, prior_sd²),   -log difficulty ~ N(prior_easiness, prior_sd²)

Whitehill, Ruvolo, Wu, Bergsma & Movellan (2009), Whose vote should count more, NIPS 22. The authors alternate E-steps
with gradient M-steps; the gradient of the marginal is the same (Fisher's identity), so it is climbed itself, by L-BFGS.
A negative ability is an adversary's. Fails with class-biased workers, and with few labels per task a difficulty is
mostly its prior.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative, Positive
from ...core.result import Result
from ...core.rules import Between
from ...core.vocabulary import lookup
from ...engine.ascent import Point, climb
from ...kinds.classes.annotations import Annotations
from ...maths.ability import ability_pass
from ..base import Aggregator, Run, Solution
from ..confusion.one_coin import coin_matrix
from ..gold import Gold
from ..models import ClassModel

F8 = npt.NDArray[np.float64]

# Bounds of log easiness: beyond them every answer is certain or a guess. The prior keeps well inside them.
EASINESS = 5.0


@dataclass(frozen=True, kw_only=True)
class GLAD(Aggregator):
    """`prior_ability` and `prior_easiness` are the means of the priors, `prior_sd` (> 0) their common spread.

    `result.difficulty` is that of each task, `result.extra["ability"]` that of each worker.

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], [*"abcabc"], [*"xxxxxy"])
    >>> easy, hard = GLAD().fit(votes).difficulty
    >>> bool(easy < hard)
    True
    """

    name: ClassVar[str] = "glad"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("ability",)
    prior_ability: float = 1.0
    prior_easiness: Annotated[float, Between(-EASINESS, EASINESS)] = 1.0
    prior_sd: Positive = 1.0
    max_iter: Count = 500
    tol: NonNegative = 1e-8

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """Climb the marginal log posterior from the prior means."""
        m, n, k = annotations.n_workers, annotations.n_tasks, annotations.n_classes
        known = None if gold is None else gold.label
        mean = np.concatenate([np.full(m, self.prior_ability), np.full(n, self.prior_easiness)])

        def objective(x: F8) -> Point:
            slope = ability_pass(annotations, x[:m], np.clip(x[m:], -EASINESS, EASINESS), known)
            off = (x - mean) / self.prior_sd**2
            return Point(
                slope.log_likelihood - float(off @ (x - mean)) / 2,
                np.concatenate([slope.ability, slope.easiness]) - off,
                np.concatenate([slope.ability_bend, slope.easiness_bend]) + self.prior_sd**-2,
            )

        found = climb(objective, mean, max_iter=self.max_iter, tol=self.tol, callback=run.callback)
        ability, easiness = found.x[:m], np.clip(found.x[m:], -EASINESS, EASINESS)
        posterior = ability_pass(annotations, ability, easiness, known).posterior
        return Solution(
            posterior=posterior,
            class_prior=np.full(k, 1 / k),
            confusion=_on_average(ability, easiness, k),
            difficulty=np.exp(-easiness),
            trace=found.trace,
            n_iter=found.n_iter,
            converged=found.converged,
            extra={"ability": ability, "easiness": easiness, "prior_easiness": self.prior_easiness},
        )

    def silent(self) -> Mapping[str, float]:
        """The prior's."""
        return {"easiness": self.prior_easiness, "difficulty": float(np.exp(-self.prior_easiness))}

    @staticmethod
    def fitted(result: Result) -> AbilityModel | None:
        """Abilities and easiness."""
        own = result.extra
        if "ability" not in own:
            return None
        return AbilityModel(result, own["ability"], own["easiness"], own["prior_easiness"])


def _on_average(ability: F8, easiness: F8, k: int) -> F8:
    """Confusion of each worker over tasks of all difficulties: the mean of sigma over quantiles of easiness."""
    ease = np.exp(np.quantile(easiness, np.linspace(0.02, 0.98, 25)))
    p = np.mean([1 / (1 + np.exp(-np.clip(ability * x, -500, 500))) for x in ease], axis=0)
    return np.ascontiguousarray(coin_matrix(p[:, None].repeat(k, axis=1)).transpose(0, 2, 1))


@dataclass(frozen=True, eq=False)
class AbilityModel(ClassModel):
    """ability[worker] and easiness[task]; tasks that were there keep their easiness, new ones have the prior's."""

    ability: F8
    easiness: F8
    prior_easiness: float

    def posterior(self, votes: Annotations) -> F8:
        """By ability and easiness; a new worker has the crowd's ability."""
        task, known = lookup(self.result.tasks, votes.tasks)
        easiness = np.where(known, self.easiness[task], self.prior_easiness)
        return ability_pass(votes, self.spread(self.ability, votes.workers), easiness).posterior
