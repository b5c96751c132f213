"""Comparison of policies with fixed overlap: the same simulated crowd, with a project behind the real API for each."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import uvicorn

from ...client.project import Project as Client
from ..api.app import make_app
from ..auth import issue
from ..batch import WriteBatch
from ..commands import manage
from ..config import Config
from ..project import Project, create, load_tasks
from ..refitter import Refitter
from .crowd import SimulatedCrowd
from .drive import drive

FIXED = "fixed overlap"


@dataclass(frozen=True)
class PolicyOutcome:
    """The outcome of a policy: answers until the accuracy was first reached (None: never), and the state at the end."""

    policy: str
    needed: int | None
    answers: int
    accuracy: float
    expected: float | None
    sure: int
    why: str


def compare(
    config: Config,
    crowd: SimulatedCrowd,
    policies: Sequence[str],
    *,
    accuracy: float | None = None,
    seed: int = 0,
    progress: Callable[[str, int], None] | None = None,
) -> list[PolicyOutcome]:
    """Simulate each policy, and fixed overlap, in which all tasks get the same number of answers, up to all workers.
    `accuracy` is the goal, by default the target of the project."""
    goal = config.target if accuracy is None else accuracy
    fixed = replace(config, policy="round_robin", target=1.0, cap=len(crowd.workers), budget=None, explore=0.0)
    configs = [(FIXED, fixed), *((policy, replace(config, policy=policy)) for policy in policies)]
    return [_simulate(name, config, crowd, goal, seed, progress) for name, config in configs]


def _simulate(
    name: str,
    config: Config,
    crowd: SimulatedCrowd,
    goal: float,
    seed: int,
    progress: Callable[[str, int], None] | None,
) -> PolicyOutcome:
    config = replace(config, refit_minutes=0.0, paused=False, lease=86_400.0)
    with tempfile.TemporaryDirectory(prefix="simulation-") as folder:
        path = Path(folder) / "project"
        admin = create(path, config)
        with Project(path) as project, _Serving(project) as url:
            load_tasks(project, [{"id": task, "payload": {"text": task}} for task in crowd.tasks])
            workers = [Client(url, project.queue.do(_worker(worker))) for worker in crowd.workers]
            lead, refitter, needed = Client(url, admin), Refitter(project, start=False), list[int]()

            def after_answer(n: int) -> bool:
                if n % max(len(crowd.tasks) // 10, 1):
                    return False
                refitter.once()
                if not needed and crowd.accuracy(_labels(lead)) >= goal:
                    needed.append(n)
                if progress is not None:
                    progress(name, n)
                return name == FIXED and bool(needed)

            n, why = drive(workers, crowd, seed=seed, progress=after_answer)
            refitter.once(now=True)
            return _outcome(name, n, why, needed, lead, crowd)


def _outcome(name: str, n: int, why: str, needed: list[int], lead: Client, crowd: SimulatedCrowd) -> PolicyOutcome:
    status = lead.status()
    expected = status["expected_accuracy"]
    sure = int(status["tasks"].get("sure", 0))
    return PolicyOutcome(
        name, needed[0] if needed else None, n, crowd.accuracy(_labels(lead)), expected and expected["mean"], sure, why
    )


def _labels(lead: Client) -> dict[str, str]:
    """The server's current label of every task with answers."""
    return {row["id"]: row["live"]["label"] for row in lead.tasks() if row["answers"]}


def _worker(name: str) -> Callable[[WriteBatch], str]:
    return lambda batch: issue(batch, "annotate", manage.add_worker(batch, name))[1]


class _Serving:
    """The application of a project on a free port of this machine, from a thread."""

    def __init__(self, project: Project) -> None:
        app = make_app(project, rate=1e6, burst=1e6)
        self.server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", access_log=False))
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    def __enter__(self) -> str:
        self.thread.start()
        while not self.server.started:
            if not self.thread.is_alive():
                raise RuntimeError("the server did not start")
            time.sleep(0.01)
        return f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}"

    def __exit__(self, *gone: object) -> None:
        self.server.should_exit = True
        self.thread.join()
