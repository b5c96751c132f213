"""The check queue: tasks drawn at random to be labelled by somebody who knows, whose answers calibrate confidence.

Every labelled task has a random number that follows from the seed alone, and the queue takes the smallest: drawn once
or in several goes, also while more tasks are labelled in between, it is a uniform sample of the labelled tasks. Seed
and tasks stand in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

# How gold was drawn: from the check queue, at random by the lead's own statement, or in a way that nobody stated.
CHECK, RANDOM, CHOSEN = "check", "random", "chosen"
DRAWN = (CHOSEN, RANDOM)


@dataclass
class Checks:
    """`queue` in the order in which tasks are to be checked; `done` are tasks whose gold was drawn at random, of the
    queue or not; `changes` counts what changed of these."""

    seed: int | None = None
    queue: list[int] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    changes: int = 0

    def ask(self, seed: int, tasks: Sequence[int]) -> None:
        """Put tasks into the queue that `draw` drew."""
        self.seed = seed
        self.queue += tasks

    def note(self, task: int, there: bool) -> None:
        """The truth of a task that was drawn at random became known, or was taken back."""
        self.changes += 1
        if there:
            self.done.add(task)
        else:
            self.done.discard(task)

    @property
    def waiting(self) -> list[int]:
        """Tasks of the queue that are still to be checked."""
        return [task for task in self.queue if task not in self.done]

    @property
    def progress(self) -> dict[str, int]:
        """asked, checked and left of the queue."""
        left = len(self.waiting)
        return {"asked": len(self.queue), "checked": len(self.queue) - left, "left": left}

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"done": sorted(self.done)}

    @classmethod
    def of(cls, given: dict[str, Any]) -> Checks:
        """What `to_dict` gave."""
        return cls(**given | {"done": set(given["done"])})


def draw(seed: int, among: npt.NDArray[np.bool_], n: int) -> list[int]:
    """n of these tasks (a mask over all), those with the smallest random numbers; a longer mask begins with the same
    numbers."""
    number = np.random.default_rng(seed).random(len(among))
    tasks = np.flatnonzero(among)
    chosen: list[int] = tasks[np.argsort(number[tasks], kind="stable")[:n]].tolist()
    return chosen
