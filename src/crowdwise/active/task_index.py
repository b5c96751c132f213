"""Levels: which open tasks come first, without looking at all of them.

A priority between 0 and 1 becomes one of a few hundred levels. A task changes its level in time that depends on the
number of levels, and the best tasks for a worker are read off the top: neither grows with the number of tasks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..stats.gold_calibration import GoldCalibration
from ..stats.information import expected_gain
from ..stats.temperature import best_temperature, soften
from . import kernels
from . import kernels as compiled
from .answer_lists import Chains
from .online import OnlineModel
from .rules import COMPILED, Policy
from .stopping import CAP, GOLD, NOBODY, OPEN, REASONS, SURE, WORTH, Doubt, Flips, Progress, Stated, Stopping

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Level 0 is closed, 1 to N_LEVELS - 1 are priorities from 0 to 1.
N_LEVELS = 256
CLOSED = 0
# A worker's own tasks passed over for each one that was found, before it is enough.
MOST = 200


def level_of(priority: F8) -> I8:
    """The level of a priority between 0 and 1."""
    share = np.clip(priority, 0.0, 1.0)
    return np.asarray(1 + np.round(share * (N_LEVELS - 2)), dtype=np.int64)


class Levels:
    """The index of one session."""

    def __init__(self) -> None:
        self.n = 0
        self.level, self.order, self.place = (np.zeros(16, np.int64) for _ in range(3))
        self.start = np.zeros(N_LEVELS, np.int64)

    def fill(self, level: I8) -> None:
        """Begin again with level[task] of all tasks."""
        self.n = len(level)
        self.level = np.array(level, dtype=np.int64)
        self.order = np.argsort(self.level, kind="stable")
        self.place = np.empty(self.n, np.int64)
        self.place[self.order] = np.arange(self.n)
        self.start = np.searchsorted(self.level[self.order], np.arange(N_LEVELS))

    def set(self, task: int, level: int) -> None:
        """Bring one task to a level; tasks up to it that were unknown are closed."""
        if task >= self.n:
            self._grow(task + 1)
        kernels.move(task, level, self.level, self.order, self.place, self.start)

    def _grow(self, n: int) -> None:
        known = self.level[: self.n]
        if n <= len(self.level):  # new tasks enter at the top, at the end of the order, and come down
            for task in range(self.n, n):
                self.level[task], self.order[task], self.place[task] = N_LEVELS - 1, task, task
                self.n += 1
                kernels.move(task, CLOSED, self.level, self.order, self.place, self.start)
            return
        self.fill(np.concatenate([known, np.zeros(n - len(known), np.int64)]))
        room = np.zeros(2 * n, np.int64)
        for name in ("level", "order", "place"):
            longer = room.copy()
            longer[:n] = getattr(self, name)
            setattr(self, name, longer)

    @property
    def index(self) -> tuple[I8, I8, I8, I8]:
        """What kernels move tasks in."""
        return self.level, self.order, self.place, self.start

    @property
    def n_open(self) -> int:
        """Tasks that are not closed."""
        return self.n - int(self.start[CLOSED + 1])

    def best(self, n: int, chains: Chains, worker: int = -1, held: tuple[int, ...] = (), turn: float = 0.0) -> I8:
        """Up to n open tasks of the highest levels that this worker (-1: anybody) has neither answered nor in hand."""
        out = np.empty(n, np.int64)
        mine = np.array(held, dtype=np.int64)
        found = kernels.best(self.n, N_LEVELS, turn, worker, mine, self.order, self.start,
                             chains.head, chains.after, chains.who, MOST, out)  # fmt: skip
        return out[:found]

    def anywhere(self, n: int, chains: Chains, worker: int, held: tuple[int, ...], rng: np.random.Generator) -> I8:
        """Up to n open tasks for this worker, drawn from all levels alike."""
        first = int(self.start[CLOSED + 1])
        if first >= self.n:
            return np.empty(0, np.int64)
        drawn = np.unique(self.order[rng.integers(first, self.n, size=4 * n)])
        drawn = rng.permutation(drawn)
        free = [t for t in drawn.tolist() if t not in held and (worker < 0 or chains.edge(t, worker) < 0)]
        return np.array(free[:n], dtype=np.int64)


# ----------------------------------------------------------------
# Board: of every task what is believed, whether it is open, why not, and where it stands in the index.

board_kernels: Any = compiled  # numba's functions carry no types

# Gold tasks with answers from which they set the temperature; tasks of a fit from which it calibrates.
ENOUGH_GOLD, ENOUGH_TASKS = 20, 10
# A task in somebody's hand counts as half-answered.
HALF = compiled.HALF
# Workers, the most often right first, whose information decides whether a task is worth another answer.
_BEST = 32
_WHY = tuple(REASONS.index(reason) for reason in (SURE, CAP, NOBODY, GOLD))


class Board:
    """`believed[task, class]` is the model's cautious posterior, calibrated: by the last whole fit whose
    confidence was measured on checked tasks (`calibrate`), else by the temperature that gold asks for. A model of one
    class only counts answers: there `believed` is `fitted`, the confidence that a whole fit measured (`measure`)."""

    def __init__(self, model: OnlineModel, policy: Policy, stop: Stopping, cost: float = 1.0) -> None:
        self.model, self.policy, self.stop, self.cost = model, policy, stop, cost
        self.levels, self.progress, self.flips = Levels(), Progress(), Flips(stop.window)
        self.temperature = 1.0
        self.calibration: GoldCalibration | None = None
        self.doubt: Doubt | None = None
        self.fitted = np.empty(0)
        self.rule = COMPILED.get(policy.priority, -1)
        self.believed = np.empty((0, model.n_classes))
        self.busy, self.reason = np.empty(0, np.int64), np.empty(0, np.int8)
        self.empty: set[int] = set()  # tasks that nobody is left for
        self.renew()

    def renew(self) -> list[tuple[int, str]]:
        """Look at all tasks again, after a sweep; tasks that closed or opened, with the new reason."""
        self._fit_temperature()
        n = self.model.n_tasks
        before = self.reason
        self.busy = np.concatenate([self.busy, np.zeros(n - len(self.busy), np.int64)])
        gold, had = self.model.chains.gold[:n], self.model.chains.n[:n]
        self.believed = self._measured(0, had) if self._counts else self._calibrated(self.model.cautious(), gold, had)
        sure = self.believed.max(axis=1, initial=0.0)
        self.reason = self._reasons(sure, self.model.chains.n[:n])
        self.progress = Progress(n, float(sure.sum()), float((sure * (1 - sure)).sum()), self.doubt)
        self.levels.fill(self._levels(np.arange(n)))
        changed = np.flatnonzero(self.reason[: len(before)] != before)
        return [(int(t), REASONS[self.reason[t]]) for t in changed]

    def look(self, task: int) -> str:
        """Look at one task again, after an answer or a lease; its reason to stop, "" while it is open."""
        return self.follow(task)[0]

    def follow(self, task: int) -> tuple[str, bool]:
        """The same, and whether the task's label is another now."""
        if task >= len(self.busy):
            self._grow(task + 1)
        if self.rule < 0 or self.stop.value is not None or self._counts:
            return self._follow(task)
        bounds = (self.stop.target, self.stop.fewest, self._cap)
        how, chains = (self.rule, bounds, _WHY, task in self.empty, N_LEVELS), self.model.chains
        if self.temperature == 1 or self.calibration is not None:
            found = board_kernels.follow(task, self._map, *how, chains.gold, chains.tables, *self._tables)
        else:
            found = board_kernels.look(task, self._row(task), *how, chains.gold, *self._tables)
        self.progress.change(*found[:2])
        return REASONS[self.reason[task]], found[2]

    def _follow(self, task: int) -> tuple[str, bool]:
        """The same where a rule of the caller's own, or the worth of an answer, decides."""
        row = self._row(task)
        before, label = float(self.believed[task].max()), self.label(task)
        self.believed[task] = row
        self.progress.change(before, float(row.max()))
        sure = row.max(keepdims=True)
        self.reason[task] = self._reasons(sure, self.model.chains.n[task : task + 1], task)[0]
        self.relevel(task)
        return REASONS[self.reason[task]], label != self.label(task)

    def _row(self, task: int) -> F8:
        """What is believed of one task."""
        chains, one = self.model.chains, slice(task, task + 1)
        if self._counts:
            return np.asarray(self._measured(task, chains.n[one])[0])
        return np.asarray(self._calibrated(self.model.cautious(task)[None], chains.gold[one], chains.n[one])[0])

    def _calibrated(self, posterior: F8, gold: I8, n: I8) -> F8:
        """Of answered tasks without gold the calibrated posterior."""
        if self.calibration is None:
            return np.asarray(soften(posterior, self.temperature))
        rows = (gold < 0) & (n > 0)
        return np.where(rows[:, None], self.calibration.apply(posterior), posterior)

    @property
    def _counts(self) -> bool:
        """Whether the model has one class."""
        return self.model.n_classes == 1

    def _measured(self, first: int, n: I8) -> F8:
        """Of tasks first, first + 1, ... of a model of one class: as sure as `fitted`, 0 where it says nothing."""
        out = np.zeros(len(n))
        known = self.fitted[first : first + len(n)]
        out[: len(known)] = np.where((n[: len(known)] > 0) & ~np.isnan(known), known, 0.0)
        return out[:, None]

    def measure(self, confidence: F8, stated: Stated | None) -> None:
        """Of a model of one class: take over the confidence[task] (NaN: none) that a whole fit measured on checked
        tasks, and what it states of the share of right answers. `renew` then looks at all tasks again."""
        self.fitted, self.doubt = confidence, None
        n = self.model.n_tasks
        own = self._measured(0, self.model.chains.n[:n])[self.model.chains.gold[:n] < 0]
        if stated is not None and stated.measured and own.any():
            self.doubt = Doubt.of(float(own[own > 0].mean()), stated)

    @property
    def _map(self) -> tuple[bool, float, float, float]:
        """The calibration as the kernels take it."""
        found = self.calibration
        return (False, 0.0, 0.0, 0.0) if found is None else (True, found.slope, found.shift, found.centre)

    def calibrate(self, posterior: F8, tasks: I8, stated: Stated | None) -> None:
        """Take over how far a whole fit can be trusted: posterior[i, class] of answered tasks[i] without gold, and what
        it states of the share of right labels. `renew` then looks at all tasks again.

        Where that was measured, the model's confidence in a task is mapped to the fit's. Where it was not, the fit
        doubts the crowd as a whole, which no further answer to a task can settle: tasks stop by the model's own
        confidence, and the doubt is that of the expected accuracy alone.
        """
        self.calibration, self.doubt = None, None
        if stated is None or len(tasks) < ENOUGH_TASKS:
            return
        own, n = self.model.cautious(), self.model.n_tasks
        if stated.measured:
            answered = (self.model.chains.n[:n] > 0) & (self.model.chains.gold[:n] < 0)
            target = posterior[np.arange(len(tasks)), own[tasks].argmax(axis=1)]
            confidence = own.max(axis=1)
            self.calibration = GoldCalibration.fit(confidence[answered], confidence[tasks], target)
            own[tasks] = self.calibration.apply(own[tasks])
        self.doubt = Doubt.of(float(own[tasks].max(axis=1).mean()), stated)

    def relevel(self, task: int) -> None:
        """A task went into somebody's hands, or came back."""
        if self.rule < 0 or task >= self.levels.n:
            self.levels.set(task, int(self._levels(np.array([task]))[0]))
        else:
            board_kernels.relevel(task, self.rule, self._cap, N_LEVELS, *self._tables)

    @property
    def _cap(self) -> int:
        return -1 if self.stop.cap is None else self.stop.cap

    @property
    def _tables(self) -> tuple[Any, ...]:
        return self.believed, self.busy, self.model.chains.n, self.reason, self.levels.index

    def ask_again(self) -> None:
        """Somebody came, or came back: tasks that nobody was left for are looked at again."""
        again, self.empty = self.empty, set()
        for task in sorted(again):
            self.look(task)

    def priority(self, tasks: I8) -> F8:
        """Between 0 and 1; half for each time that a task is in somebody's hands."""
        own = self.policy.priority(self.believed[tasks], self.model.chains.n[tasks].astype(np.float64))
        return np.asarray(own * HALF ** self.busy[tasks])

    def best_of(self, tasks: I8, worker: int) -> I8:
        """The places of the best of a few tasks: by what this worker would tell, or (-1) by their priority."""
        if self.rule < 0 and worker < 0:
            score = self.priority(tasks)
            return np.flatnonzero(score >= score.max())
        chains, out = self.model.chains, np.empty(len(tasks), np.int64)
        n = board_kernels.weigh(
            tasks, worker, self.rule, self.believed, self.busy, chains.n, chains.counts, chains.totals, chains.prior,
            chains.prior_totals, out,
        )  # fmt: skip
        return out[:n]

    def label(self, task: int) -> int:
        """The best class of a task."""
        return int(self.believed[task].argmax())

    # ---------------------------------------------------------------- inside
    def _levels(self, tasks: I8) -> I8:
        closed = self.reason[tasks] != 0
        if self.stop.cap is not None:  # answers on their way count: the cap holds whatever order they come in
            closed |= self.model.chains.n[tasks] + self.busy[tasks] >= self.stop.cap
        return np.where(closed, CLOSED, level_of(self.priority(tasks)))

    def _reasons(self, sure: F8, n: I8, first: int = 0) -> npt.NDArray[np.int8]:
        """The reason of tasks first, first + 1, ..., as a number in REASONS."""
        stop = self.stop
        out = np.full(len(n), REASONS.index(OPEN), np.int8)
        gone = [t for t in self.empty if t < len(n)] if len(n) > 1 else [0] * (first in self.empty)
        out[gone] = REASONS.index(NOBODY)
        if stop.value is not None:
            worth = self._worth(first, len(n))
            out[worth * stop.value < 1] = REASONS.index(WORTH)
        if stop.cap is not None:
            out[n >= stop.cap] = REASONS.index(CAP)
        out[(sure >= stop.target) & (n >= stop.fewest)] = REASONS.index(SURE)
        out[self.model.chains.gold[first : first + len(n)] >= 0] = REASONS.index(GOLD)
        return out

    def _worth(self, first: int, n: int) -> F8:
        """The information per cost of the best worker for each task."""
        chains, m = self.model.chains, self.model.n_workers
        if not m:
            return np.full(n, np.inf)
        skill = (chains.right[:m] + 2) / (chains.seen[:m] + 3)
        who = np.argsort(-skill, kind="stable")[:_BEST]
        told: F8 = expected_gain(self.believed[first : first + n], self.model.theta(who))
        return np.asarray(told.max(axis=1) / self.cost)

    def _grow(self, n: int) -> None:
        more = n - len(self.busy)
        self.model.chains.grow(n, 0)
        fresh = np.repeat(self.model.class_prior[None], more, axis=0) * (not self._counts)
        self.believed = np.concatenate([self.believed, fresh])
        self.busy = np.concatenate([self.busy, np.zeros(more, np.int64)])
        self.reason = np.concatenate([self.reason, np.zeros(more, np.int8)])
        for task in range(n - more, n):
            self.progress.change(None, float(fresh[0].max()))
            self.relevel(task)

    def _fit_temperature(self) -> None:
        """How much softer the posterior of gold tasks would have to be; never sharper, since a session does not know
        how gold was drawn."""
        chains = self.model.chains
        at = np.flatnonzero((chains.gold[: self.model.n_tasks] >= 0) & (chains.n[: self.model.n_tasks] > 0))
        if len(at) < ENOUGH_GOLD or self.calibration is not None or self._counts:
            return
        blind = self.model.blind(at)
        truth = np.eye(self.model.n_classes)[chains.gold[at]]
        self.temperature = best_temperature(blind, truth, np.ones(len(at)), lowest=1.0)
