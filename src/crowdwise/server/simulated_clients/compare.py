"""Policies beside fixed overlap: the same planted crowd, each time a project of its own behind the real API."""

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
from ..batch import Batch
from ..commands import manage
from ..config import Config
from ..project import Project, create, load_tasks
from ..refitter import Refitter
from .crowd import Planted
from .drive import drive

FIXED = "fixed overlap"


@dataclass(frozen=True)
class Course:
    """What came of one policy: answers until the accuracy was first reached (None: never), and at the end."""

    policy: str
    needed: int | None
    answers: int
    accuracy: float
    expected: float | None
    sure: int
    why: str


def compare(
    config: Config,
    crowd: Planted,
    policies: Sequence[str],
    *,
    accuracy: float | None = None,
    seed: int = 0,
    progress: Callable[[str, int], None] | None = None,
) -> list[Course]:
    """One course for each policy, and for fixed overlap: every task gets as many answers as the next, up to all
    workers. `accuracy`: what is to be reached, the project's target unless said."""
    goal = config.target if accuracy is None else accuracy
    fixed = replace(config, policy="round_robin", target=1.0, cap=len(crowd.workers), budget=None, explore=0.0)
    ways = [(FIXED, fixed), *((policy, replace(config, policy=policy)) for policy in policies)]
    return [_course(name, config, crowd, goal, seed, progress) for name, config in ways]


def _course(
    name: str, config: Config, crowd: Planted, goal: float, seed: int, progress: Callable[[str, int], None] | None
) -> Course:
    config = replace(config, refit_minutes=0.0, paused=False, lease=86_400.0)
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder:
        path = Path(folder) / "project"
        admin = create(path, config)
        with Project(path) as project, _Serving(project) as url:
            load_tasks(project, [{"id": task, "payload": {"text": task}} for task in crowd.tasks])
            workers = [Client(url, project.queue.do(_worker(worker))) for worker in crowd.workers]
            lead, refitter, needed = Client(url, admin), Refitter(project, start=False), list[int]()

            def look(n: int) -> bool:
                if n % max(len(crowd.tasks) // 10, 1):
                    return False
                refitter.once()
                if not needed and crowd.right(_labels(lead)) >= goal:
                    needed.append(n)
                if progress is not None:
                    progress(name, n)
                return name == FIXED and bool(needed)

            n, why = drive(workers, crowd, seed=seed, progress=look)
            refitter.once(now=True)
            return _end(name, n, why, needed, lead, crowd)


def _end(name: str, n: int, why: str, needed: list[int], lead: Client, crowd: Planted) -> Course:
    status = lead.status()
    expected = status["expected_accuracy"]
    sure = int(status["tasks"].get("sure", 0))
    return Course(
        name, needed[0] if needed else None, n, crowd.right(_labels(lead)), expected and expected["mean"], sure, why
    )


def _labels(lead: Client) -> dict[str, str]:
    """What the server believes of every task that has an answer."""
    return {row["id"]: row["live"]["label"] for row in lead.tasks() if row["answers"]}


def _worker(name: str) -> Callable[[Batch], str]:
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
