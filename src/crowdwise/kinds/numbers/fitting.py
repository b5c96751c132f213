"""Base class of the methods for numbers, gold values, and the model behind a result."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I8
from ...core.errors import DataError
from ...core.intake.columns import pick
from ...core.method import FitOptions, FitOutput, Method
from ...core.model import Model
from ...core.params import Share
from ...core.result import Result, UnknownWorkers
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import quote
from ...core.votes import Votes
from .answers import Numbers, detect_columns, number_votes
from .estimate import NumberEstimate, NumberWorkers
from .maths.apply import apply, row_loglik, without_own
from .maths.intervals import LEAST_GOLD, Rescaled, gaussian_interval, gold_scale, interval
from .maths.rows import Linear, NumberFit, NumberRows


def number_truth(truth: Any, parts: tuple[str, ...]) -> pl.DataFrame:
    """Convert truths in any accepted form to a table task, value[_<part>]... of numbers."""
    names = [f"value_{part}" if part else "value" for part in parts]
    table = truth_table(truth, names, aliases=("value", "label"))
    for name in names:
        numbers = table[name].cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
        bad = table.filter(numbers.is_null() | ~numbers.is_finite().fill_null(False))
        if len(bad):
            raise DataError(
                f"the truth of task {quote([bad['task'][0]])} is {quote([bad[name][0]])}, which is not a number"
            )
        table = table.with_columns(numbers.alias(name))
    return table


def number_gold(gold: Any, votes: Votes[Numbers]) -> F8 | None:
    """Return gold[task, part], NaN where unknown. Gold of tasks without answers is dropped with a warning."""
    if gold is None:
        return None
    parts = votes.answers.parts
    table = number_truth(gold, parts)
    task, matched = place_gold(table, votes.tasks)
    out = np.full((votes.n_tasks, len(parts)), np.nan)
    out[task[matched]] = table.drop("task").to_numpy()[matched]
    return out


# ----------------------------------------------------------------
# Fits as named arrays in a run folder. Loaded arrays are validated: the folder may have been edited.

# Fields of a fit with one entry per worker.
_BY_WORKER = ("bias", "spread", "slope", "weight")


def pack(fits: Sequence[NumberFit]) -> dict[str, Any]:
    """Flatten fits to a mapping of fit.<part>.<name> to an array or number."""
    out: dict[str, Any] = {}
    for j, fit in enumerate(fits):
        _pack(fit, f"fit.{j}", out)
    return out


def _pack(fit: NumberFit, at: str, out: dict[str, Any]) -> None:
    out[f"{at}.method"] = fit.method
    for name in _BY_WORKER:
        out[f"{at}.{name}"] = np.asarray(getattr(fit, name))
    for name, value in fit.extra.items():
        if name == "members":
            for member, member_fit in value.items():
                _pack(member_fit, f"{at}.members.{member}", out)
        elif isinstance(value, Linear):
            for part in fields(Linear):
                out[f"{at}.linear.{part.name}"] = _plain(getattr(value, part.name))
        elif name != "stage":
            out[f"{at}.{name}"] = _plain(value)


def unpack(extra: Mapping[str, Any], n_parts: int, n_workers: int) -> list[NumberFit]:
    """Restore fits from `pack`; raise DataError where arrays are missing or damaged."""
    try:
        return [_unpack(extra, f"fit.{j}", n_workers) for j in range(n_parts)]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"the fitted parameters are damaged or were not saved ({error})") from error


def _unpack(extra: Mapping[str, Any], at: str, n_workers: int) -> NumberFit:
    entries = {name.removeprefix(f"{at}."): value for name, value in extra.items() if name.startswith(f"{at}.")}
    values_by_name = {name: _checked(value, name) for name, value in entries.items() if not name.startswith("members.")}
    table = {name: values_by_name.pop(name) for name in _BY_WORKER}
    for name, values in table.items():
        if values.shape != (n_workers,):
            raise ValueError(f"{name} has shape {values.shape}")
    method = str(values_by_name.pop("method"))
    linear = {
        name.removeprefix("linear."): values_by_name.pop(name)
        for name in [*values_by_name]
        if name.startswith("linear.")
    }
    if linear:
        if any(linear[name].shape != (n_workers,) for name in ("a", "b", "c", "doubt")):
            raise ValueError("its tables do not match the workers")
        linear["empty"] = tuple(np.asarray(linear["empty"], dtype=np.float64).tolist())
        values_by_name["linear"] = Linear(**linear)
    members = list(dict.fromkeys(name.split(".")[1] for name in entries if name.startswith("members.")))
    if members:
        values_by_name["members"] = {name: _unpack(extra, f"{at}.members.{name}", n_workers) for name in members}
    empty = np.empty(0)
    return NumberFit(method, empty, empty, extra=values_by_name, **table)


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
        raise ValueError(f"{name} is not a number")
    return value


# ----------------------------------------------------------------
# Base class of the methods: validation, gold, one fit per part of the answers, intervals, and the Result.


@dataclass(frozen=True, eq=False)
class PartFit:
    """Fit of one part of the answers with its intervals and their calibration on gold."""

    fit: NumberFit
    low: F8
    high: F8
    scale: Rescaled | None


@dataclass(frozen=True, kw_only=True)
class NumberAggregator(Method):
    """Base class of the methods for numbers.

    `fit` takes votes or a table task, worker, value. Gold is a mapping or a table task, value. Ten or more gold values
    also calibrate the width of the intervals; `extra["gold_check"]` reports the measured coverage.

    Args:
        level: Nominal coverage of the intervals.
    """

    takes: ClassVar[str] = "numbers"
    level: Share = 0.9

    def fit_votes(self, votes: Votes[Numbers], gold: Any, options: FitOptions) -> FitOutput:
        """Fit each part of the answers."""
        gold_values = number_gold(gold, votes)
        parts = [
            self._part(rows, None if gold_values is None else gold_values[:, j], options.n_shards)
            for j, rows in enumerate(rows_of(votes))
        ]
        fits = [part.fit for part in parts]
        names = pl.Series("part", list(votes.answers.parts))

        def stack(name: str) -> F8:
            return np.stack([getattr(fit, name) for fit in fits], axis=1)

        check = {} if gold_values is None else {"gold_check": self._check(votes, gold_values, parts, options.n_shards)}
        return FitOutput(
            estimate=NumberEstimate(
                value=stack("mean"),
                variance=stack("variance"),
                low=np.stack([part.low for part in parts], axis=1),
                high=np.stack([part.high for part in parts], axis=1),
                parts=names,
            ),
            worker_summary=NumberWorkers(stack("bias"), stack("spread"), stack("slope"), stack("weight"), names),
            gold=None if gold_values is None else np.asarray(~np.isnan(gold_values).any(axis=1)),
            trace=fits[0].trace,
            stage=np.asarray(fits[0].extra.get("stage", ()), dtype=np.int64),
            n_iter=max(fit.n_iter for fit in fits),
            converged=all(fit.converged for fit in fits),
            extra={**pack(fits), **check},
        )

    @abstractmethod
    def solve(self, rows: NumberRows, gold: F8 | None, n_shards: int) -> NumberFit:
        """Fit the method to one part of the answers."""

    def _part(self, rows: NumberRows, gold: F8 | None, n_shards: int) -> PartFit:
        try:
            fit = self.solve(rows, gold, n_shards)
            scale = None
            if gold is not None:
                scale = gold_scale(
                    lambda gold_rows, training_gold: self.solve(gold_rows, training_gold, n_shards),
                    rows,
                    gold,
                    self.level,
                )
            low, high = interval(fit, gold, scale, self.level)
        except ValueError as error:
            raise DataError(str(error)) from error
        return PartFit(fit, low, high, scale)

    def _check(
        self, votes: Votes[Numbers], gold_values: F8, part_fits: Sequence[PartFit], n_shards: int
    ) -> dict[str, Any]:
        """Coverage of the intervals on gold tasks, for this fit and for a fit without gold."""
        answered = votes.labels_per_task > 0
        checked = answered & ~np.isnan(gold_values).any(axis=1)
        scales = [part.scale for part in part_fits if part.scale is not None]
        if len(scales) < len(part_fits):
            n = int(checked.sum())
            reason = f"{n} checked tasks are too few to measure the intervals; at least {LEAST_GOLD} are needed"
            return {"n": int(checked.sum()), "reason": reason}
        covered, before = [], []
        for j, rows in enumerate(rows_of(votes)):
            fit = self.solve(rows, None, n_shards)
            low, high = interval(fit, None, None, self.level)
            inside = (low <= gold_values[:, j]) & (gold_values[:, j] <= high)
            covered.append(int(inside[checked].sum()))
            half = (high - low)[answered] / 2
            before.append(float(half.mean()) if np.isfinite(half).any() else None)
        coverage = {"low": min(scale.low for scale in scales), "high": max(scale.high for scale in scales)}
        factors = {"factor": [scale.factor for scale in scales], "shared": [scale.shared for scale in scales]}
        return {"n": int(checked.sum()), "held": covered, "before": before, **coverage, **factors}


def rows_of(votes: Votes[Numbers]) -> list[NumberRows]:
    """Return the rows of each part of the answers."""
    value = votes.answers.value
    return [
        NumberRows(
            votes.task, votes.worker, np.ascontiguousarray(value[:, j]), votes.weight, votes.n_tasks, votes.n_workers
        )
        for j in range(value.shape[1])
    ]


def from_table(table: pl.DataFrame) -> Votes[Numbers]:
    """Convert a table task, worker, value (or value_<part>) to votes."""
    columns = dict(detect_columns(table.columns) or {})
    roles = ("task", "worker", *(columns or {"value": "value"}))
    picked, _ = pick(table, columns, "the frame", (), roles)
    parts = {name: picked.pop(name) for name in roles[2:]}
    if list(parts) == ["value"]:
        return number_votes(picked.pop("task"), picked.pop("worker"), parts["value"], **picked)
    values = np.stack([series.cast(pl.Float64).to_numpy() for series in parts.values()], axis=1)
    names = [name.removeprefix("value_") for name in parts]
    return number_votes(picked.pop("task"), picked.pop("worker"), values, parts=names, **picked)


# ----------------------------------------------------------------
# The model behind a result, which predicts from other answers of the same workers.


@dataclass(frozen=True, eq=False)
class NumberModel(Model[Votes[Numbers]]):
    """One fit per part of the answers. Worker codes of votes are those of the fit."""

    fits: tuple[NumberFit, ...]

    def posterior(self, votes: Votes[Numbers]) -> tuple[F8, F8]:
        """Mean and variance of each task and part."""
        return _stack([apply(fit, rows) for fit, rows in self._parts(votes)])

    def without_own(self, votes: Votes[Numbers]) -> tuple[F8, F8]:
        """Mean and variance of each row's task from the answers of the other workers."""
        return _stack([without_own(fit, rows) for fit, rows in self._parts(votes)])

    def row_loglik(self, votes: Votes[Numbers]) -> F8:
        """Log density of each answer given the other workers' answers, summed over its parts."""
        return np.asarray(sum(row_loglik(fit, rows) for fit, rows in self._parts(votes)))

    def _parts(self, votes: Votes[Numbers]) -> list[tuple[NumberFit, NumberRows]]:
        return list(zip(self.fits, rows_of(votes), strict=True))


def _stack(moments: list[tuple[F8, F8]]) -> tuple[F8, F8]:
    return np.stack([mean for mean, _ in moments], axis=1), np.stack([variance for _, variance in moments], axis=1)


def model_of(result: Result) -> NumberModel:
    """Restore the model behind a result."""
    assert isinstance(result.estimate, NumberEstimate)
    return NumberModel(tuple(unpack(result.extra, len(result.estimate.parts), len(result.workers))))


def infer(result: Result, votes: Votes[Numbers], unknown_workers: UnknownWorkers) -> Result:
    """Estimate other tasks from answers of the same workers, without fitting again."""
    assert isinstance(result.estimate, NumberEstimate)
    if list(votes.answers.parts) != result.estimate.parts.to_list():
        raise DataError(f"{result.method} was not fitted on the parts {quote(votes.answers.names)}; fit again")
    codes, is_known = result.worker_codes(votes.workers, unknown_workers)
    model = result.model
    assert isinstance(model, NumberModel)
    index, has_unknown = np.where(is_known, codes, len(result.workers)), not is_known.all()
    fits = tuple(_with_average(fit, result.labels_per_worker) if has_unknown else fit for fit in model.fits)
    recoded = replace(
        votes, worker=index[votes.worker].astype(np.int32), workers=_with_placeholder(result.workers, has_unknown)
    )
    mean, variance = NumberModel(fits).posterior(recoded)
    low, high = gaussian_interval(mean, variance, float(result.params.get("level", 0.9)))
    workers = result.worker_summary.select(codes, is_known, spread=0.0, weight=0.0)
    return result.for_votes(votes, NumberEstimate(mean, variance, low, high, result.estimate.parts), workers)


def _with_placeholder(workers: pl.Series, has_unknown: bool) -> pl.Series:
    """The workers and, where some are unknown, a placeholder for all unknown workers."""
    return pl.concat([workers.cast(pl.String), pl.Series([""], dtype=pl.String)]) if has_unknown else workers


def _with_average(fit: NumberFit, labels: I8) -> NumberFit:
    """Add a worker with the average parameters, weighted by numbers of answers."""
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
    worker_arrays = {name: wider(getattr(fit, name)) for name in ("bias", "spread", "slope", "weight")}
    return replace(fit, extra=extra, **worker_arrays)
