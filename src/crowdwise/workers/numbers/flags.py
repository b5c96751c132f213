"""Flags of workers who gave numbers, with the evidence in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.votes import Votes
from ...kinds.numbers.votes import Numbers
from ...maths.numbers.picture.copying import Copying
from ...maths.numbers.picture.quality import LEAST, Quality
from ...maths.numbers.rows import Rows
from ..flags import Flag, examples
from ..speed import Speed
from ..wording import amounts, number, said

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
