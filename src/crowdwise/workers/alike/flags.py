"""Flags of workers by how far their answers are from those of the others, with the evidence in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.votes import Votes
from ...maths.alike.closeness import Closeness
from ...maths.alike.copies import copies
from ...maths.alike.pairing import Rows
from ..flags import Flag, examples
from ..speed import Speed
from ..wording import number

F8 = npt.NDArray[np.float64]
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
# Answers to tasks that others answered too, that a worker must have to be judged.
LEAST = 8
# Random: surely (so many standard errors) less than half of what the usual worker has, and not surely above a tenth.
SURE, HALF, TENTH = 3.0, 0.5, 0.1
# Constant: one answer in so large a share, which the others' answers to the same tasks make as unlikely as this.
ONE_ANSWER, UNLIKELY = 0.9, 1e-4


@dataclass(frozen=True, eq=False)
class Seen:
    """What the flags are read off: rows, how close, equal answers by code, and rows that differ from the estimate."""

    rows: Rows
    close: Closeness
    same_as: I8
    astray: npt.NDArray[np.bool_] | None


def alike_flags(votes: Votes[Any], seen: Seen, speed: Speed) -> list[Flag]:
    """All flags, the most serious first."""
    constant = list(_constant(votes, seen))
    idle = {flag.worker for flag in constant}
    found = [*constant, *(flag for flag in _random(votes, seen) if flag.worker not in idle)]
    found.sort(key=lambda flag: list(ALIKE_FLAGS).index(flag.name))
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


def _random(votes: Votes[Any], seen: Seen) -> Iterator[Flag]:
    """Whose answers go with the tasks no better than answers dealt out at random, or surely worse."""
    close = seen.close
    known = (close.n >= LEAST) & np.isfinite(close.follows) & np.isfinite(close.error)
    if known.sum() < 3:
        return
    usual = float(np.median(close.follows[known]))
    # In a crowd that hardly follows the tasks itself nobody stands out.
    if usual <= TENTH:
        return
    # A worker whose rows hardly vary has no error to speak of: they are given that of a share.
    error = np.maximum(close.error, 0.5 / np.maximum(close.n, 1))
    high, low = close.follows + as_sure(SURE, close.n) * error, close.follows - 2 * error
    for w in np.flatnonzero(known & (high < HALF * usual) & (low <= TENTH * usual)).tolist():
        own = seen.rows.by_worker[0][seen.rows.by_worker[1][w] : seen.rows.by_worker[1][w + 1]]
        words = (
            f"follows the tasks by {number(close.follows[w], 2)} (0: answers dealt out at random) over "
            f"{int(close.n[w]):,} answers, where the usual worker has {number(usual, 2)}"
        )
        name = "reversed" if high[w] < 0 else "random"
        words += "; do they take one answer for its opposite?" * (name == "reversed")
        yield _flag(votes, w, name, evidence=words, tasks=examples(votes, seen.rows.task[own]))


def as_sure(errors: float, n: I8) -> F8:
    """So many standard errors, or more where few answers gave the error: Student's quantile for the normal one's."""
    from scipy.stats import norm, t

    return np.asarray(t.isf(norm.sf(errors), np.maximum(n - 1, 1)))


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
