"""What a fit of numbers has learnt, ready to judge other answers of the same workers."""

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
from ...kinds.numbers.estimate import NumberEstimate
from ...kinds.numbers.votes import Numbers
from ...maths.numbers.apply import apply, row_loglik, without_own
from ...maths.numbers.fit import Fit
from ...maths.numbers.intervals import gaussian_interval
from ...maths.numbers.rows import Rows
from ..strangers import Policy, refuse_strangers
from .base import rows_of
from .packing import unpack

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NumberModel(Model[Votes[Numbers]]):
    """One fit for each part of the answers; votes have the workers of the fit, by code."""

    fits: tuple[Fit, ...]

    def posterior(self, votes: Votes[Numbers]) -> tuple[F8, F8]:
        """Mean and variance of every task and part."""
        return _stack([apply(fit, rows) for fit, rows in self._parts(votes)])

    def without_own(self, votes: Votes[Numbers]) -> tuple[F8, F8]:
        """Mean and variance of the task of each row and part, by everybody else."""
        return _stack([without_own(fit, rows) for fit, rows in self._parts(votes)])

    def row_loglik(self, votes: Votes[Numbers]) -> F8:
        """Log density of each answer given everybody else's, summed over its parts."""
        return np.asarray(sum(row_loglik(fit, rows) for fit, rows in self._parts(votes)))

    def _parts(self, votes: Votes[Numbers]) -> list[tuple[Fit, Rows]]:
        return list(zip(self.fits, rows_of(votes), strict=True))


def _stack(found: list[tuple[F8, F8]]) -> tuple[F8, F8]:
    return np.stack([mean for mean, _ in found], axis=1), np.stack([variance for _, variance in found], axis=1)


def model_of(result: Result) -> NumberModel:
    """The model behind a result."""
    assert isinstance(result.estimate, NumberEstimate)
    return NumberModel(tuple(unpack(result.extra, len(result.estimate.parts), len(result.workers))))


def infer(result: Result, votes: Votes[Numbers], unknown_workers: Policy) -> Result:
    """What the same workers' answers say of other tasks."""
    assert isinstance(result.estimate, NumberEstimate)
    if list(votes.answers.parts) != result.estimate.parts.to_list():
        raise DataError(f"{result.method} was fitted on other parts than {quote(votes.answers.names)}; fit again")
    old, known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, known, unknown_workers)
    model = result.model
    assert isinstance(model, NumberModel)
    index, strange = np.where(known, old, len(result.workers)), not known.all()
    fits = tuple(_with_average(fit, result.labels_per_worker) if strange else fit for fit in model.fits)
    judged = replace(votes, worker=index[votes.worker].astype(np.int32), workers=_widened(result.workers, strange))
    mean, variance = NumberModel(fits).posterior(judged)
    low, high = gaussian_interval(mean, variance, float(result.params.get("level", 0.9)))
    picture = replace(
        result.picture,  # type: ignore[type-var]
        **{n: np.where(known[:, None], getattr(result.picture, n)[old], np.nan) for n in ("bias", "slope")},
        **{n: np.where(known[:, None], getattr(result.picture, n)[old], 0.0) for n in ("spread", "weight")},
    )
    return replace(
        result,
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=NumberEstimate(mean, variance, low, high, result.estimate.parts),
        picture=picture,
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        gold=None,
        extra={},
    )


def _widened(workers: pl.Series, strange: bool) -> pl.Series:
    """The workers and, where there are strangers, one more who stands for them all."""
    return pl.concat([workers.cast(pl.String), pl.Series([""], dtype=pl.String)]) if strange else workers


def _with_average(fit: Fit, labels: npt.NDArray[np.int64]) -> Fit:
    """The fit with one worker more, the average of the others by their answers."""
    n = len(labels)

    def wider(value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.ndim == 0 or len(value) != n or value.dtype.kind != "f":
            return value
        return np.concatenate([value, np.average(value, axis=0, weights=np.maximum(labels, 1e-9))[None]])

    extra = {name: wider(value) for name, value in fit.extra.items()}
    if "linear" in extra:
        linear = extra["linear"]
        extra["linear"] = replace(linear, **{name: wider(getattr(linear, name)) for name in ("a", "b", "c", "doubt")})
    if "members" in extra:
        extra["members"] = {name: _with_average(member, labels) for name, member in extra["members"].items()}
    own = {name: wider(getattr(fit, name)) for name in ("bias", "spread", "slope", "weight")}
    return replace(fit, extra=extra, **own)
