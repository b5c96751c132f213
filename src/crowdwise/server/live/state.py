"""Live: the state of a project derived from the log, and the leases.

`apply(event)` is the only way to change it, apart from leases, so that the same log gives the same state.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from ...active.online import OnlineModel
from ...active.session import Session
from ...evaluation.calibration import FEWEST
from ..answers import AnswerKind, kind_of
from ..config import Config
from ..store.log import LogEvent
from .baseline import confidence_of, statement_of, summary_of
from .checks import CHECK, CHOSEN, Checks
from .crowd import NameRegister, Worker
from .leases import Leases
from .reviews import Reviews
from .task_columns import TaskColumns, columns_of

# Returns the arrays of the fit that an event enters, stored or computed again.
Baseline = Callable[[LogEvent], Any]
# Number of answers before the first fit, and the growth that triggers another one.
FIRST, GROWTH = 20, 0.05
# Events that change the report.
_REPORTED = frozenset(("label", "undo", "gold", "config", "tasks", "worker", "exclude"))
_SERIAL = count()


class Live:
    """The live state of a project."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.kind: AnswerKind = kind_of(config)
        self.crowd = NameRegister()
        model = OnlineModel(config.n_classes)
        self.session = Session(model, config.asks_by, stop=config.stopping, settings=config.settings, seed=config.seed)
        self.leases = Leases(self.session)
        self.last, self.at = 0, 0.0
        self.gold: dict[int, Any] = {}
        self.checks = Checks()
        self.reviews = Reviews()
        self.surplus = self.skips = 0
        self.stopped = ""
        self.refit, self.refit_n, self.refit_at, self.based = 0, 0, 0.0, 0
        self.refit_checks = 0
        self.touched: set[int] = set()
        self.baseline: Any = None
        self.minutes: dict[int, int] = {}
        # Number of changes that affect the report, in this state of this process.
        self.serial, self.changes = next(_SERIAL), 0
        self.shown: dict[int, str] = {}  # payloads of the latest tasks, in JSON
        self._columns: tuple[Any, TaskColumns] | None = None

    # ---------------------------------------------------------------- the log
    def apply(self, event: LogEvent, baseline: Baseline | None = None) -> Any:
        """Apply the next event of the log; the result depends on its kind."""
        if event.id != self.last + 1:
            raise ValueError(f"event {event.id} does not follow event {self.last}")
        self.last, self.at = event.id, max(self.at, event.at)
        self.changes += event.kind in _REPORTED
        if event.kind == "rebase":
            return self._rebase(event, baseline)
        handle: Callable[[LogEvent], Any] = getattr(self, f"_{event.kind}")
        return handle(event)

    def _create(self, event: LogEvent) -> None:
        self.at = event.at

    def _tasks(self, event: LogEvent) -> None:
        for name in event.payload["names"]:
            self.crowd.add_task(name)
        self.session.model.answer_lists.grow(len(self.crowd.tasks), 0)
        self.session.task_index.renew()

    def _worker(self, event: LogEvent) -> None:
        fields = event.payload
        code = self.crowd.add_worker(Worker(fields["name"], fields["kind"], fields["cost"]))
        self.session.costs[code] = fields["cost"]
        self.session.model.answer_lists.grow(0, code + 1)
        self.session.task_index.ask_again()

    def _config(self, event: LogEvent) -> None:
        self.config = config = self.config.changed(event.payload)
        self.kind = kind_of(config)
        self.session.stop = self.session.task_index.stop = config.stopping
        self.session.settings = config.settings
        self.session.task_index.renew()

    def _label(self, event: LogEvent) -> str:
        task, worker, payload = event.task or 0, event.worker or 0, event.payload
        who = self.crowd.workers[worker]
        self._uncount_surplus(event)
        if payload["status"] == "surplus":
            self.leases.end(task, worker)
            self.surplus += 1
            who.surplus += 1
            who.count_today(event.at, 1)
            self.session.skip(task, worker)  # the task is not assigned to them again, even if the cap is raised
            return ""
        self.leases.answered(task, worker)
        if payload["status"] == "counted":
            who.count(event.at, 1)
            self._count_minute(event.at)
        if event.client_ms is not None:
            who.seconds += event.client_ms / 1000
            who.timed += 1
        self.touched.add(task)
        self.reviews.answered(task, worker)
        self._unskip(task, worker)
        return self.session.tell(task, worker, self.kind.code(payload["answer"]))

    def _count_minute(self, at: float) -> None:
        """Count an answer in its minute, and drop minutes that are more than an hour old."""
        minute = int(at // 60)
        self.minutes[minute] = self.minutes.get(minute, 0) + 1
        if len(self.minutes) > 120:
            self.minutes = {m: n for m, n in self.minutes.items() if m > minute - 60}

    def _uncount_surplus(self, event: LogEvent) -> None:
        """Uncount a surplus answer that a later event replaces or undoes."""
        if event.supersedes is not None and event.payload.get("was") == "surplus":
            who = self.crowd.workers[event.worker or 0]
            self.surplus -= 1
            who.surplus -= 1
            who.count_today(event.at, -1)
            self._unskip(event.task or 0, event.worker or 0)

    def _unskip(self, task: int, worker: int) -> None:
        """Remove the task from those that the worker skipped."""
        mine = self.session.skipped.get(worker, [])
        if task in mine:
            mine.remove(task)
            if not mine:
                del self.session.skipped[worker]

    def _undo(self, event: LogEvent) -> str:
        task, worker = event.task or 0, event.worker or 0
        self._uncount_surplus(event)
        if event.payload["was"] == "surplus":
            return ""
        self.crowd.workers[worker].count(event.at, -1)
        self.touched.add(task)
        return self.session.undo(task, worker)

    def _skip(self, event: LogEvent) -> None:
        task, worker = event.task or 0, event.worker or 0
        self.leases.end(task, worker)
        self.session.skip(task, worker)
        self.skips += 1
        self.crowd.workers[worker].skips += 1

    def _gold(self, event: LogEvent) -> None:
        task, answer = event.task or 0, event.payload["answer"]
        if answer is None:
            self.gold.pop(task, None)
        else:
            self.gold[task] = answer
        if event.payload.get("drawn", CHOSEN) != CHOSEN or task in self.checks.done:
            # The task stays open like the others: with fewer answers, it would not be a sample of them.
            self.checks.note(task, answer is not None)
            if task in self.session.gold:
                self.session.set_gold(task, None)
            return
        self.session.set_gold(task, None if answer is None else self.kind.code(answer))
        self.touched.add(task)

    def _check(self, event: LogEvent) -> None:
        self.checks.ask(event.payload["seed"], event.payload["tasks"])

    def _review(self, event: LogEvent) -> None:
        self.reviews.decide(event.task or 0, event.payload)

    def _return(self, event: LogEvent) -> None:
        self.reviews.send_back(event.task or 0, event.worker or 0, event.payload["note"])

    def _comment(self, event: LogEvent) -> None:
        self.reviews.comment(event.task or 0, event.payload)

    def _exclude(self, event: LogEvent) -> None:
        self.session.task_index.exclude(event.task or 0, event.payload["excluded"])
        self.touched.add(event.task or 0)

    def _more(self, event: LogEvent) -> None:
        self.session.task_index.ask_for(event.task or 0, event.payload["answers"])

    @property
    def excluded(self) -> set[int]:
        """Tasks that are in no fit and are not given to workers."""
        return self.session.task_index.excluded

    def cap_of(self, task: int) -> int | None:
        """The largest number of counted answers of a task, more than that of the others if it was asked for again."""
        cap = self.config.cap
        return None if cap is None else max(cap, self.session.task_index.least.get(task, 0))

    @property
    def columns(self) -> TaskColumns:
        """The columns of all tasks, by which they are searched and queued: of the last fit, or else of this moment."""
        key = (self.based, self.config, len(self.crowd.tasks), None if self.based else self.changes)
        if self._columns is None or self._columns[0] != key:
            self._columns = (key, columns_of(self))
        return self._columns[1]

    def hides_gold(self, task: int) -> bool:
        """Whether the task is a hidden test of workers: it has gold that was not randomly drawn."""
        return task in self.gold and task not in self.checks.done

    def drawn_how(self, task: int, stated: str = CHOSEN) -> str:
        """How gold of this task was drawn: by the check queue, or as stated."""
        return CHECK if task in self.checks.queue else stated

    def _pause(self, event: LogEvent) -> None:
        worker = event.worker or 0
        self.crowd.workers[worker].paused = reason = event.payload["reason"]
        self.session.floor_exempt.discard(worker)
        self.session.pause(worker, reason)
        for lease in self.leases.of(worker):
            self.leases.end(lease.task, worker)

    def _resume(self, event: LogEvent) -> None:
        worker = event.worker or 0
        self.crowd.workers[worker].paused = ""
        self.session.floor_exempt.add(worker)
        self.session.resume(worker)

    def _stop(self, event: LogEvent) -> None:
        self.stopped = event.payload["reason"]

    def _auth(self, event: LogEvent) -> None:
        """Tokens have changed; the authenticator clears its cache."""

    # ---------------------------------------------------------------- background fits
    @property
    def n_answers(self) -> int:
        """Number of counted answers."""
        return self.session.model.n_labels

    def refit_due(self, now: float) -> bool:
        """Whether there are enough new answers, or old enough ones, for another fit."""
        grown = self.n_answers - self.refit_n
        if grown >= max(FIRST, GROWTH * self.refit_n):
            return True
        # Newly checked tasks change the stated accuracy, which must not wait for answers.
        if self.checks.changes != self.refit_checks and len(self.checks.done) >= FEWEST and self.n_answers >= FIRST:
            return True
        return grown > 0 and 0 < self.config.refit_minutes * 60 <= now - self.refit_at and self.n_answers >= FIRST

    def _refit(self, event: LogEvent) -> None:
        self.refit, self.refit_n, self.refit_at = event.id, self.n_answers, event.at
        self.refit_checks = self.checks.changes
        self.touched = set()

    def _rebase(self, event: LogEvent, baseline: Baseline | None) -> list[tuple[int, str]]:
        if baseline is None:
            raise ValueError("a rebase needs the arrays of its fit")
        self.baseline, self.based = baseline(event), event.payload["of"]
        summary = summary_of(self.baseline)
        if not self.config.sure:
            return self.session.measure(confidence_of(summary, self.crowd.tasks), statement_of(summary))
        return self.session.rebase(
            self.baseline["posterior"],
            sorted(self.touched),
            given=summary.get("given", ()),
            stated=statement_of(summary),
        )
