"""What every method for numbers shares: checks, gold, one fit for each part of the answers, intervals, the Result."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError, ParameterError
from ...core.intake.columns import pick
from ...core.intake.frames import to_polars
from ...core.params import Share
from ...core.result import Result, versions
from ...core.votes import Votes
from ...engine.em import Callback
from ...kinds.numbers.estimate import NumberEstimate, NumberWorkers
from ...kinds.numbers.votes import Numbers, number_votes, told_by
from ...maths.numbers.fit import Fit
from ...maths.numbers.intervals import LEAST_GOLD, Rescaled, gold_scale, interval
from ...maths.numbers.rows import Rows
from ..method import Method
from .gold import number_gold
from .packing import pack

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Part:
    """One part of the answers: its fit, the intervals, and what gold says of them."""

    fit: Fit
    low: F8
    high: F8
    scale: Rescaled | None


@dataclass(frozen=True, kw_only=True)
class NumberAggregator(Method):
    """A method for numbers. `level` is the chance that an interval is meant to hold the truth."""

    takes: ClassVar[str] = "numbers"
    level: Share = 0.9

    def fit(
        self,
        votes: Votes[Numbers] | Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,
        callback: Callback | None = None,  # noqa: ARG002
    ) -> Result:
        """Estimates, intervals and workers' biases of these votes, or of a table task, worker, value.

        `gold` is the known value of some tasks (a mapping or a table task, value): it stays put and teaches, and from
        ten of them on it sets the width of the intervals; `extra["gold_check"]` says how often they hold the truth.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        votes = as_numbers(votes)
        known = number_gold(gold, votes)
        golds = [None if known is None else known[:, j] for j in range(len(votes.answers.parts))]
        found = [self._part(rows, own, n_shards) for rows, own in zip(rows_of(votes), golds, strict=True)]
        fits = [part.fit for part in found]
        self.warn_unless_settled(all(fit.converged for fit in fits), max(fit.n_iter for fit in fits))
        result = self._result(votes, found, known)
        if known is None:
            return result
        return replace(result, extra={**result.extra, "gold_check": self._check(votes, known, found, n_shards)})

    @abstractmethod
    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:
        """The method itself, for one part of the answers."""

    def _part(self, rows: Rows, gold: F8 | None, n_shards: int) -> Part:
        try:
            fit = self.solve(rows, gold, n_shards)
            scale = None
            if gold is not None:
                scale = gold_scale(lambda some, left: self.solve(some, left, n_shards), rows, gold, self.level)
            low, high = interval(fit, gold, scale, self.level)
        except ValueError as error:
            raise DataError(str(error)) from error
        return Part(fit, low, high, scale)

    def _check(self, votes: Votes[Numbers], known: F8, found: Sequence[Part], n_shards: int) -> dict[str, Any]:
        """What the checked tasks say of the intervals, and of those of a fit without gold."""
        answered = votes.labels_per_task > 0
        mine = answered & ~np.isnan(known).any(axis=1)
        scales = [part.scale for part in found if part.scale is not None]
        if len(scales) < len(found):
            few = f"{int(mine.sum())} checked tasks are too few to measure intervals; {LEAST_GOLD} or more will do"
            return {"n": int(mine.sum()), "reason": few}
        held, before = [], []
        for j, rows in enumerate(rows_of(votes)):
            blind = self.solve(rows, None, n_shards)
            low, high = interval(blind, None, None, self.level)
            inside = (low <= known[:, j]) & (known[:, j] <= high)
            held.append(int(inside[mine].sum()))
            half = (high - low)[answered] / 2
            before.append(float(half.mean()) if np.isfinite(half).any() else None)
        ends = {"low": min(scale.low for scale in scales), "high": max(scale.high for scale in scales)}
        own = {"factor": [scale.factor for scale in scales], "shared": [scale.shared for scale in scales]}
        return {"n": int(mine.sum()), "held": held, "before": before, **ends, **own}

    def _result(self, votes: Votes[Numbers], found: Sequence[Part], known: F8 | None) -> Result:
        fits = [part.fit for part in found]
        parts = pl.Series("part", list(votes.answers.parts))

        def stack(name: str) -> F8:
            return np.stack([getattr(fit, name) for fit in fits], axis=1)

        first = fits[0]
        return Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=NumberEstimate(
                value=stack("mean"),
                variance=stack("variance"),
                low=np.stack([part.low for part in found], axis=1),
                high=np.stack([part.high for part in found], axis=1),
                parts=parts,
            ),
            picture=NumberWorkers(stack("bias"), stack("spread"), stack("slope"), stack("weight"), parts),
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=None if known is None else np.asarray(~np.isnan(known).any(axis=1)),
            trace=first.trace,
            stage=np.asarray(first.extra.get("stage", np.zeros(len(first.trace))), dtype=np.int64),
            n_iter=max(fit.n_iter for fit in fits),
            converged=all(fit.converged for fit in fits),
            extra=pack(fits),
            versions=versions(),
        )


def rows_of(votes: Votes[Numbers]) -> list[Rows]:
    """The rows of each part of the answers."""
    value = votes.answers.value
    return [
        Rows(votes.task, votes.worker, np.ascontiguousarray(value[:, j]), votes.weight, votes.n_tasks, votes.n_workers)
        for j in range(value.shape[1])
    ]


def as_numbers(votes: Any) -> Votes[Numbers]:
    """Votes of numbers as they are, a table task, worker, value as votes; anything else is told how to be read."""
    if isinstance(votes, Votes):
        if isinstance(votes.answers, Numbers):
            return votes
        raise DataError(
            f"numbers are needed, got {votes.kind.people}; read the file with kind='numbers' (--kind numbers), or take "
            "a method for these"
        )
    if isinstance(votes, str | Path):
        raise DataError(f"votes are needed, got the path {str(votes)!r}; read the file first: cw.read(path)")
    if isinstance(votes, np.ndarray | list | tuple):
        raise DataError("votes are needed; three columns go through cw.number_votes(task, worker, value)")
    frame = to_polars(votes)
    columns = dict(told_by(frame.columns) or {})
    wanted = ("task", "worker", *(columns or {"value": "value"}))
    picked, _ = pick(frame, columns, "the frame", (), wanted)
    parts = {name: picked.pop(name) for name in wanted[2:]}
    if list(parts) == ["value"]:
        return number_votes(picked.pop("task"), picked.pop("worker"), parts["value"], **picked)
    table = np.stack([series.cast(pl.Float64).to_numpy() for series in parts.values()], axis=1)
    names = [name.removeprefix("value_") for name in parts]
    return number_votes(picked.pop("task"), picked.pop("worker"), table, parts=names, **picked)
