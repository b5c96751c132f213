"""Two sets of votes as one, on codes: what is added costs its own size, not that of what is there."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from .errors import ParameterError
from .intake.coding import NUMBERS
from .intake.repeats import Duplicates, occasions, one_voice, resolve, told
from .ledger import Ledger
from .side_tables import SideTable, joined
from .vocabulary import Codes, widened

if TYPE_CHECKING:
    from .votes import Votes

V = TypeVar("V", bound="Votes[Any]")
I8 = npt.NDArray[np.int64]
_FEW = 64


def append(votes: V, other: V, duplicates: Duplicates) -> V:
    """The rows of both over the union of their vocabularies; see Votes.append."""
    if duplicates not in ("error", "first", "last", "keep"):
        raise ParameterError(f"duplicates must be error, first, last or keep, got {duplicates!r}")
    tasks, old_task, new_task = widened(votes.tasks, other.tasks)
    workers, old_worker, new_worker = widened(votes.workers, other.workers)
    task = [_moved(votes.task, old_task), _moved(other.task, new_task)]
    worker = [_moved(votes.worker, old_worker), _moved(other.worker, new_worker)]
    key = [t.astype(np.int64) * max(len(workers), 1) + w for t, w in zip(task, worker, strict=True)]
    # Both are sorted already: the new rows only have to find their places.
    place = np.searchsorted(key[0], key[1], side="right")
    order = _merged(np.arange(len(votes)), len(votes) + np.arange(len(other)), place)
    numbers: dict[str, Any] = {name: _numbers(name, votes, other, place) for name in NUMBERS}
    found = replace(
        votes,
        task=_merged(task[0], task[1], place),
        worker=_merged(worker[0], worker[1], place),
        answers=votes.answers.join(other.answers).take(order),
        tasks=tasks,
        workers=workers,
        about_tasks=joined(votes.about_tasks, other.about_tasks),
        about_workers=joined(votes.about_workers, other.about_workers),
        about_rows=_rows(votes, other, order),
        **numbers,
    )
    twice = bool((place > 0).any() and (key[0][np.maximum(place - 1, 0)] == key[1])[place > 0].any())
    if twice or bool((np.diff(key[1]) == 0).any()) or bool((np.diff(key[0]) == 0).any()):
        found = _resolved(found, duplicates, votes.ledger + other.ledger)
        return _as_voices(found) if _voiced(votes) and _voiced(other) else found
    both = votes.ledger + other.ledger
    return replace(found, ledger=both.then(Ledger(len(found), len(found))))


def _resolved(found: V, duplicates: Duplicates, before: Ledger) -> V:
    """The rows after the policy for repeats."""

    def tell(rows: I8) -> str:
        row = int(rows[0])
        return told(found.tasks[int(found.task[row])], found.workers[int(found.worker[row])], found.answers.words(rows))

    occasion, _ = occasions(found.about_rows)
    if occasion is not None:
        order = np.lexsort((occasion, found.worker, found.task))
        found, occasion = found.take(order), occasion[order]
    numbers = {name: getattr(found, name) for name in NUMBERS}
    kept, gone = resolve(found.task, found.worker, found.answers.keys(), numbers, duplicates, tell, occasion)
    part = found if kept is None else found.take(kept)
    return replace(part, ledger=before.then(Ledger(len(found), len(part), gone)))


def _rows(votes: Votes[Any], other: Votes[Any], order: I8) -> SideTable:
    """What is known of the rows of both, in their order; nothing where a side knows nothing."""
    first, second = votes.about_rows, other.about_rows
    if first is None and second is None:
        return None
    first = pl.DataFrame({"_": [None] * len(votes)}) if first is None else first
    second = pl.DataFrame({"_": [None] * len(other)}) if second is None else second
    both = pl.concat([first, second], how="diagonal_relaxed")
    return both.drop("_", strict=False)[order]


def _voiced(votes: Votes[Any]) -> bool:
    """Whether the rows weigh what repeats of one voice weigh, or nobody weighed them."""
    if votes.weight is None:
        return True
    own = one_voice(votes.task, votes.worker)[0] if occasions(votes.about_rows)[0] is not None else None
    return own is not None and np.array_equal(own, votes.weight)


def _as_voices(found: V) -> V:
    if occasions(found.about_rows)[0] is None:
        return found
    return replace(found, weight=one_voice(found.task, found.worker)[0])


def _merged(first: npt.NDArray[Any], second: npt.NDArray[Any], place: I8) -> npt.NDArray[Any]:
    """np.insert; of few rows, by pieces, which is several times as fast."""
    if len(place) > _FEW:
        return np.insert(first, place, second)
    edges = [0, *place.tolist(), len(first)]
    pieces = [first[edges[0] : edges[1]]]
    for i, (lo, hi) in enumerate(pairwise(edges[1:])):
        pieces += [second[i : i + 1], first[lo:hi]]
    return np.concatenate(pieces)


def _moved(codes: Codes, table: Codes | None) -> Codes:
    return codes if table is None or not len(table) else table[codes]


def _numbers(name: str, votes: Votes[Any], other: Votes[Any], place: I8) -> npt.NDArray[np.float64] | None:
    first, second = getattr(votes, name), getattr(other, name)
    if first is None and second is None:
        return None
    nothing = 1.0 if name == "weight" else np.nan
    first = np.full(len(votes), nothing) if first is None else first
    return _merged(first, np.full(len(other), nothing) if second is None else second, place)
