"""A judge at work on a server's project: lease, ask, answer; what has no verdict is given back with the reason."""

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
class Tally:
    """What came of it."""

    verdicts: int = 0
    nulls: int = 0
    refused: int = 0
    cost: float = 0.0
    why: str = ""
    reasons: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count(self, verdict: Verdict, refused: str = "") -> None:
        """One task more."""
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
        """Tasks that were judged, with a verdict or without."""
        return self.verdicts + self.nulls + self.refused


def judge_project(
    project: Project,
    judge: Judge,
    *,
    limit: int | None = None,
    parallel: int = 1,
    patience: float = 0.0,
    log: Log | None = None,
    progress: Callable[[Tally], None] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Tally:
    """Until nothing is left for this judge, `limit` tasks were asked, or the project stops.

    `patience`: for how many seconds to ask again when nothing is there at present.
    """
    tally, begun, hands = Tally(), 0, dict[Future[None], str]()
    idle_since: float | None = None
    with ThreadPoolExecutor(max(parallel, 1)) as pool:
        while True:
            room = max(parallel, 1) - len(hands)
            room = room if limit is None else min(room, limit - begun)
            batch = project.next(room + len(hands)) if room > 0 else Batch(())
            fresh = [task for task in batch.tasks if task.id not in hands.values()][:room]
            for task in fresh:
                hands[pool.submit(_one, project, judge, task, tally, log)] = task.id
            begun += len(fresh)
            if hands:
                idle_since = None
                done, _ = wait(hands, return_when=FIRST_COMPLETED)
                for future in done:
                    del hands[future]
                    future.result()
                if progress is not None:
                    progress(tally)
                continue
            tally.why = _end(batch, limit, begun)
            idle_since = time.monotonic() if idle_since is None else idle_since
            over = time.monotonic() - idle_since >= patience
            if over or (limit is not None and begun >= limit) or (batch.stopped is not None and batch.stopped.final):
                return tally
            sleep(min(2.0, patience))


def _end(batch: Batch, limit: int | None, begun: int) -> str:
    if limit is not None and begun >= limit:
        return f"{limit} tasks were asked for"
    return batch.stopped.reason if batch.stopped is not None else "no open task is left for this worker"


def _one(project: Project, judge: Judge, task: Task, tally: Tally, log: Log | None) -> None:
    """Judge one task and say so; a refusal of the server is kept, it may be about this task alone."""
    verdicts = judge.verdicts(task.payload)
    both = judge.join(verdicts)
    refused = ""
    try:
        if both.answer is None:
            project.skip(task, f"no verdict: {both.why}"[:200])
        else:
            project.answer(task, both.answer, ms=both.ms, about=both.about() | {"model": judge.model})
    except ServerProblem as error:
        if error.status in (401, 403):
            raise
        refused = str(error)
    if log is not None:
        log.write(task.id, judge, verdicts, refused)
    tally.count(both, refused)
