"""Quality, agreement and flags of workers who give numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8
from ...core.errors import DataError
from ...core.result import Result
from ...core.votes import Votes
from ...workers.distance_based import alpha, first_pairs
from ...workers.flags import Coefficient, Flag, examples
from ...workers.studied import RankedStudy, amount, amounts, number, number_as_given
from ...workers.tables import interval_cells
from ...workers.timing import Speed, speed
from .answers import Numbers
from .fitting import NumberModel, number_gold, rows_of
from .maths.rows import NumberRows
from .maths.workers import LEAST, AgreementCoefficients, Copying, Quality, quality, reliability

# Meanings of the flags, most serious first.
NUMBER_FLAGS = {
    "constant": "gives the same number whatever the task",
    "random": "the numbers are unrelated to those of the others",
    "reversed": "goes down where the others go up",
    "copying": "gives the same numbers as another worker more often than independent answers would",
    "fast": "answers much faster than the rest of the crowd",
    "unknown": "too few answers to assess",
}


def number_flags(votes: Votes[Numbers], parts: list[tuple[NumberRows, Quality]], speed: Speed) -> list[Flag]:
    """Return all flags, most serious first. Where answers have several parts, the evidence names the part."""
    flags = [*_unknown(votes)]
    for (rows, part_quality), part in zip(parts, votes.answers.parts, strict=True):
        prefix = f"{part}: " if part else ""
        flags += [*_constant(votes, rows, part_quality, prefix), *_correlated(votes, rows, part_quality, prefix)]
        flags += _copying(votes, rows, part_quality, prefix)
    flags += _fast(votes, [part_quality for _, part_quality in parts], speed)
    place = {name: i for i, name in enumerate(NUMBER_FLAGS)}
    return sorted(flags, key=lambda flag: place[flag.name])


def _flag(worker: Any, name: str, **more: Any) -> Flag:
    return Flag(worker, name, of="numbers", **more)


def _unknown(votes: Votes[Numbers]) -> Iterator[Flag]:
    shared = votes.labels_per_task[votes.task] > 1
    n = np.bincount(votes.worker[shared], minlength=votes.n_workers)
    for w in np.flatnonzero(n < LEAST).tolist():
        words = f"{n[w]} answers to tasks that others also answered; at least {LEAST} are needed to assess a worker"
        yield _flag(votes.workers[w], "unknown", evidence=words)


def _worker_rows(rows: NumberRows, worker: int) -> npt.NDArray[np.int64]:
    return np.flatnonzero(rows.worker == worker)


def _constant(votes: Votes[Numbers], rows: NumberRows, quality: Quality, prefix: str) -> Iterator[Flag]:
    unit = float(rows.value.std())
    for w in np.flatnonzero(quality.constant).tolist():
        worker_rows = _worker_rows(rows, w)
        value = rows.value[worker_rows]
        middle = float(np.median(value))
        same = np.abs(value - middle) <= 0.05 * unit
        tasks = rows.task[worker_rows[same]]
        others = rows.value[np.isin(rows.task, rows.task[worker_rows]) & (rows.worker != w)]
        low, high = np.quantile(others, [0.05, 0.95])
        about = "" if (value[same] == middle).all() else "about "
        words = (
            f"{prefix}gave {about}{number_as_given(middle)} in {int(same.sum()):,} of {len(value):,} answers; on the "
            f"same tasks the others gave {amounts(float(low), float(high), unit)}"
        )
        yield _flag(votes.workers[w], "constant", p_value=float(quality.p_constant[w]), evidence=words,
                    tasks=examples(votes, tasks))  # fmt: skip


def _correlated(votes: Votes[Numbers], rows: NumberRows, quality: Quality, prefix: str) -> Iterator[Flag]:
    usual = float(np.nanmedian(quality.correlation)) if np.isfinite(quality.correlation).any() else float("nan")
    random, reversed_ = quality.chances.sure()
    for name, flagged in (("reversed", reversed_), ("random", random)):
        for w in np.flatnonzero(flagged).tolist():
            low, high = quality.correlation_interval[w]
            evidence = f"correlation {number(quality.correlation[w], 2)} ({amounts(low, high, 1.0)}) with the others"
            evidence += f" over {int(quality.n[w]):,} answers; the median worker has {number(usual, 2)}"
            hint = "; do they use the scale upside down?" if name == "reversed" else ""
            tasks = rows.task[_worker_rows(rows, w)]
            yield _flag(votes.workers[w], name, probability=float(quality.chances.either[w]),
                        evidence=f"{prefix}{evidence}{hint}", tasks=examples(votes, tasks))  # fmt: skip


def _copying(votes: Votes[Numbers], rows: NumberRows, quality: Quality, prefix: str) -> Iterator[Flag]:
    """At most one flag per worker, from the most certain pair. Constant workers agree without copying."""
    pairs = quality.copying
    is_constant = quality.constant[pairs.first] | quality.constant[pairs.second]
    order = np.flatnonzero(~is_constant)[np.argsort(pairs.p[~is_constant], kind="stable")]
    best, partners = first_pairs(pairs.first, pairs.second, order)
    for w, k in best.items():
        words = _pair_in_words(votes, pairs, k, w)
        tasks = _equal(rows, int(pairs.first[k]), int(pairs.second[k]))
        names = tuple(votes.workers.gather(partners[w]).to_list())
        yield _flag(votes.workers[w], "copying", p_value=float(pairs.p[k]), evidence=prefix + words, partners=names,
                    tasks=examples(votes, tasks))  # fmt: skip


def _pair_in_words(votes: Votes[Numbers], pairs: Copying, k: int, worker: int) -> str:
    other = int(pairs.second[k] if pairs.first[k] == worker else pairs.first[k])
    return (
        f"the same number as {votes.workers[other]} on {pairs.equal[k]:,} of {pairs.common[k]:,} common tasks; two "
        f"independent workers would share about {pairs.expected[k]:.1f}; the numbers cannot show who copied, or "
        "whether both used the same source"
    )


def _equal(rows: NumberRows, first: int, second: int) -> npt.NDArray[np.int32]:
    """Return the tasks to which both workers gave the same number."""
    a, b = _worker_rows(rows, first), _worker_rows(rows, second)
    common, i, j = np.intersect1d(rows.task[a], rows.task[b], return_indices=True)
    return np.asarray(common[rows.value[a[i]] == rows.value[b[j]]], dtype=np.int32)


def _fast(votes: Votes[Numbers], qualities: list[Quality], speed: Speed) -> Iterator[Flag]:
    for w in np.flatnonzero(speed.quick).tolist():
        words = (
            f"half of {int(speed.n[w]):,} answers took less than {speed.median[w]:.2g} seconds; the median worker "
            f"takes {speed.usual:.2g}"
        )
        follows = [float(quality.correlation[w]) for quality in qualities if np.isfinite(quality.correlation[w])]
        if follows:
            words += f"; their correlation with the others is {number(min(follows), 2)}"
        yield _flag(votes.workers[w], "fast", evidence=words)


# ----------------------------------------------------------------
# The study of the workers of a fit: bias, spread, slope, correlation with the others; agreement; flags.

# Column by which workers are ranked. It does not depend on a worker's level or scale.
TRUST = "correlation"
# Approximate budget of rows times resamples for the intervals of agreement, and bounds of the number of resamples.
_WORK, _FEWEST, _MOST = 40_000_000, 50, 200


@dataclass(frozen=True, eq=False)
class NumberStudy(RankedStudy):
    """Study of workers who give numbers.

    `quality` has one row per worker and part of the answers, with null for undefined values. Columns with an interval
    have companions `_low` and `_high` (95 %):

    - `n_labels`: number of answers
    - `bias` (with interval): mean of answer minus the others' estimate
    - `spread` (with interval): standard deviation of the residuals
    - `slope` (with interval, where the method has slopes): scale of the worker; 1 is the crowd's
    - `correlation` (with interval): correlation with the estimates from the other workers' answers
    - `weight`: weight relative to the average worker
    - `different`: number of distinct values as a share of the answers
    - `n_gold`, `gold_bias`, `gold_rmse`: errors on gold tasks
    - `seconds_median`, `seconds_q1`, `seconds_q3`: time per answer

    Args:
        votes: The votes.
        speed: Answering times.
    """

    meanings: ClassVar[Mapping[str, str]] = NUMBER_FLAGS
    RANKED_BY: ClassVar[str] = TRUST
    TITLES: ClassVar[tuple[str, str, str]] = (
        "Workers, by correlation with the others",
        "Workers who agree most with the others {ends}",
        "Workers who agree least with the others {ends}",
    )
    HEADER: ClassVar[tuple[str, ...]] = (
        "answers", "correlation", "95 % interval", "-1 to 1", "bias", "95 % interval", "spread", "slope",
        "95 % interval",
    )  # fmt: skip

    votes: Votes[Numbers] = field(repr=False)
    speed: Speed = field(repr=False)

    def header(self) -> list[str]:
        """Return the header of the tables."""
        return ["worker", *["part"] * self._has_parts, *super().header()]

    @property
    def _has_parts(self) -> bool:
        return len(self.votes.answers.parts) > 1

    @cached_property
    def units(self) -> dict[str, float]:
        """Return the standard deviation of all answers, by part. It decides how numbers are rounded."""
        value = self.votes.answers.value
        return {part: float(value[:, j].std()) for j, part in enumerate(self.votes.answers.parts)}

    def cells(self, row: dict[str, Any]) -> list[str]:
        """Return a row of `quality` as text, without the flags."""
        unit = self.units[row.get("part", "")]
        correlation, _, drawn = interval_cells(row, "correlation", -1.0)
        return [
            str(row["worker"]),
            *[str(row.get("part"))] * self._has_parts,
            f"{row['n_labels']:,}",
            correlation,
            amounts(row["correlation_low"], row["correlation_high"], 1.0),
            drawn,
            amount(row["bias"], unit),
            amounts(row["bias_low"], row["bias_high"], unit),
            amount(row["spread"], unit),
            number(row["slope"], 2),
            amounts(row["slope_low"], row["slope_high"], 1.0),
        ]


def study_numbers(votes: Votes[Numbers], result: Result, *, gold: Any = None, idle: float = 600.0) -> NumberStudy:
    """Study the workers of a fit of numbers; arguments as in `study_by_distance`.

    Raises:
        DataError: The result has no model, or was fitted on other parts.
    """
    model = result.model
    if not isinstance(model, NumberModel):
        raise DataError(f"results of {result.method} do not support studying the workers")
    if list(votes.answers.parts) != list(result.worker_summary.parts):  # type: ignore[attr-defined]
        raise DataError(f"{result.method} was not fitted on the parts {', '.join(votes.answers.names)}; fit again")
    rows = rows_of(votes)
    qualities = [quality(part_rows, fit) for part_rows, fit in zip(rows, model.fits, strict=True)]
    pace = speed(votes, idle)
    return NumberStudy(
        votes=votes,
        result=result,
        quality=_table(votes, result, rows, qualities, number_gold(gold, votes), pace),
        agreement=_agreement(votes, rows),
        flags=number_flags(votes, list(zip(rows, qualities, strict=True)), pace),
        speed=pace,
    )


def flag_numbers(votes: Votes[Numbers], result: Result) -> list[Flag]:
    """Return all flags of a fit of numbers."""
    return study_numbers(votes, result).flags


def _table(
    votes: Votes[Numbers],
    result: Result,
    rows: list[NumberRows],
    qualities: list[Quality],
    gold: F8 | None,
    pace: Speed,
) -> pl.DataFrame:
    tables = []
    for j, (part, part_quality) in enumerate(zip(votes.answers.parts, qualities, strict=True)):
        columns: dict[str, Any] = {"worker": votes.workers}
        if len(votes.answers.parts) > 1:
            columns["part"] = [part] * votes.n_workers
        columns["n_labels"] = votes.labels_per_worker
        for name in ("bias", "spread", "slope", "correlation"):
            columns[name] = getattr(part_quality, name)
            ends = getattr(part_quality, f"{name}_interval", None)
            if ends is not None:
                columns |= {f"{name}_low": ends[:, 0], f"{name}_high": ends[:, 1]}
        columns |= {"weight": result.worker_summary.weight[:, j], "different": part_quality.distinct}  # type: ignore[attr-defined]
        columns |= _on_gold(rows[j], None if gold is None else gold[:, j])
        columns |= {"seconds_median": pace.median, "seconds_q1": pace.q1, "seconds_q3": pace.q3}
        tables.append(pl.DataFrame(columns))
    table = pl.concat(tables)
    inactive = pl.col("n_labels") == 0
    floats = [name for name, kind in table.schema.items() if kind.is_float()]
    return table.with_columns(pl.when(inactive).then(None).otherwise(pl.col(floats).fill_nan(None)).name.keep())


def _on_gold(rows: NumberRows, gold: F8 | None) -> dict[str, Any]:
    """Return each worker's errors on gold tasks."""
    truth = np.full(rows.n_tasks, np.nan) if gold is None else gold
    has_gold = np.isfinite(truth[rows.task])
    worker, gap = rows.worker[has_gold], (rows.value - truth[rows.task])[has_gold]
    n = np.bincount(worker, minlength=rows.n_workers)
    size = np.where(n > 0, n, np.nan)
    mean = np.bincount(worker, weights=gap, minlength=rows.n_workers) / size
    square = np.bincount(worker, weights=gap**2, minlength=rows.n_workers) / size
    return {"n_gold": n, "gold_bias": mean, "gold_rmse": np.sqrt(square)}


_NAMES = {
    "icc1": "ICC(1,1), one answer",
    "icc2": "ICC(2,1), one answer, workers' levels separated",
    "alpha": "Krippendorff's alpha, interval",
}


def interval_alpha(votes: Votes[Numbers]) -> float | None:
    """Return Krippendorff's alpha of an interval scale: the distance is the square, the mean over all parts."""
    value = votes.answers.value
    scaled = value / np.maximum(np.ptp(value, axis=0), 1e-300)

    def squared(i: npt.NDArray[Any], j: npt.NDArray[Any]) -> F8:
        return np.asarray(((scaled[i] - scaled[j]) ** 2).mean(axis=1))

    return alpha(votes, squared)


def _agreement(votes: Votes[Numbers], rows: list[NumberRows]) -> list[Coefficient]:
    """ICC and Krippendorff's alpha of each part: the share of the variance of the answers that lies between tasks."""
    several = int((votes.labels_per_task > 1).sum())
    draws = int(np.clip(_WORK // max(len(votes), 1), _FEWEST, _MOST))
    out = []
    for part, part_rows in zip(votes.answers.parts, rows, strict=True):
        coefficients: AgreementCoefficients | None = reliability(part_rows, draws=draws) if several else None
        out += [
            _coefficient(f"{part}: {name}" if part else name, key, coefficients, several)
            for key, name in _NAMES.items()
        ]
    return out


def number_agreement(votes: Votes[Numbers]) -> list[Coefficient]:
    """Return ICC and Krippendorff's alpha of numbers."""
    return _agreement(votes, rows_of(votes))


def _coefficient(name: str, key: str, coefficients: AgreementCoefficients | None, n: int) -> Coefficient:
    if coefficients is None:
        return Coefficient(name, None, reason="no task has two answers, so agreement is undefined")
    return Coefficient.of_interval(
        name, getattr(coefficients, key), n, "the answers vary too little to measure agreement"
    )
