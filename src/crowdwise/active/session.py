"""Session: whom to ask what next, while the answers come in.

`ask(worker)` gives a worker their next task, `ask_any()` chooses the worker too; `tell` takes the answer. A session
knows nothing of clocks, networks or names: tasks, workers and classes are codes, and who keeps a log can play it again
with the same answers. Everything random comes from `seed`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from ..core.errors import DataError
from .asking import Choice
from .online import OnlineModel
from .records import Asked, Everybody, Pool, Settings, Stopped
from .rules import Policy, policy_of
from .stopping import Stated, Stopping, of_project
from .task_index import Board

# With fewer answers per answered task than this, one round of EM is enough.
FEW = 3


class Session:
    """>>> session = Session(OnlineModel(2, n_tasks=3, n_workers=2), seed=1)
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
        pool: Pool | None = None,
        seed: int | None = None,
    ) -> None:
        self.model, self.policy = model, policy_of(policy)
        self.stop = Stopping() if stop is None else stop
        self.settings = Settings() if settings is None else settings
        self.pool: Pool = Everybody() if pool is None else pool
        self.costs = dict(cost or {})
        self.rng = np.random.default_rng(self.settings.seed if seed is None else seed)
        for task, label in (gold or {}).items():
            model.set_gold(task, label)
        self.gold = sorted(gold or {})
        self.held: dict[int, list[int]] = {}
        self.skipped: dict[int, list[int]] = {}
        self.paused: dict[int, str] = {}
        self.lifted: set[int] = set()  # whom the floor does not hold
        self.in_hand = 0.0  # what the tasks in hand will cost
        self.recent: deque[int] = deque(maxlen=256)
        self.spent = float(sum(self.cost_of(w) for w in self._past()))
        self.board = Board(model, self.policy, self.stop, self.settings.cost)
        self.choice = Choice(self)
        self._swept = model.n_labels

    # ---------------------------------------------------------------- asking
    def ask(self, worker: int) -> Asked | Stopped:
        """The next task for this worker; it is in their hands from now on."""
        if worker >= self.model.n_workers:
            self.model.chains.grow(0, worker + 1)
            self.board.ask_again()
        if reason := self.finished(self.cost_of(worker)):
            return Stopped(reason, final=True)
        if reason := self.refused(worker):
            return Stopped(reason)
        asked = self.choice.task_for(worker)
        if isinstance(asked, Asked):
            self.hold(asked.task, worker)
        return asked

    def ask_any(self) -> Asked | Stopped:
        """The next task and who should do it."""
        if reason := self.finished(min([self.settings.cost, *self.costs.values()])):
            return Stopped(reason, final=True)
        asked = self.choice.pair()
        if isinstance(asked, Asked):
            self.hold(asked.task, asked.worker)
        return asked

    def hold(self, task: int, worker: int) -> None:
        """A task goes into a worker's hands."""
        self.held.setdefault(worker, []).append(task)
        self.in_hand += self.cost_of(worker)
        self.board.busy[task] += 1
        self.board.relevel(task)

    def release(self, task: int, worker: int) -> None:
        """A task comes back without an answer: skipped, or the time is over."""
        if self._let_go(task, worker):
            self.board.relevel(task)

    def _let_go(self, task: int, worker: int) -> bool:
        """A task leaves a worker's hands; whether it was there."""
        mine = self.held.get(worker, ())
        if task not in mine:
            return False
        self.held[worker].remove(task)
        self.in_hand -= self.cost_of(worker)
        self.board.busy[task] -= 1
        return True

    def skip(self, task: int, worker: int) -> None:
        """A worker will not answer this task: it comes back, and they do not get it again."""
        self.release(task, worker)
        mine = self.skipped.setdefault(worker, [])
        if task not in mine:
            mine.append(task)

    def not_for(self, worker: int) -> tuple[int, ...]:
        """Tasks that this worker has in hand or has skipped."""
        return (*self.held.get(worker, ()), *self.skipped.get(worker, ()))

    # ---------------------------------------------------------------- answers
    def tell(self, task: int, worker: int, label: int) -> str:
        """An answer came; why its task stops now, "" while it stays open."""
        first = task >= len(self.board.busy) or not self.model.chains.n_of(task)
        n = self.model.n_labels
        self.model.update(task, worker, label)
        self._let_go(task, worker)
        self.spent += self.cost_of(worker) if self.model.n_labels > n else 0.0
        reason, turned = self.board.follow(task)
        self.board.flips.add(first or turned)
        self.recent.append(task)
        if self.due:
            self.sweep()
            reason = self.board.look(task)
        return reason

    def undo(self, task: int, worker: int) -> str:
        """An answer is taken back, its cost too."""
        self.model.undo(task, worker)
        self.board.empty.discard(task)
        self.spent -= self.cost_of(worker)
        return self.board.look(task)

    def set_gold(self, task: int, label: int | None) -> None:
        """A task's truth becomes known, or is taken back."""
        self.model.set_gold(task, label)
        self.gold = sorted({*self.gold, task} if label is not None else {*self.gold} - {task})
        self.board.look(task)

    @property
    def due(self) -> bool:
        """Whether enough answers came since the last sweep."""
        grown = self.model.n_labels - self._swept
        return self.settings.sweep_at > 0 and grown >= max(20, self.settings.sweep_at * self._swept)

    def sweep(self) -> list[tuple[int, str]]:
        """Learn from all answers again; tasks that closed or opened thereby, with the reason ("": open again)."""
        self._swept = self.model.n_labels
        answered = max(self.model.n_tasks - int(self.model.chains.silent().sum()), 1)
        few = self.model.n_labels < FEW * answered
        self.model.settle(max_rounds=1 if few else self.settings.rounds)
        return self.board.renew()

    def rebase(
        self,
        posterior: npt.NDArray[np.float64],
        since: Iterable[int] = (),
        *,
        given: Iterable[int] = (),
        stated: Stated | None = None,
    ) -> list[tuple[int, str]]:
        """Go on from what a fit believes of tasks 0, 1, ... (NaN: nothing); `since` has answers that it did not see.

        `stated` is how far the fit trusts its labels, those left out whose truth it was `given`: stopping and the
        expected accuracy agree with it from now on (see `Board.calibrate`).
        """
        since = list(since)
        fitted = np.flatnonzero(~np.isnan(posterior).any(axis=1))
        self.model.rebase(posterior[fitted], fitted)
        for task in since:
            if self.model.chains.n_of(task):
                self.model.chains.absorb(task)
        comparable = fitted[~np.isin(fitted, [*since, *given, *self.gold]) & (self.model.chains.n[fitted] > 0)]
        self.board.calibrate(posterior[comparable], comparable, stated)
        return self.board.renew()

    def measure(self, confidence: npt.NDArray[np.float64], stated: Stated | None) -> list[tuple[int, str]]:
        """Of a model of one class, which only counts answers: go on from the confidence that a whole fit measured (see
        `Board.measure`); tasks that closed or opened thereby."""
        self.board.measure(confidence, stated)
        return self.board.renew()

    # ---------------------------------------------------------------- where it stands
    def finished(self, next_cost: float = 0.0) -> str:
        """Why the whole project is done; "" while it goes on."""
        n_open = self.board.levels.n_open + (self.in_hand > 1e-9)
        return of_project(self.stop, self.committed, next_cost, n_open, self.board.progress, self.board.flips)

    @property
    def committed(self) -> float:
        """What was spent, and what the tasks in hand will cost."""
        return self.spent + self.in_hand

    def refused(self, worker: int) -> str:
        """Why this worker gets no task; "" where they do."""
        if worker in self.paused:
            return self.paused[worker]
        seen = int(self.model.chains.seen[worker]) + len(self.held.get(worker, ()))
        if self.settings.load is not None and seen >= self.settings.load:
            return f"has done the {self.settings.load} tasks that one worker may do"
        return self.below_floor(worker)

    def below_floor(self, worker: int) -> str:
        """That this worker is surely less often right than the floor; "" where they may be, or somebody lifted it."""
        if self.settings.floor <= 0 or worker in self.lifted:
            return ""
        _, _, high = self.record(worker)
        if high >= self.settings.floor:
            return ""
        return f"is right in at most {high:.0%} of the tasks, below the floor of {self.settings.floor:.0%}"

    def record(self, worker: int) -> tuple[float, float, float]:
        """How often a worker is right, judged by the others: low end of a 95 % interval, mean, high end."""
        from scipy.special import betaincinv

        right, n = float(self.model.chains.right[worker]), float(self.model.chains.seen[worker])
        a, b = 2 + max(right, 0.0), 1 + max(n - right, 0.0)
        low, high = betaincinv(a, b, [0.025, 0.975])
        return float(low), a / (a + b), float(high)

    def pause(self, worker: int, reason: str = "paused") -> None:
        """Give this worker no more tasks."""
        self.paused[worker] = reason

    def resume(self, worker: int) -> None:
        """Lift a pause."""
        self.paused.pop(worker, None)
        self.board.ask_again()

    def cost_of(self, worker: int) -> float:
        """What an answer of this worker costs."""
        return self.costs.get(worker, self.settings.cost)

    def _past(self) -> Iterable[int]:
        """Whose answers the model brings along, once for each."""
        return np.repeat(np.arange(self.model.n_workers), self.model.chains.seen[: self.model.n_workers]).tolist()

    def check_task(self, task: int) -> None:
        """Refuse tasks that do not exist."""
        if not 0 <= task < self.model.n_tasks:
            raise DataError(f"there is no task {task}; tasks are 0 to {self.model.n_tasks - 1}")
