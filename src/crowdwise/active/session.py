"""Session: assign tasks to workers while the answers come in.

`ask(worker)` gives a worker the next task, `ask_any()` chooses the worker too; `tell` takes the answer. A session has
no access to clocks, networks or names: tasks, workers and classes are codes, and a log can be replayed with the same
result. All random choices depend on `seed`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from .asking import TaskChooser
from .online import OnlineModel
from .records import NextTask, OpenPool, Settings, Stopped, WorkerPool
from .rules import Policy, policy_of
from .stopping import StatedAccuracy, Stopping, of_project
from .task_index import TaskIndex

# With fewer answers per answered task than this, one round of EM is enough.
FEW = 3


class Session:
    """A labelling session.

    Args:
        model: Model of the answers.
        policy: Name of a policy, or a `Policy`.
        stop: Stopping rules.
        settings: Further settings.
        gold: True class of gold tasks.
        cost: Cost of an answer by worker; `settings.cost` by default.
        pool: The workers to choose from; all by default.
        seed: Seed of all draws; `settings.seed` by default.

    >>> session = Session(OnlineModel(2, n_tasks=3, n_workers=2), seed=1)
    >>> asked = session.ask(0)
    >>> session.tell(asked.task, 0, label=1)
    ''
    """

    def __init__(
        self,
        model: OnlineModel,
        policy: str | Policy = "information",
        *,
        stop: Stopping | None = None,
        settings: Settings | None = None,
        gold: Mapping[int, int] | None = None,
        cost: Mapping[int, float] | None = None,
        pool: WorkerPool | None = None,
        seed: int | None = None,
    ) -> None:
        self.model, self.policy = model, policy_of(policy)
        self.stop = Stopping() if stop is None else stop
        self.settings = Settings() if settings is None else settings
        self.pool: WorkerPool = OpenPool() if pool is None else pool
        self.costs = dict(cost or {})
        self.rng = np.random.default_rng(self.settings.seed if seed is None else seed)
        for task, label in (gold or {}).items():
            model.set_gold(task, label)
        self.gold = sorted(gold or {})
        self.assigned: dict[int, list[int]] = {}
        self.skipped: dict[int, list[int]] = {}
        self.paused: dict[int, str] = {}
        self.floor_exempt: set[int] = set()  # workers exempt from the floor
        self.pending_cost = 0.0  # cost of the assigned tasks
        self.recent: deque[int] = deque(maxlen=256)
        self.spent = float(sum(self.cost_of(w) for w in self._past()))
        self.task_index = TaskIndex(model, self.policy, self.stop, self.settings.cost)
        self.chooser = TaskChooser(self)
        self._swept = model.n_labels

    # ---------------------------------------------------------------- asking
    def ask(self, worker: int) -> NextTask | Stopped:
        """Return the next task for this worker, who holds it from now on."""
        if worker >= self.model.n_workers:
            self.model.answer_lists.grow(0, worker + 1)
            self.task_index.ask_again()
        if reason := self.finished(self.cost_of(worker)):
            return Stopped(reason, final=True)
        if reason := self.refused(worker):
            return Stopped(reason)
        asked = self.chooser.task_for(worker)
        if isinstance(asked, NextTask):
            self.hold(asked.task, worker)
        return asked

    def ask_any(self) -> NextTask | Stopped:
        """Return the next task and a worker for it."""
        if reason := self.finished(min([self.settings.cost, *self.costs.values()])):
            return Stopped(reason, final=True)
        asked = self.chooser.pair()
        if isinstance(asked, NextTask):
            self.hold(asked.task, asked.worker)
        return asked

    def hold(self, task: int, worker: int) -> None:
        """Assign a task to a worker."""
        self.assigned.setdefault(worker, []).append(task)
        self.pending_cost += self.cost_of(worker)
        self.task_index.busy[task] += 1
        self.task_index.relevel(task)

    def release(self, task: int, worker: int) -> None:
        """Take back a task without an answer: skipped, or expired."""
        if self._let_go(task, worker):
            self.task_index.relevel(task)

    def _let_go(self, task: int, worker: int) -> bool:
        """Remove a task from a worker's assignments; return whether it was there."""
        held = self.assigned.get(worker, ())
        if task not in held:
            return False
        self.assigned[worker].remove(task)
        self.pending_cost -= self.cost_of(worker)
        self.task_index.busy[task] -= 1
        return True

    def skip(self, task: int, worker: int) -> None:
        """Take back a task that a worker will not answer; the worker does not get it again."""
        self.release(task, worker)
        skipped = self.skipped.setdefault(worker, [])
        if task not in skipped:
            skipped.append(task)

    def not_for(self, worker: int) -> tuple[int, ...]:
        """Return the tasks that this worker holds or has skipped."""
        return (*self.assigned.get(worker, ()), *self.skipped.get(worker, ()))

    # ---------------------------------------------------------------- answers
    def tell(self, task: int, worker: int, label: int) -> str:
        """Record an answer; return why its task stops now, "" while it stays open."""
        first = task >= len(self.task_index.busy) or not self.model.answer_lists.n_of(task)
        n = self.model.n_labels
        self.model.update(task, worker, label)
        self._let_go(task, worker)
        self.spent += self.cost_of(worker) if self.model.n_labels > n else 0.0
        reason, turned = self.task_index.follow(task)
        self.task_index.flips.add(first or turned)
        self.recent.append(task)
        if self.due:
            self.sweep()
            reason = self.task_index.look(task)
        return reason

    def undo(self, task: int, worker: int) -> str:
        """Remove an answer and its cost."""
        self.model.undo(task, worker)
        self.task_index.exhausted.discard(task)
        self.spent -= self.cost_of(worker)
        return self.task_index.look(task)

    def set_gold(self, task: int, label: int | None) -> None:
        """Set the truth of a task (None: remove it)."""
        self.model.set_gold(task, label)
        self.gold = sorted({*self.gold, task} if label is not None else {*self.gold} - {task})
        self.task_index.look(task)

    @property
    def due(self) -> bool:
        """Whether enough answers came since the last sweep."""
        grown = self.model.n_labels - self._swept
        return self.settings.sweep_at > 0 and grown >= max(20, self.settings.sweep_at * self._swept)

    def sweep(self) -> list[tuple[int, str]]:
        """Learn from all answers again; return the tasks that closed or opened, with the reason ("": open again)."""
        self._swept = self.model.n_labels
        answered = max(self.model.n_tasks - int(self.model.answer_lists.unanswered().sum()), 1)
        few = self.model.n_labels < FEW * answered
        self.model.settle(max_rounds=1 if few else self.settings.rounds)
        return self.task_index.renew()

    def rebase(
        self,
        posterior: npt.NDArray[np.float64],
        since: Iterable[int] = (),
        *,
        given: Iterable[int] = (),
        stated: StatedAccuracy | None = None,
    ) -> list[tuple[int, str]]:
        """Continue from the posterior of a batch fit of tasks 0, 1, ... (NaN: none); `since` have answers that it did
        not use.

        `stated` is the accuracy that the fit states for the tasks whose truth it was not `given`: stopping and the
        expected accuracy agree with it from now on (see `TaskIndex.calibrate`).
        """
        since = list(since)
        fitted = np.flatnonzero(~np.isnan(posterior).any(axis=1))
        self.model.rebase(posterior[fitted], fitted)
        for task in since:
            if self.model.answer_lists.n_of(task):
                self.model.answer_lists.absorb(task)
        comparable = fitted[~np.isin(fitted, [*since, *given, *self.gold]) & (self.model.answer_lists.n[fitted] > 0)]
        self.task_index.calibrate(posterior[comparable], comparable, stated)
        return self.task_index.renew()

    def measure(self, confidence: npt.NDArray[np.float64], stated: StatedAccuracy | None) -> list[tuple[int, str]]:
        """For a model of one class, which only counts answers: continue from the confidence measured by a batch fit.

        See `TaskIndex.measure`. Returns the tasks that closed or opened.
        """
        self.task_index.measure(confidence, stated)
        return self.task_index.renew()

    # ---------------------------------------------------------------- status
    def finished(self, next_cost: float = 0.0) -> str:
        """Return why the project is finished; "" while it goes on."""
        n_open = self.task_index.priority_buckets.n_open + (self.pending_cost > 1e-9)
        return of_project(self.stop, self.committed, next_cost, n_open, self.task_index.progress, self.task_index.flips)

    @property
    def committed(self) -> float:
        """Cost so far, including the assigned tasks."""
        return self.spent + self.pending_cost

    def refused(self, worker: int) -> str:
        """Return why this worker gets no task; "" if the worker does."""
        if worker in self.paused:
            return self.paused[worker]
        n_answered = int(self.model.answer_lists.n_answered[worker]) + len(self.assigned.get(worker, ()))
        if self.settings.load is not None and n_answered >= self.settings.load:
            return f"has done the maximum of {self.settings.load} tasks per worker"
        return self.below_floor(worker)

    def below_floor(self, worker: int) -> str:
        """Return a message if this worker is surely right less often than the floor; "" if not, or if the worker is
        exempt.
        """
        if self.settings.floor <= 0 or worker in self.floor_exempt:
            return ""
        _, _, high = self.record(worker)
        if high >= self.settings.floor:
            return ""
        return f"is right in at most {high:.0%} of the tasks, below the floor of {self.settings.floor:.0%}"

    def record(self, worker: int) -> tuple[float, float, float]:
        """Return how often a worker is right, judged by the others: low end of a 95 % interval, mean, high end."""
        from scipy.special import betaincinv

        right, n = float(self.model.answer_lists.right[worker]), float(self.model.answer_lists.n_answered[worker])
        a, b = 2 + max(right, 0.0), 1 + max(n - right, 0.0)
        low, high = betaincinv(a, b, [0.025, 0.975])
        return float(low), a / (a + b), float(high)

    def pause(self, worker: int, reason: str = "paused") -> None:
        """Give this worker no more tasks."""
        self.paused[worker] = reason

    def resume(self, worker: int) -> None:
        """Lift a pause."""
        self.paused.pop(worker, None)
        self.task_index.ask_again()

    def cost_of(self, worker: int) -> float:
        """Return the cost of an answer of this worker."""
        return self.costs.get(worker, self.settings.cost)

    def _past(self) -> Iterable[int]:
        """Return the worker of each answer that the model already has."""
        return np.repeat(
            np.arange(self.model.n_workers), self.model.answer_lists.n_answered[: self.model.n_workers]
        ).tolist()
