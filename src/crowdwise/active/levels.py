"""Levels: which open tasks come first, without looking at all of them.

A priority between 0 and 1 becomes one of a few hundred levels. A task changes its level in time that depends on the
number of levels, and the best tasks for a worker are read off the top: neither grows with the number of tasks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..maths.kernels import levels as kernels
from .chains import Chains

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Level 0 is closed, 1 to N_LEVELS - 1 are priorities from 0 to 1.
N_LEVELS = 256
CLOSED = 0
# A worker's own tasks passed over for each one that was found, before it is enough.
MOST = 200


def level_of(priority: F8) -> I8:
    """The level of a priority between 0 and 1."""
    share = np.clip(priority, 0.0, 1.0)
    return np.asarray(1 + np.round(share * (N_LEVELS - 2)), dtype=np.int64)


class Levels:
    """The index of one session."""

    def __init__(self) -> None:
        self.n = 0
        self.level, self.order, self.place = (np.zeros(16, np.int64) for _ in range(3))
        self.start = np.zeros(N_LEVELS, np.int64)

    def fill(self, level: I8) -> None:
        """Begin again with level[task] of all tasks."""
        self.n = len(level)
        self.level = np.array(level, dtype=np.int64)
        self.order = np.argsort(self.level, kind="stable")
        self.place = np.empty(self.n, np.int64)
        self.place[self.order] = np.arange(self.n)
        self.start = np.searchsorted(self.level[self.order], np.arange(N_LEVELS))

    def set(self, task: int, level: int) -> None:
        """Bring one task to a level; tasks up to it that were unknown are closed."""
        if task >= self.n:
            self._grow(task + 1)
        kernels.move(task, level, self.level, self.order, self.place, self.start)

    def _grow(self, n: int) -> None:
        known = self.level[: self.n]
        if n <= len(self.level):  # new tasks enter at the top, at the end of the order, and come down
            for task in range(self.n, n):
                self.level[task], self.order[task], self.place[task] = N_LEVELS - 1, task, task
                self.n += 1
                kernels.move(task, CLOSED, self.level, self.order, self.place, self.start)
            return
        self.fill(np.concatenate([known, np.zeros(n - len(known), np.int64)]))
        room = np.zeros(2 * n, np.int64)
        for name in ("level", "order", "place"):
            longer = room.copy()
            longer[:n] = getattr(self, name)
            setattr(self, name, longer)

    @property
    def index(self) -> tuple[I8, I8, I8, I8]:
        """What kernels move tasks in."""
        return self.level, self.order, self.place, self.start

    @property
    def n_open(self) -> int:
        """Tasks that are not closed."""
        return self.n - int(self.start[CLOSED + 1])

    def best(self, n: int, chains: Chains, worker: int = -1, held: tuple[int, ...] = (), turn: float = 0.0) -> I8:
        """Up to n open tasks of the highest levels that this worker (-1: anybody) has neither answered nor in hand."""
        out = np.empty(n, np.int64)
        mine = np.array(held, dtype=np.int64)
        found = kernels.best(self.n, N_LEVELS, turn, worker, mine, self.order, self.start,
                             chains.head, chains.after, chains.who, MOST, out)  # fmt: skip
        return out[:found]

    def anywhere(self, n: int, chains: Chains, worker: int, held: tuple[int, ...], rng: np.random.Generator) -> I8:
        """Up to n open tasks for this worker, drawn from all levels alike."""
        first = int(self.start[CLOSED + 1])
        if first >= self.n:
            return np.empty(0, np.int64)
        drawn = np.unique(self.order[rng.integers(first, self.n, size=4 * n)])
        drawn = rng.permutation(drawn)
        free = [t for t in drawn.tolist() if t not in held and (worker < 0 or chains.edge(t, worker) < 0)]
        return np.array(free[:n], dtype=np.int64)
