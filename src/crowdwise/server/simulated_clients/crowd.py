"""A planted crowd for a project's tasks: their truth, and what everybody would say of everything."""

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
class Planted:
    """`says[task, worker]` as codes of `classes`; one draw, which every policy meets."""

    tasks: tuple[str, ...]
    workers: tuple[str, ...]
    classes: tuple[str, ...]
    truth: npt.NDArray[np.int64]
    says: npt.NDArray[np.int16]

    def answer(self, task: str, worker: int) -> str:
        """What this worker says of this task."""
        return self.classes[int(self.says[self.place[task], worker])]

    @cached_property
    def place(self) -> dict[str, int]:
        """Where a task stands."""
        return {name: at for at, name in enumerate(self.tasks)}

    def right(self, labels: Mapping[str, str]) -> float:
        """The share of tasks whose label is right; one without a label is not."""
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
) -> Planted:
    """A crowd of this scenario; `truth` where it is known of all tasks, else it is drawn too."""
    if crowd not in SCENARIOS:
        raise ParameterError(f"there is no crowd {crowd!r} of classes; take one of {', '.join(SCENARIOS)}")
    made: Crowd = scenario(crowd, tasks=len(tasks), workers=workers, classes=len(classes), labels=1, seed=seed)
    if made.confusion is None:
        raise ParameterError(f"workers of the crowd {crowd!r} do not answer by a confusion matrix; take one_coin")
    codes = np.asarray(made.truth, dtype=np.int64)
    if truth is not None:
        code_of = {name: at for at, name in enumerate(classes)}
        missing = next((task for task in tasks if truth.get(task) not in code_of), None)
        if missing is not None:
            raise ParameterError(f"the truth of task {missing[:60]!r} is missing or none of the classes")
        codes = np.array([code_of[truth[task]] for task in tasks], dtype=np.int64)
    names = tuple(f"sim-{at + 1:03d}" for at in range(workers))
    return Planted(tuple(tasks), names, tuple(classes), codes, drawn(codes, made.confusion, seed))
