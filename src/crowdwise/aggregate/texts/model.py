"""What a fit of texts has learnt, ready to judge other answers of the same workers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError
from ...core.model import Model
from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...kinds.texts.answers import Texts
from ...kinds.texts.estimate import TextEstimate
from .. import registry
from ..strangers import Policy, refuse_strangers
from .base import estimate_of, picture_of, text_gold
from .work import Work, distance_of


@dataclass(frozen=True, eq=False)
class TextModel(Model[Votes[Texts]]):
    """The method and the weights of its workers; votes have the workers of the fit, by code."""

    method: Any
    weight: npt.NDArray[np.float64]

    def work(self, votes: Votes[Texts]) -> Work:
        """The votes made ready."""
        votes, known = text_gold(None, votes)
        return Work(votes, known, distance_of(votes.answers, self.method.distance_name(votes), None))

    def posterior(self, votes: Votes[Texts]) -> TextEstimate:
        """The text of every task."""
        work = self.work(votes)
        return estimate_of(self.method.judge(work, self.weight), work)


def model_of(result: Result) -> TextModel:
    """The model behind a result."""
    if "worker_weight" not in result.extra:
        raise DataError(f"what {result.method} has learnt is not in this result; fit again")
    fields = registry.get(result.method).__dataclass_fields__
    known: dict[str, Any] = {name: value for name, value in result.params.items() if name in fields}
    if str(result.extra.get("reason", "")).startswith("the answer in the middle"):
        known["choose"] = "answers"  # what was chosen stays so, whatever the new answers look like
    elif "choose" in fields:
        known["choose"] = "words"
    return TextModel(registry.method(result.method, **known), np.asarray(result.extra["worker_weight"]))


def infer(result: Result, votes: Votes[Texts], unknown_workers: Policy) -> Result:
    """What the same workers' answers say of other tasks."""
    old, known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, known, unknown_workers)
    model = result.model
    assert isinstance(model, TextModel)
    usual = float(np.average(model.weight, weights=np.maximum(result.labels_per_worker, 1e-9)))
    weight = np.where(known, model.weight[old], usual)
    model = replace(model, weight=weight)
    estimate = model.posterior(votes)
    return replace(
        result,
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=estimate,
        picture=picture_of(model.work(votes), weight, estimate),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        gold=None,
        extra={},
    )
