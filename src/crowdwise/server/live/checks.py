"""The check queue: random tasks to be labelled by an expert, whose answers calibrate confidence.

Every labelled task has a random number that depends on the seed only, and the queue takes the smallest ones. So it is a
uniform sample of the labelled tasks, whether it is drawn at once or in several steps while more tasks are labelled. The
seed and the tasks are in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

# How gold tasks were chosen: by the check queue, at random as stated by the lead, or in an unknown way.
CHECK, RANDOM, CHOSEN = "check", "random", "chosen"
DRAWN = (CHOSEN, RANDOM)


@dataclass
class Checks:
    """`queue` is in the order of checking; `done` are all tasks with random gold; `changes` counts its changes."""

    seed: int | None = None
    queue: list[int] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    changes: int = 0

    def ask(self, seed: int, tasks: Sequence[int]) -> None:
        """Append tasks drawn by `draw` to the queue."""
        self.seed = seed
        self.queue += tasks

    def note(self, task: int, there: bool) -> None:
        """Note that randomly drawn gold of a task was set or removed."""
        self.changes += 1
        if there:
            self.done.add(task)
        else:
            self.done.discard(task)

    @property
    def waiting(self) -> list[int]:
        """Unchecked tasks of the queue."""
        return [task for task in self.queue if task not in self.done]

    @property
    def progress(self) -> dict[str, int]:
        """Numbers of tasks of the queue: asked, checked and left."""
        left = len(self.waiting)
        return {"asked": len(self.queue), "checked": len(self.queue) - left, "left": left}

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"done": sorted(self.done)}

    @classmethod
    def of(cls, given: dict[str, Any]) -> Checks:
        """From `to_dict`."""
        return cls(**given | {"done": set(given["done"])})


def draw(seed: int, among: npt.NDArray[np.bool_], n: int) -> list[int]:
    """The n tasks of a mask with the smallest random numbers; a longer mask begins with the same numbers."""
    number = np.random.default_rng(seed).random(len(among))
    tasks = np.flatnonzero(among)
    chosen: list[int] = tasks[np.argsort(number[tasks], kind="stable")[:n]].tolist()
    return chosen
