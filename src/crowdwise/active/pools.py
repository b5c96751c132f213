"""Who may still be asked about a task: everybody (live), or those who once answered it (a replay)."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..kinds.classes.annotations import Annotations
from .chains import Chains

I8 = npt.NDArray[np.int64]


class Pool(Protocol):
    """What a session asks before it chooses a worker."""

    def who(self, task: int, chains: Chains) -> I8:
        """Workers who have not answered this task and could."""


class Everybody:
    """All workers seen or announced so far."""

    def who(self, task: int, chains: Chains) -> I8:
        """Everybody who has not answered."""
        free = np.ones(chains.n_workers, dtype=bool)
        free[chains.workers_of(task)] = False
        return np.flatnonzero(free)


class Recorded:
    """The rows of recorded votes: only what was once answered can be asked."""

    def __init__(self, votes: Annotations) -> None:
        bounds = votes.task_offsets.tolist()
        worker, label = votes.worker.tolist(), votes.label.tolist()
        self.label = {(t, worker[i]): label[i] for t in range(votes.n_tasks) for i in range(bounds[t], bounds[t + 1])}
        self.left = [set(worker[bounds[t] : bounds[t + 1]]) for t in range(votes.n_tasks)]

    def who(self, task: int, chains: Chains) -> I8:  # noqa: ARG002
        """Whose recorded answer has not been asked for."""
        return np.array(sorted(self.left[task]), dtype=np.int64)

    def take(self, task: int, worker: int) -> int:
        """The recorded answer, which is then used up."""
        self.left[task].discard(worker)
        return int(self.label[task, worker])
