"""Append one set of votes to another on integer codes, at a cost proportional to the rows that are added."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from .arrays import I8
from .intake.coding import NUMBERS
from .intake.repeats import Duplicates, check_duplicates, describe_answers, occasion_codes, repeat_weights, resolve
from .ledger import Ledger
from .side_tables import SideTable, joined
from .vocabulary import Codes, widened

if TYPE_CHECKING:
    from .votes import Votes

V = TypeVar("V", bound="Votes[Any]")
_FEW = 64


def append(votes: V, other: V, duplicates: Duplicates) -> V:
    """Return the rows of both over the union of their vocabularies; see Votes.append."""
    check_duplicates(duplicates)
    tasks, old_task, new_task = widened(votes.tasks, other.tasks)
    workers, old_worker, new_worker = widened(votes.workers, other.workers)
    task = [_recode(votes.task, old_task), _recode(other.task, new_task)]
    worker = [_recode(votes.worker, old_worker), _recode(other.worker, new_worker)]
    key = [t.astype(np.int64) * max(len(workers), 1) + w for t, w in zip(task, worker, strict=True)]
    # Both are sorted already: only the positions of the new rows are needed.
    positions = np.searchsorted(key[0], key[1], side="right")
    order = _insert(np.arange(len(votes)), len(votes) + np.arange(len(other)), positions)
    numbers: dict[str, Any] = {name: _numbers(name, votes, other, positions) for name in NUMBERS}
    merged = replace(
        votes,
        task=_insert(task[0], task[1], positions),
        worker=_insert(worker[0], worker[1], positions),
        answers=votes.answers.join(other.answers).take(order),
        tasks=tasks,
        workers=workers,
        about_tasks=joined(votes.about_tasks, other.about_tasks),
        about_workers=joined(votes.about_workers, other.about_workers),
        about_rows=_rows(votes, other, order),
        **numbers,
    )
    has_repeats = bool((positions > 0).any() and (key[0][np.maximum(positions - 1, 0)] == key[1])[positions > 0].any())
    if has_repeats or bool((np.diff(key[1]) == 0).any()) or bool((np.diff(key[0]) == 0).any()):
        merged = _resolved(merged, duplicates, votes.ledger + other.ledger)
        return _with_repeat_weights(merged) if _has_repeat_weights(votes) and _has_repeat_weights(other) else merged
    ledger = votes.ledger + other.ledger
    return replace(merged, ledger=ledger.then(Ledger(len(merged), len(merged))))


def _resolved(votes: V, duplicates: Duplicates, before: Ledger) -> V:
    """Apply the policy for repeats."""

    def describe(rows: I8) -> str:
        row = int(rows[0])
        return describe_answers(
            votes.tasks[int(votes.task[row])], votes.workers[int(votes.worker[row])], votes.answers.words(rows)
        )

    occasion, _ = occasion_codes(votes.about_rows)
    if occasion is not None:
        order = np.lexsort((occasion, votes.worker, votes.task))
        votes, occasion = votes.take(order), occasion[order]
    numbers = {name: getattr(votes, name) for name in NUMBERS}
    rows, dropped = resolve(votes.task, votes.worker, votes.answers.keys(), numbers, duplicates, describe, occasion)
    result = votes if rows is None else votes.take(rows)
    return replace(result, ledger=before.then(Ledger(len(votes), len(result), dropped)))


def _rows(votes: Votes[Any], other: Votes[Any], order: I8) -> SideTable:
    """Combine the tables about rows, in the given order; null where one of them has no value."""
    first, second = votes.about_rows, other.about_rows
    if first is None and second is None:
        return None
    first = pl.DataFrame({"_": [None] * len(votes)}) if first is None else first
    second = pl.DataFrame({"_": [None] * len(other)}) if second is None else second
    table = pl.concat([first, second], how="diagonal_relaxed")
    return table.drop("_", strict=False)[order]


def _has_repeat_weights(votes: Votes[Any]) -> bool:
    """Whether the rows have no weights, or only those that `repeat_weights` gives them."""
    if votes.weight is None:
        return True
    expected = repeat_weights(votes.task, votes.worker)[0] if occasion_codes(votes.about_rows)[0] is not None else None
    return expected is not None and np.array_equal(expected, votes.weight)


def _with_repeat_weights(votes: V) -> V:
    if occasion_codes(votes.about_rows)[0] is None:
        return votes
    return replace(votes, weight=repeat_weights(votes.task, votes.worker)[0])


def _insert(first: npt.NDArray[Any], second: npt.NDArray[Any], positions: I8) -> npt.NDArray[Any]:
    """np.insert; few rows are inserted piecewise, which is several times as fast."""
    if len(positions) > _FEW:
        return np.insert(first, positions, second)
    edges = [0, *positions.tolist(), len(first)]
    pieces = [first[edges[0] : edges[1]]]
    for i, (lo, hi) in enumerate(pairwise(edges[1:])):
        pieces += [second[i : i + 1], first[lo:hi]]
    return np.concatenate(pieces)


def _recode(codes: Codes, table: Codes | None) -> Codes:
    return codes if table is None or not len(table) else table[codes]


def _numbers(name: str, votes: Votes[Any], other: Votes[Any], positions: I8) -> npt.NDArray[np.float64] | None:
    first, second = getattr(votes, name), getattr(other, name)
    if first is None and second is None:
        return None
    default = 1.0 if name == "weight" else np.nan
    first = np.full(len(votes), default) if first is None else first
    return _insert(first, np.full(len(other), default) if second is None else second, positions)
