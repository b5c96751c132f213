"""python -m benchmarks.active speed: CPU time of one answer (update and next task), over the number of tasks."""

from __future__ import annotations

import time

import numpy as np

from crowdwise.active import OnlineModel, Session, Settings, Stopping

TASKS, WORKERS, CLASSES = (1_000, 10_000, 100_000), 1_000, 10


def measure(n_tasks: int, answers: int = 2_000, per_task: float = 3.0, policy: str = "information") -> dict[str, float]:
    """Milliseconds of CPU: submit + next of workers who come at random, and of pairs that the session chooses."""
    rng = np.random.default_rng(0)
    truth, skill = rng.integers(CLASSES, size=n_tasks), rng.beta(6, 3, WORKERS)
    model = OnlineModel(CLASSES, n_tasks=n_tasks, n_workers=WORKERS)

    def says(task: int, worker: int) -> int:
        return int(truth[task] if rng.random() < skill[worker] else rng.integers(CLASSES))

    n = int(per_task * n_tasks)
    for task, worker in zip(
        rng.integers(n_tasks, size=n).tolist(), rng.integers(WORKERS, size=n).tolist(), strict=True
    ):
        model.update(task, worker, says(task, worker))
    session = Session(model, policy, stop=Stopping(target=1.0), settings=Settings(sweep_at=0.0, explore=0.05))
    begun = time.process_time()
    session.sweep()
    out = {"sweep": (time.process_time() - begun) * 1e3}
    for name in ("arrives", "chosen"):
        took = []
        for worker in rng.integers(WORKERS, size=answers).tolist():
            asked = session.ask(worker) if name == "arrives" else session.ask_any()
            label = says(asked.task, asked.worker)
            begun = time.process_time()
            session.tell(asked.task, asked.worker, label)
            again = session.ask(asked.worker) if name == "arrives" else session.ask_any()
            took.append((time.process_time() - begun) * 1e3)
            if again.__class__.__name__ == "Asked":
                session.release(again.task, again.worker)
        for share in (50, 95, 99):
            out[f"{name} p{share}"] = float(np.percentile(took[50:], share))
    return out


def main() -> list[dict[str, float]]:
    """One row a size."""
    measure(200, 100)  # compiled before the clock runs
    return [{"tasks": n, **measure(n)} for n in TASKS]
