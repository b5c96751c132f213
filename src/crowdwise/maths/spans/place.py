"""What the place in a text alone explains of what workers mark alike.

Who marks the beginning of every text agrees with others who do, and has seen nothing. Their marks agree as well with
the vote on any other text, read at the same place; marks that follow the text do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .rows import F8, I8, summed
from .units import Cells, Units
from .vote import voted_credit

# Agreement by place counts from here on, in multiples of what marks of that size anywhere would have: so much comes
# about by luck in a few texts. Settled on planted crowds.
MORE_THAN_ANYWHERE = 1.5


@dataclass(frozen=True, eq=False)
class Places:
    """Units by where they lie: unit u reaches from points[first[u]] to points[last[u]]; rarity[i] is 1 / (the other
    texts that reach over the piece behind point i), 0 where there is none."""

    size: F8
    first: I8
    last: I8
    rarity: F8

    def elsewhere(self, mark: F8) -> F8:
        """How much of every unit is marked at the same place of another text, on average, if mark[unit] is."""
        n = len(self.size)
        piece = np.cumsum(summed(self.first, mark, n + 1) - summed(self.last, mark, n + 1))[:-1]
        marked, reached = self._between(piece * self.rarity), self._between(self.rarity)
        return np.asarray(np.maximum(marked - mark * reached, 0.0))  # less what the own text adds

    def _between(self, value: F8) -> F8:
        total = np.concatenate([[0.0], np.cumsum(value * self.size)])
        return np.asarray(total[self.last] - total[self.first])


def places(units: Units) -> tuple[Places, Places]:
    """Counted from the beginnings of the texts, and from their ends."""
    some = np.diff(units.offsets) > 0
    extent = np.zeros(len(some), dtype=np.int64)
    extent[some] = units.end[units.offsets[1:][some] - 1]
    end = extent[units.task]
    return _places(units.start, units.end), _places(end - units.end, end - units.start)


def _places(start: I8, end: I8) -> Places:
    points = np.unique(np.concatenate([start, end]))
    first, last = np.searchsorted(points, start), np.searchsorted(points, end)
    n = max(len(points) - 1, 0)
    texts = np.cumsum(np.bincount(first, minlength=n + 1) - np.bincount(last, minlength=n + 1))[:-1]
    rarity = np.divide(1.0, texts - 1, out=np.zeros(n), where=texts > 1)
    return Places(np.diff(points).astype(np.float64), first, last, rarity)


def by_place(
    cells: Cells, weight: F8, units: Units, n_tags: int, worker: npt.NDArray[np.int32], n_workers: int,
    heard: npt.NDArray[np.bool_], known: I8, where: tuple[Places, Places],
) -> F8:  # fmt: skip
    """[worker]: how much of what they mark the vote marks with the same tag at the same place of another text, beyond
    what it would of as much text anywhere; over the rows that are `heard`."""
    k = n_tags + 1
    total = summed(cells.unit * k + cells.tag, weight[cells.row], len(units) * k).reshape(-1, k)
    mark = voted_credit(total)
    told = known >= 0
    mark[told] = np.eye(k)[known[told], 1:]
    use = (cells.tag > 0) & heard[cells.row]
    unit, tag, who = cells.unit[use], cells.tag[use] - 1, worker[cells.row[use]]
    length = units.length.astype(np.float64)
    usual = length @ mark / max(float(length.sum()), 1.0)
    anywhere = summed(who, length[unit] * usual[tag], n_workers)
    best = np.zeros(n_workers)
    for side in where:
        found = np.stack([side.elsewhere(mark[:, g]) for g in range(n_tags)], axis=1)
        best = np.maximum(best, summed(who, found[unit, tag], n_workers))
    return np.asarray(np.maximum(best - MORE_THAN_ANYWHERE * anywhere, 0.0))
