"""Rows in order (by task, then worker), and what becomes of a second answer of one worker to one task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import ledger as reasons
from ..errors import DataError
from ..vocabulary import quote

Duplicates = Literal["error", "first", "last", "keep"]
I8 = npt.NDArray[np.int64]
Numbers = Mapping[str, npt.NDArray[np.float64] | None]
# (first row of a pair that contradicts itself, all its rows) -> what to tell people of it
Tell = Callable[[I8], str]


def resolve(
    task: npt.NDArray[Any],
    worker: npt.NDArray[Any],
    keys: tuple[npt.NDArray[Any], ...],
    numbers: Numbers,
    policy: Duplicates,
    tell: Tell,
    occasion: I8 | None = None,
) -> tuple[I8 | None, dict[str, int]]:
    """The rows to keep of sorted rows, in order (None: all as they are), and how many went for which reason.

    Rows of different occasions do not repeat each other.
    """
    again = (np.diff(task) == 0) & (np.diff(worker) == 0)
    if occasion is not None:
        again &= np.diff(occasion) == 0
    if not again.any():
        return None, {}
    group = np.concatenate([[0], np.cumsum(~again)])
    position = np.arange(len(task))
    if policy == "keep":
        return np.lexsort((*(v for v in numbers.values() if v is not None), *keys[::-1], group)), {}
    if policy == "error":
        order = np.lexsort((position, *keys[::-1], group))
        clash = again & np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
        if clash.any():
            raise _contradiction(np.unique(group[1:][clash]), group, tell)
        kept = np.sort(order[np.concatenate([[True], ~(again & ~clash)])])
        return kept, {reasons.EXACT_REPEAT: int(len(task) - len(kept))}
    time = numbers.get("time")
    rank = position if time is None else np.nan_to_num(time, nan=-np.inf)
    order = np.lexsort((position, rank, group))
    kept = order[np.concatenate([[True], ~again]) if policy == "first" else np.concatenate([~again, [True]])]
    same = np.all([key == key[kept][group] for key in keys], axis=0)
    exact = int(same.sum()) - len(kept)
    return kept, {reasons.EXACT_REPEAT: exact, reasons.CONTRADICTION: len(task) - len(kept) - exact}


def _contradiction(pairs: I8, group: I8, tell: Tell) -> DataError:
    first = tell(np.flatnonzero(group == pairs[0]))
    return DataError(
        f"{len(pairs)} (task, worker) {'pair carries' if len(pairs) == 1 else 'pairs carry'} contradictory labels "
        f"(first: {first}); choose --duplicates first, last or keep (in Python: duplicates='first', 'last' or 'keep')"
    )


def told(task: Any, worker: Any, said: list[Any]) -> str:
    """A pair and what its worker said of it, for a message."""
    return f"task {quote([task])}, worker {quote([worker])}: {quote(said)}"
