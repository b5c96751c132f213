"""Judged: the chances that workers do not look at the tasks, or turn the answers round, and how this is said.

Any kind with a distance is judged by how far answers follow the others'; a kind that knows more (scores, clusters,
places, rates of classes) gives chances of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.kind import KindHooks
from ..core.result import Result
from ..core.votes import Votes
from ..evaluation.scores import Table
from ..stats.abilities import Chances, by_means, held_error, nobody
from ..stats.distance_based import Closeness, Rows, closeness, copies
from .flags import Coefficient, Flag, examples
from .studied import Studied, best_and_worst, between, number
from .tables import bar
from .timing import Speed, speed

# Answers that a worker must have to be judged.
LEAST = 8
# A crowd of rankings that goes with its own orders by less than this has nobody who stands out.
LITTLE = 0.1


@dataclass(frozen=True, eq=False)
class Judged:
    """`words(worker)` is the evidence; `reversed_as` the name of the flag of those who turn answers round ("random"
    where answers have no opposite)."""

    chances: Chances
    words: Callable[[int], str]
    reversed_as: str = "reversed"

    def flags(self, votes: Votes[Any]) -> Iterator[Flag]:
        """Those who turn round, then those who do not look, with the chance of the accusation."""
        random, turned = self.chances.sure()
        for name, who in ((self.reversed_as, turned), ("random", random)):
            for w in np.flatnonzero(who).tolist():
                own = votes.task[votes.worker == w]
                yield Flag(votes.workers[w], name, probability=float(self.chances.either[w]), evidence=self.words(w),
                           tasks=examples(votes, own), of=votes.kind.name)  # fmt: skip


def unjudged(votes: Votes[Any], _: Any) -> Judged:
    """For kinds whose own flags say all."""
    return Judged(nobody(votes.n_workers), str)


def by_distance(close: Closeness) -> Judged:
    """By how far answers follow the others' of the same tasks, beyond what they would if dealt out at random."""
    n = close.n.astype(np.float64)
    known = (close.n >= LEAST) & np.isfinite(close.follows) & np.isfinite(close.error)
    square = np.where(known, close.error**2 * n * np.maximum(n - 1, 0), 0.0)
    error, freedom = held_error(square, n, known)
    usual = float(np.median(close.follows[known])) if known.any() else 0.0

    def words(w: int) -> str:
        told = (
            f"follows the tasks by {number(close.follows[w], 2)} (0: answers dealt out at random) over "
            f"{int(close.n[w]):,} answers, where the usual worker has {number(usual, 2)}"
        )
        return told + "; do they take one answer for its opposite?" * bool(close.follows[w] < -2 * error[w])

    return Judged(by_means(close.follows, error, freedom, known), words)


# ----------------------------------------------------------------
# Flags of workers by how far their answers are from those of the others, with the evidence in plain words.

I8 = npt.NDArray[np.int64]

# What the flags mean for people, the most serious first.
ALIKE_FLAGS = {
    "constant": "gives one answer whatever the task",
    "random": "the answers do not follow what the others say",
    "reversed": "the answers go against what the others say",
    "copying": "shares answers with another worker that nobody else gave",
    "fast": "answers far more quickly than the rest of the crowd",
    "unknown": "too few answers to say anything",
}
# Constant: one answer in so large a share, which the others' answers to the same tasks make as unlikely as this.
ONE_ANSWER, UNLIKELY = 0.9, 1e-4


@dataclass(frozen=True, eq=False)
class Seen:
    """What the flags are read off: rows, how close, equal answers by code, rows that differ from the estimate, and the
    chances that workers do not look or turn answers round."""

    rows: Rows
    close: Closeness
    same_as: I8
    astray: npt.NDArray[np.bool_] | None
    judged: Judged


def alike_flags(votes: Votes[Any], seen: Seen, speed: Speed) -> list[Flag]:
    """All flags, the most serious first."""
    constant = list(_constant(votes, seen))
    idle = {flag.worker for flag in constant}
    found = [*constant, *(flag for flag in seen.judged.flags(votes) if flag.worker not in idle)]
    found += [flag for flag in _copying(votes, seen) if flag.worker not in idle]
    return [*found, *_fast(votes, seen, speed), *_unknown(votes, seen)]


def _flag(votes: Votes[Any], worker: int, name: str, **more: Any) -> Flag:
    return Flag(votes.workers[worker], name, of=votes.kind.name, **more)


def _unknown(votes: Votes[Any], seen: Seen) -> Iterator[Flag]:
    for w in np.flatnonzero(seen.close.n < LEAST).tolist():
        words = f"{seen.close.n[w]} answers to tasks that others answered too; at least {LEAST} are needed"
        yield _flag(votes, w, "unknown", evidence=words)


def _constant(votes: Votes[Any], seen: Seen) -> Iterator[Flag]:
    """One answer nearly always, where the others' answers to the same tasks differ."""
    from scipy.stats import binom

    order, begin = seen.rows.by_worker
    for w in np.flatnonzero(seen.close.n >= LEAST).tolist():
        own = order[begin[w] : begin[w + 1]]
        values, count = np.unique(seen.same_as[own], return_counts=True)
        most, n = int(count.max()), len(own)
        if most < ONE_ANSWER * n:
            continue
        usual = values[count.argmax()]
        theirs = _others_at(seen.rows, own)
        share = (float((seen.same_as[theirs] == usual).sum()) + 1) / (len(theirs) + 2)
        p = min(float(binom.sf(most - 1, n, share)) * len(begin), 1.0)
        if p <= UNLIKELY:
            said = _in_words(votes, int(own[seen.same_as[own] == usual][0]))
            words = f"gave {said} in {most:,} of {n:,} answers; of the same tasks {share:.0%} of the others' say so"
            tasks = examples(votes, seen.rows.task[own])
            yield _flag(votes, w, "constant", p_value=p, evidence=words, tasks=tasks)


def _others_at(rows: Rows, own: I8) -> I8:
    """Everybody else's rows of the tasks of these rows."""
    begin, size = rows.begin[rows.task[own]], rows.size[own]
    at = np.repeat(begin, size) + np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
    return np.asarray(at[rows.worker[at] != rows.worker[own[0]]])


def _in_words(votes: Votes[Any], row: int) -> str:
    """An answer as the file has it, cut where it is long."""
    said = votes.answers.words(np.array([row]))
    text = str(said[0]) if said else ""
    return repr(text if len(text) <= 40 else f"{text[:39]}…")


def _copying(votes: Votes[Any], seen: Seen) -> Iterator[Flag]:
    """One flag a worker, from the pair that is the surest."""
    if seen.astray is None:
        return
    found = copies(seen.rows, seen.same_as, seen.astray, seen.close.pairs)
    best: dict[int, int] = {}
    partners: dict[int, list[int]] = {}
    for k in np.argsort(found.p, kind="stable").tolist():
        a, b = int(found.first[k]), int(found.second[k])
        for one, two in ((a, b), (b, a)):
            best.setdefault(one, k)
            partners.setdefault(one, []).append(two)
    for w, k in best.items():
        other = int(found.second[k] if found.first[k] == w else found.first[k])
        words = (
            f"the very answer of {votes.workers[other]} on {found.equal[k]:,} of {found.common[k]:,} common tasks "
            f"where both differ from the estimate and nobody else said it; two who work on their own would share about "
            f"{found.expected[k]:.1f}; who copied, or whether both had one source, the answers do not say"
        )
        yield _flag(votes, w, "copying", p_value=float(found.p[k]), evidence=words,
                    partners=tuple(votes.workers.gather(partners[w]).to_list()),
                    tasks=examples(votes, seen.rows.task[found.rows[k]]))  # fmt: skip


def _fast(votes: Votes[Any], seen: Seen, speed: Speed) -> Iterator[Flag]:
    for w in np.flatnonzero(speed.quick).tolist():
        words = (
            f"half of {int(speed.n[w]):,} answers took less than {speed.median[w]:.2g} seconds, where the usual worker "
            f"takes {speed.usual:.2g}"
        )
        if np.isfinite(seen.close.follows[w]):
            words += f"; they follow the tasks by {number(seen.close.follows[w], 2)}"
        yield _flag(votes, w, "fast", evidence=words)


# ----------------------------------------------------------------
# The workers of any kind of answers that has a distance: how far they follow the tasks, agreement, flags.
# A kind gives the door `distance(answers, i, j)`; with the doors `said(votes, result)` (the estimate as one answer a
# task) and `known(votes, gold)` (codes of known tasks and their answers) its study also says how far workers are from
# the estimate and from gold. A kind with more to tell extends `AlikeStudy`, or appends to its flags.

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
    distance = votes.kind.hooks.distance
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
    if not kind.hooks.supports(KindHooks.estimated_answers) or not len(votes):
        return None
    both = votes.answers.join(kind.hooks.estimated_answers(votes, result))
    found: F8 = kind.hooks.distance(both, np.arange(len(votes)), len(votes) + votes.task.astype(np.int64))
    return found


def _on_gold(votes: Votes[Any], gold: Any) -> dict[str, Any]:
    """Each worker's distance from the truth of known tasks."""
    m, kind = votes.n_workers, votes.kind
    if gold is None or not kind.hooks.supports(KindHooks.gold_answers):
        return {"n_gold": np.zeros(m, dtype=np.int64), "gold_off": np.full(m, np.nan)}
    tasks, answers = kind.hooks.gold_answers(votes, gold)
    at = np.full(votes.n_tasks, -1, dtype=np.int64)
    at[tasks] = np.arange(len(tasks))
    mine = np.flatnonzero(at[votes.task] >= 0)
    both = votes.answers.join(answers)
    off = kind.hooks.distance(both, mine, len(votes) + at[votes.task[mine]])
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
