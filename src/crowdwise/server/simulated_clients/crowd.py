"""A simulated crowd for the tasks of a project: the truth, and the answers of all workers to all tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...active.trials import drawn
from ...core.errors import ParameterError
from ...kinds.classes.simulate.planted import Crowd
from ...kinds.classes.simulate.scenarios import SCENARIOS
from ...kinds.scenarios import scenario


@dataclass(frozen=True)
class SimulatedCrowd:
    """`answers[task, worker]` are codes of `classes`; the same draw for all policies."""

    tasks: tuple[str, ...]
    workers: tuple[str, ...]
    classes: tuple[str, ...]
    truth: npt.NDArray[np.int64]
    answers: npt.NDArray[np.int16]

    def answer(self, task: str, worker: int) -> str:
        """The answer of this worker to this task."""
        return self.classes[int(self.answers[self.row_of[task], worker])]

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each task."""
        return {name: at for at, name in enumerate(self.tasks)}

    def accuracy(self, labels: Mapping[str, str]) -> float:
        """The share of tasks with a correct label; missing labels are wrong."""
        true = [self.classes[k] for k in self.truth.tolist()]
        hit = sum(labels.get(task) == name for task, name in zip(self.tasks, true, strict=True))
        return float(hit / len(self.tasks))


def plant(
    tasks: Sequence[str],
    classes: Sequence[str],
    *,
    crowd: str = "one_coin",
    workers: int = 30,
    truth: Mapping[str, str] | None = None,
    seed: int = 0,
) -> SimulatedCrowd:
    """Draw a crowd of this scenario; `truth` is drawn too unless it is given for all tasks."""
    if crowd not in SCENARIOS:
        raise ParameterError(f"there is no crowd {crowd!r} of classes; take one of {', '.join(SCENARIOS)}")
    drawn_crowd: Crowd = scenario(crowd, tasks=len(tasks), workers=workers, classes=len(classes), labels=1, seed=seed)
    if drawn_crowd.confusion is None:
        raise ParameterError(f"workers of the crowd {crowd!r} do not answer by a confusion matrix; take one_coin")
    codes = np.asarray(drawn_crowd.truth, dtype=np.int64)
    if truth is not None:
        code_of = {name: at for at, name in enumerate(classes)}
        missing = next((task for task in tasks if truth.get(task) not in code_of), None)
        if missing is not None:
            raise ParameterError(f"the truth of task {missing[:60]!r} is missing or none of the classes")
        codes = np.array([code_of[truth[task]] for task in tasks], dtype=np.int64)
    names = tuple(f"sim-{at + 1:03d}" for at in range(workers))
    return SimulatedCrowd(tuple(tasks), names, tuple(classes), codes, drawn(codes, drawn_crowd.confusion, seed))
