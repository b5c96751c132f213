"""The workers of any kind of answers that has a distance: how far they follow the tasks, agreement, flags.

A kind gives the door `distance(answers, i, j)`; with the doors `said(votes, result)` (the estimate as one answer a
task) and `known(votes, gold)` (codes of known tasks and their answers) its study also says how far workers are from
the estimate and from gold. A kind with more to tell extends `AlikeStudy`, or appends to its flags.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.result import Result
from ...core.votes import Votes
from ...maths.alike.closeness import Closeness, closeness
from ...maths.alike.pairing import Rows
from ...scoring.scored import Table
from ..coefficient import Coefficient
from ..ranking import best_and_worst
from ..short import bar
from ..speed import Speed, speed
from ..studied import Studied
from ..wording import between, number
from .flags import ALIKE_FLAGS, Seen, alike_flags
from .judged import Judged, by_distance

F8 = npt.NDArray[np.float64]
# Who does not look, or turns answers round, by what a kind knows.
Judge = Callable[[Votes[Any], Result], Judged]


@dataclass(frozen=True, eq=False)
class AlikeStudy(Studied):
    """Workers by distances between answers. `quality`: n_labels; follows (1: always as the others, 0: as if their
    answers were dealt out at random) with _low and _high (95 %); apart (mean distance from the others' answers to the
    same tasks); off (mean distance from the estimates); n_gold, gold_off; seconds_median."""

    meanings: ClassVar[Mapping[str, str]] = ALIKE_FLAGS
    speed: Speed = field(repr=False)

    def worker_tables(self, ends: int) -> list[Table]:
        """All workers, or those who follow the tasks most and least."""
        best, worst = best_and_worst(self.quality, ends, "follows")
        parts = {"Workers, by how far they go with the others": best}
        if len(worst):
            of = f"({ends} of {int((self.quality['n_labels'] > 0).sum()):,}, by the {{}} end of the interval)"
            parts = {
                f"Workers who go with the others most {of.format('lower')}": best,
                f"Workers who go with the others least {of.format('upper')}": worst,
            }
        header = ["worker", "answers", "follows", "95 % interval", "0 to 1", "apart", "off", "flags"]
        return [Table(title, header, [self._row(row) for row in table.to_dicts()]) for title, table in parts.items()]

    def _row(self, row: dict[str, Any]) -> list[str]:
        f, low, high = (row[f"follows{end}"] for end in ("", "_low", "_high"))
        names = dict.fromkeys(flag.name for flag in self.flags if flag.worker == row["worker"])
        return [
            str(row["worker"]),
            f"{row['n_labels']:,}",
            number(f, 2),
            between(low, high),
            "" if None in (f, low, high) else bar(f, low, high, 16),
            number(row["apart"], 2),
            number(row["off"], 2),
            ", ".join(names),
        ]


def study_alike(votes: Votes[Any], result: Result, *, gold: Any = None, idle: float = 600.0) -> AlikeStudy:
    """Of any kind with a distance. `gold` adds distances on known tasks, `idle` is the longest pause that is work."""
    return AlikeStudy(**looked_at(votes, result, gold=gold, idle=idle))


def flag_alike(votes: Votes[Any], result: Result) -> list[Any]:
    """All flags of a fit, by distances."""
    return study_alike(votes, result).flags


def looked_at(
    votes: Votes[Any], result: Result, *, gold: Any = None, idle: float = 600.0, judge: Judge | None = None
) -> dict[str, Any]:
    """The parts of a study, for kinds that add to it: votes, result, quality, agreement, flags, speed. `judge` says who
    does not look or turns answers round, where a kind knows more than distances."""
    if votes.weight is not None and bool((votes.weight <= 0).any()):
        votes = votes.take(np.flatnonzero(votes.weight > 0))
    rows = Rows(votes.task, votes.worker, votes.n_tasks, votes.n_workers)
    distance = votes.kind.door("distance")
    close = closeness(rows, partial(distance, votes.answers))
    off = _off(votes, result)
    judged = by_distance(close) if judge is None else judge(votes, result)
    seen = Seen(rows, close, same_as(votes), None if off is None else off > 0, judged)
    pace = speed(votes, idle)
    return {
        "votes": votes,
        "result": result,
        "quality": _table(votes, close, off, _on_gold(votes, gold), pace),
        "agreement": [_coefficient(close)],
        "flags": alike_flags(votes, seen, pace),
        "speed": pace,
    }


def same_as(votes: Votes[Any]) -> npt.NDArray[np.int64]:
    """A number for every row, equal for equal answers."""
    keys = votes.answers.keys()
    if not len(votes):
        return np.empty(0, dtype=np.int64)
    code = np.zeros(len(votes), dtype=np.int64)
    for key in keys:
        _, at = np.unique(key, return_inverse=True)
        _, code = np.unique(code * (int(at.max()) + 1) + at.ravel(), return_inverse=True)
        code = code.ravel().astype(np.int64)
    return code


def _off(votes: Votes[Any], result: Result) -> F8 | None:
    """How far each row is from the estimate of its task."""
    kind = votes.kind
    if not kind.can("said") or not len(votes):
        return None
    both = votes.answers.join(kind.door("said")(votes, result))
    found: F8 = kind.door("distance")(both, np.arange(len(votes)), len(votes) + votes.task.astype(np.int64))
    return found


def _on_gold(votes: Votes[Any], gold: Any) -> dict[str, Any]:
    """Each worker's distance from the truth of known tasks."""
    m, kind = votes.n_workers, votes.kind
    if gold is None or not kind.can("known"):
        return {"n_gold": np.zeros(m, dtype=np.int64), "gold_off": np.full(m, np.nan)}
    tasks, answers = kind.door("known")(votes, gold)
    at = np.full(votes.n_tasks, -1, dtype=np.int64)
    at[tasks] = np.arange(len(tasks))
    mine = np.flatnonzero(at[votes.task] >= 0)
    both = votes.answers.join(answers)
    off = kind.door("distance")(both, mine, len(votes) + at[votes.task[mine]])
    n = np.bincount(votes.worker[mine], minlength=m)
    return {"n_gold": n, "gold_off": np.bincount(votes.worker[mine], off, m) / np.where(n > 0, n, np.nan)}


def _table(votes: Votes[Any], close: Closeness, off: F8 | None, on_gold: dict[str, Any], pace: Speed) -> pl.DataFrame:
    n = votes.labels_per_worker
    mean_off = np.full(votes.n_workers, np.nan)
    if off is not None:
        mean_off = np.bincount(votes.worker, off, votes.n_workers) / np.where(n > 0, n, np.nan)
    wide = 1.96 * close.error
    table = pl.DataFrame(
        {
            "worker": votes.workers,
            "n_labels": n,
            "follows": close.follows,
            "follows_low": np.maximum(close.follows - wide, -1.0),
            "follows_high": np.minimum(close.follows + wide, 1.0),
            "apart": close.apart,
            "off": mean_off,
            **on_gold,
            "seconds_median": pace.median,
        }
    )
    floats = [name for name, kind in table.schema.items() if kind.is_float()]
    return table.with_columns(pl.col(floats).fill_nan(None))


def _coefficient(close: Closeness) -> Coefficient:
    name = "Krippendorff's alpha"
    if not close.n_tasks:
        return Coefficient(name, None, reason="no task has two answers, so nobody can agree or disagree")
    if not np.isfinite(close.alpha):
        reason = "the answers do not differ enough to say what agreement is"
        return Coefficient(name, None, n=close.n_tasks, reason=reason)
    if not (np.isfinite(close.alpha_low) and np.isfinite(close.alpha_high)):
        return Coefficient(name, close.alpha, n=close.n_tasks, note="too few tasks for an interval")
    low, high = min(close.alpha_low, close.alpha), max(close.alpha_high, close.alpha)
    return Coefficient(name, close.alpha, low, high, close.n_tasks)
