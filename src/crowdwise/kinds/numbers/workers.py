"""Flags of workers who gave numbers, with the evidence in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.scores import Table
from ...workers.flags import Coefficient, Flag, examples
from ...workers.studied import Studied, amount, amounts, best_and_worst, number, said
from ...workers.tables import bar
from ...workers.timing import Speed, speed
from .fitting import NumberModel, number_gold, rows_of
from .kind import Numbers
from .maths.rows import Rows
from .maths.workers import LEAST, Copying, Quality, Reliability, quality, reliability

F8 = npt.NDArray[np.float64]

# What the flags mean for people, the most serious first.
NUMBER_FLAGS = {
    "constant": "gives one number whatever the task",
    "random": "the numbers do not follow what the others say",
    "reversed": "goes down where the others go up",
    "copying": "gives the very numbers of another worker, beyond what independent answers explain",
    "fast": "answers far more quickly than the rest of the crowd",
    "unknown": "too few answers to say anything",
}


def number_flags(votes: Votes[Numbers], parts: list[tuple[Rows, Quality]], speed: Speed) -> list[Flag]:
    """All flags, the most serious first; of answers with several parts the evidence names the part."""
    found = [*_unknown(votes)]
    for (rows, seen), part in zip(parts, votes.answers.parts, strict=True):
        prefix = f"{part}: " if part else ""
        found += [*_constant(votes, rows, seen, prefix), *_correlated(votes, rows, seen, prefix)]
        found += _copying(votes, rows, seen, prefix)
    found += _fast(votes, [seen for _, seen in parts], speed)
    place = {name: i for i, name in enumerate(NUMBER_FLAGS)}
    return sorted(found, key=lambda flag: place[flag.name])


def _flag(worker: Any, name: str, **more: Any) -> Flag:
    return Flag(worker, name, of="numbers", **more)


def _unknown(votes: Votes[Numbers]) -> Iterator[Flag]:
    shared = votes.labels_per_task[votes.task] > 1
    n = np.bincount(votes.worker[shared], minlength=votes.n_workers)
    for w in np.flatnonzero(n < LEAST).tolist():
        words = f"{n[w]} answers to tasks that others answered too; at least {LEAST} are needed to judge a worker"
        yield _flag(votes.workers[w], "unknown", evidence=words)


def _own(rows: Rows, worker: int) -> npt.NDArray[np.int64]:
    return np.flatnonzero(rows.worker == worker)


def _constant(votes: Votes[Numbers], rows: Rows, seen: Quality, prefix: str) -> Iterator[Flag]:
    unit = float(rows.value.std())
    for w in np.flatnonzero(seen.constant).tolist():
        own = _own(rows, w)
        value = rows.value[own]
        middle = float(np.median(value))
        same = np.abs(value - middle) <= 0.05 * unit
        tasks = rows.task[own[same]]
        others = rows.value[np.isin(rows.task, rows.task[own]) & (rows.worker != w)]
        low, high = np.quantile(others, [0.05, 0.95])
        about = "" if (value[same] == middle).all() else "about "
        words = (
            f"{prefix}gave {about}{said(middle)} in {int(same.sum()):,} of {len(value):,} answers; of the same tasks "
            f"the others said {amounts(float(low), float(high), unit)}"
        )
        yield _flag(votes.workers[w], "constant", p_value=float(seen.p_constant[w]), evidence=words,
                    tasks=examples(votes, tasks))  # fmt: skip


def _correlated(votes: Votes[Numbers], rows: Rows, seen: Quality, prefix: str) -> Iterator[Flag]:
    usual = float(np.nanmedian(seen.correlation)) if np.isfinite(seen.correlation).any() else float("nan")
    random, turned = seen.chances.sure()
    for name, who in (("reversed", turned), ("random", random)):
        for w in np.flatnonzero(who).tolist():
            low, high = seen.correlation_interval[w]
            found = f"correlation {number(seen.correlation[w], 2)} ({amounts(low, high, 1.0)}) with the others"
            found += f" over {int(seen.n[w]):,} answers, where the usual worker has {number(usual, 2)}"
            ask = "; is their scale upside down?" if name == "reversed" else ""
            tasks = rows.task[_own(rows, w)]
            yield _flag(votes.workers[w], name, probability=float(seen.chances.either[w]),
                        evidence=f"{prefix}{found}{ask}", tasks=examples(votes, tasks))  # fmt: skip


def _copying(votes: Votes[Numbers], rows: Rows, seen: Quality, prefix: str) -> Iterator[Flag]:
    """One flag a worker, from the pair that is the surest; who gives one number always needs no copying to agree."""
    pairs = seen.copying
    idle = seen.constant[pairs.first] | seen.constant[pairs.second]
    order = np.flatnonzero(~idle)[np.argsort(pairs.p[~idle], kind="stable")]
    best: dict[int, int] = {}
    partners: dict[int, list[int]] = {}
    for k in order.tolist():
        a, b = int(pairs.first[k]), int(pairs.second[k])
        for one, two in ((a, b), (b, a)):
            best.setdefault(one, k)
            partners.setdefault(one, []).append(two)
    for w, k in best.items():
        words = _pair_in_words(votes, pairs, k, w)
        tasks = _equal(rows, int(pairs.first[k]), int(pairs.second[k]))
        names = tuple(votes.workers.gather(partners[w]).to_list())
        yield _flag(votes.workers[w], "copying", p_value=float(pairs.p[k]), evidence=prefix + words, partners=names,
                    tasks=examples(votes, tasks))  # fmt: skip


def _pair_in_words(votes: Votes[Numbers], pairs: Copying, k: int, worker: int) -> str:
    other = int(pairs.second[k] if pairs.first[k] == worker else pairs.first[k])
    return (
        f"the same number as {votes.workers[other]} on {pairs.equal[k]:,} of {pairs.common[k]:,} common tasks, where "
        f"two who work on their own would share about {pairs.expected[k]:.1f}; who copied, or whether both had one "
        "source, the numbers do not say"
    )


def _equal(rows: Rows, first: int, second: int) -> npt.NDArray[np.int32]:
    """Tasks of which both said the same."""
    a, b = _own(rows, first), _own(rows, second)
    both, i, j = np.intersect1d(rows.task[a], rows.task[b], return_indices=True)
    return np.asarray(both[rows.value[a[i]] == rows.value[b[j]]], dtype=np.int32)


def _fast(votes: Votes[Numbers], seen: list[Quality], speed: Speed) -> Iterator[Flag]:
    for w in np.flatnonzero(speed.quick).tolist():
        words = (
            f"half of {int(speed.n[w]):,} answers took less than {speed.median[w]:.2g} seconds, where the usual worker "
            f"takes {speed.usual:.2g}"
        )
        follows = [float(one.correlation[w]) for one in seen if np.isfinite(one.correlation[w])]
        if follows:
            words += f"; their correlation with the others is {number(min(follows), 2)}"
        yield _flag(votes.workers[w], "fast", evidence=words)


# ----------------------------------------------------------------
# The workers of a fit of numbers: bias, spread, slope, correlation with the others; agreement; flags.

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
