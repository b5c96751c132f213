"""What a fit of probabilities has learnt, ready to judge other answers of the same workers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.model import Model
from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...kinds.probabilities.estimate import ProbabilityEstimate, ProbabilityWorkers
from ...kinds.probabilities.votes import Probabilities
from ...maths.probabilities.fit import Fit
from .. import registry
from ..strangers import Policy, refuse_strangers
from .base import ProbabilityAggregator, rows_of

F8 = npt.NDArray[np.float64]
_OWN = ("shift", "gap", "spread", "weight")


@dataclass(frozen=True, eq=False)
class ProbabilityModel(Model[Votes[Probabilities]]):
    """A method and what it learnt; votes have the workers of the fit, by code."""

    method: ProbabilityAggregator
    fit: Fit

    def posterior(self, votes: Votes[Probabilities]) -> F8:
        """The probability of every task."""
        return self.method.judge(rows_of(votes), self.fit)


def model_of(result: Result) -> ProbabilityModel:
    """The model behind a result."""
    picture: Any = result.picture
    own: dict[str, Any] = {name: getattr(picture, name) for name in _OWN}
    facts: dict[str, Any] = {
        name: float(result.extra.get(name, usual)) for name, usual in (("design", 1.0), ("share", 0.5))
    }
    method = registry.method(result.method, **dict(result.params))
    return ProbabilityModel(method, Fit(np.empty(0), **own, **facts))


def infer(result: Result, votes: Votes[Probabilities], unknown_workers: Policy) -> Result:
    """What the same workers' answers say of other tasks."""
    old, here = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, here, unknown_workers)
    model = model_of(result)
    heard = np.maximum(result.labels_per_worker, 1e-9)
    own: dict[str, Any] = {}
    for name in _OWN:
        values = getattr(model.fit, name)
        usual = float(np.average(values, weights=heard)) if len(values) else 0.0
        own[name] = np.where(here, values[old] if len(values) else usual, usual)
    fit = replace(model.fit, **own)
    return replace(
        result,
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=ProbabilityEstimate(ProbabilityModel(model.method, fit).posterior(votes)),
        picture=ProbabilityWorkers(**own),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        gold=None,
    )
