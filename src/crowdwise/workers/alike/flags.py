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
from .judged import LEAST, Judged

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
