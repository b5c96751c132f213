"""The workers of a fit of numbers: bias, spread, slope, correlation with the others; agreement; flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...aggregate.numbers.base import rows_of
from ...aggregate.numbers.gold import number_gold
from ...aggregate.numbers.model import NumberModel
from ...core.errors import DataError
from ...core.result import Result
from ...core.votes import Votes
from ...kinds.numbers.votes import Numbers
from ...maths.numbers.picture.quality import Quality, quality
from ...maths.numbers.picture.reliability import Reliability, reliability
from ...maths.numbers.rows import Rows
from ...scoring.scored import Table
from ..coefficient import Coefficient
from ..flags import Flag
from ..ranking import best_and_worst
from ..short import bar
from ..speed import Speed, speed
from ..studied import Studied
from ..wording import amount, amounts, number
from .flags import NUMBER_FLAGS, number_flags

F8 = npt.NDArray[np.float64]

# What workers are ranked by: how far they can be trusted, whatever their level and their scale.
TRUST = "correlation"
# Rows times resamples behind the agreement's intervals, about; and the bounds of the number of resamples.
_WORK, _FEWEST, _MOST = 40_000_000, 50, 200


@dataclass(frozen=True, eq=False)
class NumberStudy(Studied):
    """Workers who gave numbers. `quality` has a row for each worker and part of the answers; a number that does not
    exist is null.

    n_labels; bias (said minus the others' estimate) with _low and _high; spread (sd of what is left) with both; slope
    (1: their scale is the crowd's) with both where the method has slopes; correlation with the others' estimates, their
    own answers left out, with both;
    weight (their say, 1 is the average worker's); different (values that differ, as a share of the answers);
    n_gold, gold_bias, gold_rmse on known tasks; seconds_median, seconds_q1, seconds_q3. Intervals are 95 %.
    """

    meanings: ClassVar[Mapping[str, str]] = NUMBER_FLAGS
    votes: Votes[Numbers] = field(repr=False)
    speed: Speed = field(repr=False)

    def worker_tables(self, ends: int) -> list[Table]:
        """All workers, or the most and the least trusted of many."""
        best, worst = best_and_worst(self.quality, ends, TRUST)
        several = len(self.votes.answers.parts) > 1
        header = ["worker", *["part"] * several, "answers", "correlation", "95 % interval", "-1 to 1", "bias",
                  "95 % interval", "spread", "slope", "95 % interval", "flags"]  # fmt: skip
        parts = {"Workers, by how far they go with the others": best}
        if len(worst):
            of = f"({ends} of {int((self.quality['n_labels'] > 0).sum()):,}, by the {{}} end of the interval)"
            parts = {
                f"Workers who go with the others most {of.format('lower')}": best,
                f"Workers who go with the others least {of.format('upper')}": worst,
            }
        units = self.units()
        return [
            Table(title, header, [self._row(row, units, several) for row in table.to_dicts()])
            for title, table in parts.items()
        ]

    def units(self) -> dict[str, float]:
        """The spread of all answers, by part: what differences are seen against."""
        value = self.votes.answers.value
        return {part: float(value[:, j].std()) for j, part in enumerate(self.votes.answers.parts)}

    def _row(self, row: dict[str, Any], units: dict[str, float], several: bool) -> list[str]:
        unit = units[row.get("part", "")]
        r, low, high = (row[f"correlation{end}"] for end in ("", "_low", "_high"))
        drawn = "" if None in (r, low, high) else bar((r + 1) / 2, (low + 1) / 2, (high + 1) / 2, 16)
        names = dict.fromkeys(flag.name for flag in self.flags if flag.worker == row["worker"])
        return [
            str(row["worker"]),
            *[str(row.get("part"))] * several,
            f"{row['n_labels']:,}",
            number(r, 2),
            amounts(low, high, 1.0),
            drawn,
            amount(row["bias"], unit),
            amounts(row["bias_low"], row["bias_high"], unit),
            amount(row["spread"], unit),
            number(row["slope"], 2),
            amounts(row["slope_low"], row["slope_high"], 1.0),
            ", ".join(names),
        ]


def study_numbers(votes: Votes[Numbers], result: Result, *, gold: Any = None, idle: float = 600.0) -> NumberStudy:
    """Of numbers. `gold` adds errors on known tasks, `idle` is the longest pause in seconds that is still work."""
    model = result.model
    if not isinstance(model, NumberModel):
        raise DataError(f"{result.method} keeps nothing by which the workers could be judged")
    if list(votes.answers.parts) != list(result.picture.parts):  # type: ignore[attr-defined]
        raise DataError(f"{result.method} was fitted on other parts than {', '.join(votes.answers.names)}; fit again")
    rows = rows_of(votes)
    seen = [quality(each, fit) for each, fit in zip(rows, model.fits, strict=True)]
    pace = speed(votes, idle)
    return NumberStudy(
        votes=votes,
        result=result,
        quality=_table(votes, result, rows, seen, number_gold(gold, votes), pace),
        agreement=_agreement(votes, rows),
        flags=number_flags(votes, list(zip(rows, seen, strict=True)), pace),
        speed=pace,
    )


def flag_numbers(votes: Votes[Numbers], result: Result) -> list[Flag]:
    """All flags of a fit of numbers."""
    return study_numbers(votes, result).flags


def _table(
    votes: Votes[Numbers], result: Result, rows: list[Rows], seen: list[Quality], gold: F8 | None, pace: Speed
) -> pl.DataFrame:
    tables = []
    for j, (part, one) in enumerate(zip(votes.answers.parts, seen, strict=True)):
        columns: dict[str, Any] = {"worker": votes.workers}
        if len(votes.answers.parts) > 1:
            columns["part"] = [part] * votes.n_workers
        columns["n_labels"] = votes.labels_per_worker
        for name in ("bias", "spread", "slope", "correlation"):
            columns[name] = getattr(one, name)
            ends = getattr(one, f"{name}_interval", None)
            if ends is not None:
                columns |= {f"{name}_low": ends[:, 0], f"{name}_high": ends[:, 1]}
        columns |= {"weight": result.picture.weight[:, j], "different": one.distinct}  # type: ignore[attr-defined]
        columns |= _on_gold(rows[j], None if gold is None else gold[:, j])
        columns |= {"seconds_median": pace.median, "seconds_q1": pace.q1, "seconds_q3": pace.q3}
        tables.append(pl.DataFrame(columns))
    table = pl.concat(tables)
    silent = pl.col("n_labels") == 0
    floats = [name for name, kind in table.schema.items() if kind.is_float()]
    return table.with_columns(pl.when(silent).then(None).otherwise(pl.col(floats).fill_nan(None)).name.keep())


def _on_gold(rows: Rows, gold: F8 | None) -> dict[str, Any]:
    """Each worker's errors on the tasks whose truth is known."""
    truth = np.full(rows.n_tasks, np.nan) if gold is None else gold
    known = np.isfinite(truth[rows.task])
    who, gap = rows.worker[known], (rows.value - truth[rows.task])[known]
    n = np.bincount(who, minlength=rows.n_workers)
    size = np.where(n > 0, n, np.nan)
    mean = np.bincount(who, weights=gap, minlength=rows.n_workers) / size
    square = np.bincount(who, weights=gap**2, minlength=rows.n_workers) / size
    return {"n_gold": n, "gold_bias": mean, "gold_rmse": np.sqrt(square)}


_NAMES = {
    "icc1": "ICC(1,1), one answer",
    "icc2": "ICC(2,1), one answer, workers' levels apart",
    "alpha": "Krippendorff's alpha, interval",
}


def _agreement(votes: Votes[Numbers], rows: list[Rows]) -> list[Coefficient]:
    """ICC and alpha of each part: how much of the answers' variance lies between tasks."""
    several = int((votes.labels_per_task > 1).sum())
    draws = int(np.clip(_WORK // max(len(votes), 1), _FEWEST, _MOST))
    out = []
    for part, each in zip(votes.answers.parts, rows, strict=True):
        found: Reliability | None = reliability(each, draws=draws) if several else None
        out += [_coefficient(f"{part}: {name}" if part else name, key, found, several) for key, name in _NAMES.items()]
    return out


def _coefficient(name: str, key: str, found: Reliability | None, n: int) -> Coefficient:
    if found is None:
        return Coefficient(name, None, reason="no task has two answers, so nobody can agree or disagree")
    value, low, high = getattr(found, key)
    if not np.isfinite(value):
        return Coefficient(name, None, n=n, reason="the answers do not differ enough to say what agreement is")
    if not (np.isfinite(low) and np.isfinite(high)):
        return Coefficient(name, value, n=n, note="too few tasks for an interval")
    return Coefficient(name, value, min(low, value), max(high, value), n)
