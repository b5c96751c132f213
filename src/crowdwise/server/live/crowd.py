"""Names and codes of tasks and workers, and counts by worker."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

DAY = 86_400


@dataclass(slots=True)
class Worker:
    """A worker and counts of their answers; `paused` is the reason of a pause, empty if there is none."""

    name: str
    kind: str = "human"
    cost: float = 1.0
    paused: str = ""
    answers: int = 0
    day: int = 0
    today: int = 0
    surplus: int = 0
    skips: int = 0
    seconds: float = 0.0
    timed: int = 0
    last: float = 0.0

    def count(self, at: float, by: int) -> None:
        """Add `by` counted answers at this time."""
        self.answers += by
        self.count_today(at, by)

    def count_today(self, at: float, by: int) -> None:
        """Add `by` answers of this day, counted or not."""
        day = int(at // DAY)
        if day != self.day:
            self.day, self.today = day, 0
        self.today = max(self.today + by, 0)
        self.last = max(self.last, at)


@dataclass
class NameRegister:
    """Tasks and workers in the order of their arrival."""

    tasks: list[str] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)
    task_code: dict[str, int] = field(default_factory=dict)
    worker_code: dict[str, int] = field(default_factory=dict)

    def add_task(self, name: str) -> int:
        """Add a task and return its code."""
        self.task_code[name] = code = len(self.tasks)
        self.tasks.append(name)
        return code

    def add_worker(self, worker: Worker) -> int:
        """Add a worker and return their code."""
        self.worker_code[worker.name] = code = len(self.workers)
        self.workers.append(worker)
        return code

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"tasks": self.tasks, "workers": [asdict(worker) for worker in self.workers]}

    @classmethod
    def of(cls, given: dict[str, Any]) -> NameRegister:
        """From `to_dict`."""
        made = cls(list(given["tasks"]), [Worker(**worker) for worker in given["workers"]])
        made.task_code = {name: code for code, name in enumerate(made.tasks)}
        made.worker_code = {worker.name: code for code, worker in enumerate(made.workers)}
        return made
