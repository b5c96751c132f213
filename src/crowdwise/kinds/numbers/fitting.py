"""Known values of some tasks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.callback import Callback
from ...core.errors import DataError, ParameterError
from ...core.intake.columns import pick
from ...core.intake.frames import to_polars
from ...core.method import Method
from ...core.model import Model
from ...core.params import Share
from ...core.result import Result, versions
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ..classes.methods.infer import Policy, refuse_strangers
from .estimate import NumberEstimate, NumberWorkers
from .kind import Numbers, number_votes, told_by
from .maths.apply import apply, row_loglik, without_own
from .maths.intervals import LEAST_GOLD, Rescaled, gaussian_interval, gold_scale, interval
from .maths.rows import Fit, Linear, Rows

F8 = npt.NDArray[np.float64]


def number_truth(truth: Any, parts: tuple[str, ...]) -> pl.DataFrame:
    """Any way to write down truths as a table task, value[_<part>]..., as numbers."""
    names = [f"value_{part}" if part else "value" for part in parts]
    table = truth_table(truth, names, like=("value", "label"))
    for name in names:
        numbers = table[name].cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
        bad = table.filter(numbers.is_null() | ~numbers.is_finite().fill_null(False))
        if len(bad):
            raise DataError(
                f"the truth of task {quote([bad['task'][0]])} is {quote([bad[name][0]])}, which is no number"
            )
        table = table.with_columns(numbers.alias(name))
    return table


def number_gold(gold: Any, votes: Votes[Numbers]) -> F8 | None:
    """gold[task, part], NaN where it is not known; tasks that nobody answered are left out with a warning."""
    if gold is None:
        return None
    parts = votes.answers.parts
    table = number_truth(gold, parts)
    task, known = place_gold(table, votes.tasks)
    out = np.full((votes.n_tasks, len(parts)), np.nan)
    out[task[known]] = table.drop("task").to_numpy()[known]
    return out


# ----------------------------------------------------------------
# A fit of numbers as named arrays, for a run folder, and back: what a stranger may have changed is looked at.

# Arrays of a fit that are not in the result's own tables; those by worker have a row each.
_BY_WORKER = ("bias", "spread", "slope", "weight")
_LEFT_OUT = ("mean", "variance", "trace")


def pack(fits: Sequence[Fit]) -> dict[str, Any]:
    """fit.<part>.<name> -> array or number."""
    out: dict[str, Any] = {}
    for j, fit in enumerate(fits):
        _pack(fit, f"fit.{j}", out)
    return out


def _pack(fit: Fit, at: str, out: dict[str, Any]) -> None:
    out[f"{at}.method"] = fit.method
    for name in _BY_WORKER:
        out[f"{at}.{name}"] = np.asarray(getattr(fit, name))
    for name, value in fit.extra.items():
        if name == "members":
            for member, own in value.items():
                _pack(own, f"{at}.members.{member}", out)
        elif isinstance(value, Linear):
            for part in fields(Linear):
                out[f"{at}.linear.{part.name}"] = _plain(getattr(value, part.name))
        elif name != "stage":
            out[f"{at}.{name}"] = _plain(value)


def unpack(extra: Mapping[str, Any], n_parts: int, n_workers: int) -> list[Fit]:
    """The fits again; raises DataError where something is missing or no longer what it was."""
    try:
        return [_unpack(extra, f"fit.{j}", n_workers) for j in range(n_parts)]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"what the method has learnt is damaged or was not saved ({error})") from error


def _unpack(extra: Mapping[str, Any], at: str, n_workers: int) -> Fit:
    here = {name.removeprefix(f"{at}."): value for name, value in extra.items() if name.startswith(f"{at}.")}
    own = {name: _checked(value, name) for name, value in here.items() if not name.startswith("members.")}
    table = {name: own.pop(name) for name in _BY_WORKER}
    for name, values in table.items():
        if values.shape != (n_workers,):
            raise ValueError(f"{name} has shape {values.shape}")
    method = str(own.pop("method"))
    linear = {name.removeprefix("linear."): own.pop(name) for name in [*own] if name.startswith("linear.")}
    if linear:
        if any(linear[name].shape != (n_workers,) for name in ("a", "b", "c", "doubt")):
            raise ValueError("its tables have other workers")
        linear["empty"] = tuple(np.asarray(linear["empty"], dtype=np.float64).tolist())
        own["linear"] = Linear(**linear)
    members = list(dict.fromkeys(name.split(".")[1] for name in here if name.startswith("members.")))
    if members:
        own["members"] = {name: _unpack(extra, f"{at}.members.{name}", n_workers) for name in members}
    nothing = np.empty(0)
    return Fit(method, nothing, nothing, extra=own, **table)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, tuple | list):
        return np.asarray(value, dtype=np.float64)
    return value.item() if isinstance(value, np.generic) else value


def _checked(value: Any, name: str) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "fiub":
            raise ValueError(f"{name} holds {value.dtype} values")
        array: npt.NDArray[Any] = value
        return array
    if not isinstance(value, int | float | str | bool):
        raise ValueError(f"{name} is no number")
    return value


# ----------------------------------------------------------------
# What every method for numbers shares: checks, gold, one fit for each part of the answers, intervals, the Result.


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


# ----------------------------------------------------------------
# What a fit of numbers has learnt, ready to judge other answers of the same workers.


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
