"""What a fit of comparisons has learnt: other pairs of the same items, with or without new answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.model import Model
from ...core.result import Result
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...kinds.comparisons.answers import Comparisons
from ...kinds.comparisons.estimate import ComparisonEstimate, ComparisonWorkers
from ...kinds.comparisons.rows import sides_of_tasks
from ...maths.comparisons.fit import outcome
from ..strangers import Policy, refuse_strangers

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ComparisonModel(Model[Votes[Comparisons]]):
    """Scores of the items, the crowd's ties, and how far each worker can be trusted; items and workers by code."""

    score: F8
    tie_level: float
    tie_spread: float
    reliability: F8

    def posterior(self, votes: Votes[Comparisons]) -> F8:
        """chance[task, outcome]: what the scores say of the task's two items, and the answers to it on top."""
        left, right = sides_of_tasks(votes)
        heard = left >= 0
        chance = np.full((votes.n_tasks, 3), 1 / 3)
        chance[heard] = outcome(self.score, left[heard], right[heard], self.tie_level, self.tie_spread)
        return chance

    def row_loglik(self, votes: Votes[Comparisons]) -> F8:
        """Log-likelihood of each answer under the scores and its worker's reliability; of a tie under the crowd's."""
        said = votes.answers
        p = outcome(
            self.score, said.left.astype(np.int64), said.right.astype(np.int64), self.tie_level, self.tie_spread
        )
        e = self.reliability[votes.worker]
        e = np.where(np.isnan(e), np.nanmean(self.reliability) if np.isfinite(self.reliability).any() else 0.5, e)
        side = np.where(said.outcome == 1, 1, 0)
        rows = np.arange(len(votes))
        follows = e * p[rows, side] + (1 - e) * p[rows, 1 - side]
        return np.log(np.maximum(np.where(said.outcome == 2, p[:, 2], follows), 1e-300))


def model_of(result: Result) -> ComparisonModel:
    """The model behind a result."""
    estimate, picture = result.estimate, result.picture
    assert isinstance(estimate, ComparisonEstimate)
    assert isinstance(picture, ComparisonWorkers)
    level, spread = result.extra.get("tie_level"), result.extra.get("tie_spread", 0.0)
    for value in (level, spread):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise DataError("what the method has learnt is damaged (the rate of ties is no number)")
    return ComparisonModel(
        estimate.score, -np.inf if level is None else float(level), float(spread), picture.reliability
    )


def infer(result: Result, votes: Votes[Comparisons], unknown_workers: Policy) -> Result:
    """Winners of other pairs of the same items. The answers tell which pairs are meant; scores are held fixed."""
    estimate = result.estimate
    assert isinstance(estimate, ComparisonEstimate)
    table, there = lookup(estimate.items, votes.answers.items)
    if not there.all():
        strange = votes.answers.items.filter(~pl.Series(there))
        raise DataError(f"items {quote(strange)} were not there when {result.method} was fitted; fit again")
    old, known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, known, unknown_workers)
    said = votes.answers
    moved = table if len(table) else np.zeros(0, dtype=np.int32)
    answers = Comparisons(moved[said.left], moved[said.right], said.outcome, estimate.items)
    judged = replace(votes, answers=answers)
    model = result.model
    assert isinstance(model, ComparisonModel)
    left, right = sides_of_tasks(judged)
    picture: Any = result.picture
    own = {n: np.where(known, getattr(picture, n)[old], np.nan) for n in ComparisonWorkers.rules} if len(old) else {
        n: np.empty(0) for n in ComparisonWorkers.rules}  # fmt: skip
    return replace(
        result,
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=replace(estimate, left=left, right=right, chance=model.posterior(judged)),
        picture=ComparisonWorkers(**own),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        gold=None,
    )
