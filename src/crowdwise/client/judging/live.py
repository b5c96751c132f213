"""Judging the tasks of a project on a server; tasks without a verdict are skipped with the reason."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from ..problems import ServerProblem
from ..project import Project
from ..records import Batch, Task
from .judge import Judge, Verdict
from .log import Log


@dataclass
class JudgingCounts:
    """Counts of verdicts and of reasons for missing ones."""

    verdicts: int = 0
    nulls: int = 0
    refused: int = 0
    cost: float = 0.0
    why: str = ""
    reasons: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count(self, verdict: Verdict, refused: str = "") -> None:
        """Count a task."""
        with self.lock:
            self.cost += verdict.cost
            if refused:
                self.refused += 1
            elif verdict.answer is None:
                self.nulls += 1
            else:
                self.verdicts += 1
            if why := refused or (verdict.why if verdict.answer is None else ""):
                self.reasons[why] = self.reasons.get(why, 0) + 1

    @property
    def asked(self) -> int:
        """Number of judged tasks, with a verdict or without."""
        return self.verdicts + self.nulls + self.refused


def judge_project(
    project: Project,
    judge: Judge,
    *,
    limit: int | None = None,
    parallel: int = 1,
    patience: float = 0.0,
    log: Log | None = None,
    progress: Callable[[JudgingCounts], None] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> JudgingCounts:
    """Judge until no task is left, `limit` tasks were judged, or the project stops.

    `patience`: number of seconds to keep asking while there is no task.
    """
    counts, begun, running = JudgingCounts(), 0, dict[Future[None], str]()
    idle_since: float | None = None
    with ThreadPoolExecutor(max(parallel, 1)) as pool:
        while True:
            room = max(parallel, 1) - len(running)
            room = room if limit is None else min(room, limit - begun)
            batch = project.next(room + len(running)) if room > 0 else Batch(())
            fresh = [task for task in batch.tasks if task.id not in running.values()][:room]
            for task in fresh:
                running[pool.submit(_one, project, judge, task, counts, log)] = task.id
            begun += len(fresh)
            if running:
                idle_since = None
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    del running[future]
                    future.result()
                if progress is not None:
                    progress(counts)
                continue
            counts.why = _end(batch, limit, begun)
            idle_since = time.monotonic() if idle_since is None else idle_since
            over = time.monotonic() - idle_since >= patience
            if over or (limit is not None and begun >= limit) or (batch.stopped is not None and batch.stopped.final):
                return counts
            sleep(min(2.0, patience))


def _end(batch: Batch, limit: int | None, begun: int) -> str:
    if limit is not None and begun >= limit:
        return f"{limit} tasks were asked for"
    return batch.stopped.reason if batch.stopped is not None else "no open task is left for this worker"


def _one(project: Project, judge: Judge, task: Task, counts: JudgingCounts, log: Log | None) -> None:
    """Judge one task and send the answer; a refusal of the server, which may concern this task only, is recorded."""
    verdicts = judge.verdicts(task.payload)
    verdict = judge.join(verdicts)
    refused = ""
    try:
        if verdict.answer is None:
            project.skip(task, f"no verdict: {verdict.why}"[:200])
        else:
            project.answer(task, verdict.answer, ms=verdict.ms, about=verdict.about() | {"model": judge.model})
    except ServerProblem as error:
        if error.status in (401, 403):
            raise
        refused = str(error)
    if log is not None:
        log.write(task.id, judge, verdicts, refused)
    counts.count(verdict, refused)
