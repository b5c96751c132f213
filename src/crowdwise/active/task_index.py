"""Index of the open tasks by priority, and the state of each task.

A priority between 0 and 1 becomes one of a few hundred buckets. A task changes its bucket in time that depends on the
number of buckets, and the best tasks for a worker are taken from the top: neither grows with the number of tasks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8, I8
from ..stats.gold_calibration import GoldCalibration
from ..stats.information import expected_gain
from ..stats.temperature import best_temperature, soften
from . import kernels
from . import kernels as compiled
from .answer_lists import AnswerLists
from .online import OnlineModel
from .rules import COMPILED, Policy
from .stopping import (
    CAP,
    EXCLUDED,
    GOLD,
    NOBODY,
    OPEN,
    REASONS,
    SURE,
    WORTH,
    Doubt,
    Flips,
    Progress,
    StatedAccuracy,
    Stopping,
)

# Level 0 is closed, 1 to N_LEVELS - 1 are priorities from 0 to 1.
N_BUCKETS = 256
CLOSED = 0
# Number of skipped tasks (already answered by the worker) per task found, before the search ends.
MOST = 200


def bucket_of(priority: F8) -> I8:
    """Return the bucket of a priority between 0 and 1."""
    share = np.clip(priority, 0.0, 1.0)
    return np.asarray(1 + np.round(share * (N_BUCKETS - 2)), dtype=np.int64)


class PriorityBuckets:
    """Tasks sorted by bucket."""

    def __init__(self) -> None:
        self.n = 0
        self.level, self.order, self.place = (np.zeros(16, np.int64) for _ in range(3))
        self.start = np.zeros(N_BUCKETS, np.int64)

    def fill(self, level: I8) -> None:
        """Rebuild from level[task] of all tasks."""
        self.n = len(level)
        self.level = np.array(level, dtype=np.int64)
        self.order = np.argsort(self.level, kind="stable")
        self.place = np.empty(self.n, np.int64)
        self.place[self.order] = np.arange(self.n)
        self.start = np.searchsorted(self.level[self.order], np.arange(N_BUCKETS))

    def set(self, task: int, level: int) -> None:
        """Move one task to a bucket; new tasks up to it are closed."""
        if task >= self.n:
            self._grow(task + 1)
        kernels.move(task, level, self.level, self.order, self.place, self.start)

    def _grow(self, n: int) -> None:
        levels = self.level[: self.n]
        if n <= len(self.level):  # new tasks are appended at the top and moved down
            for task in range(self.n, n):
                self.level[task], self.order[task], self.place[task] = N_BUCKETS - 1, task, task
                self.n += 1
                kernels.move(task, CLOSED, self.level, self.order, self.place, self.start)
            return
        self.fill(np.concatenate([levels, np.zeros(n - len(levels), np.int64)]))
        room = np.zeros(2 * n, np.int64)
        for name in ("level", "order", "place"):
            longer = room.copy()
            longer[:n] = getattr(self, name)
            setattr(self, name, longer)

    @property
    def index(self) -> tuple[I8, I8, I8, I8]:
        """The arrays that kernels move tasks in."""
        return self.level, self.order, self.place, self.start

    @property
    def n_open(self) -> int:
        """Number of open tasks."""
        return self.n - int(self.start[CLOSED + 1])

    def best(
        self, n: int, answer_lists: AnswerLists, worker: int = -1, held: tuple[int, ...] = (), turn: float = 0.0
    ) -> I8:
        """Return up to n open tasks of the highest buckets that this worker (-1: any) has neither answered nor
        holds.
        """
        out = np.empty(n, np.int64)
        held_tasks = np.array(held, dtype=np.int64)
        n_found = kernels.best(self.n, N_BUCKETS, turn, worker, held_tasks, self.order, self.start,
                             answer_lists.head, answer_lists.after, answer_lists.worker, MOST, out)  # fmt: skip
        return out[:n_found]

    def anywhere(
        self, n: int, answer_lists: AnswerLists, worker: int, held: tuple[int, ...], rng: np.random.Generator
    ) -> I8:
        """Return up to n open tasks for this worker, drawn uniformly."""
        first = int(self.start[CLOSED + 1])
        if first >= self.n:
            return np.empty(0, np.int64)
        drawn = np.unique(self.order[rng.integers(first, self.n, size=4 * n)])
        drawn = rng.permutation(drawn)
        free = [t for t in drawn.tolist() if t not in held and (worker < 0 or answer_lists.edge(t, worker) < 0)]
        return np.array(free[:n], dtype=np.int64)


# ----------------------------------------------------------------
# TaskIndex: posterior, reason to stop and priority of every task.

board_kernels: Any = compiled  # numba's functions carry no types

# Minimum number of gold tasks for the temperature, and of tasks of a batch fit for the calibration.
ENOUGH_GOLD, ENOUGH_TASKS = 20, 10
# Factor of the priority for each worker who holds the task.
HALF = compiled.HALF
# Number of most accurate workers whose information decides whether a task is worth another answer.
_BEST = 32
_WHY = tuple(REASONS.index(reason) for reason in (SURE, CAP, NOBODY, GOLD))


class TaskIndex:
    """State of the tasks of a session.

    `posterior[task, class]` is the model's cautious posterior, calibrated: by the last batch fit whose confidence was
    measured on checked tasks (`calibrate`), else by the temperature estimated on gold. A model of one class only counts
    answers; its `posterior` is `fitted`, the confidence measured by a batch fit (`measure`).
    """

    def __init__(self, model: OnlineModel, policy: Policy, stop: Stopping, cost: float = 1.0) -> None:
        self.model, self.policy, self.stop, self.cost = model, policy, stop, cost
        self.priority_buckets, self.progress, self.flips = PriorityBuckets(), Progress(), Flips(stop.window)
        self.temperature = 1.0
        self.calibration: GoldCalibration | None = None
        self.doubt: Doubt | None = None
        self.fitted = np.empty(0)
        self.rule = COMPILED.get(policy.priority, -1)
        self.posterior = np.empty((0, model.n_classes))
        self.busy, self.reason = np.empty(0, np.int64), np.empty(0, np.int8)
        self.exhausted: set[int] = set()  # tasks without available workers
        self.excluded: set[int] = set()
        self.least: dict[int, int] = {}  # number of answers below which a task stays open, whatever its confidence
        self.renew()

    def renew(self) -> list[tuple[int, str]]:
        """Update all tasks, after a sweep; return the tasks that closed or opened, with the new reason."""
        self._fit_temperature()
        n = self.model.n_tasks
        before = self.reason
        self.busy = np.concatenate([self.busy, np.zeros(n - len(self.busy), np.int64)])
        gold, had = self.model.answer_lists.gold[:n], self.model.answer_lists.n[:n]
        self.posterior = self._measured(0, had) if self._counts else self._calibrated(self.model.cautious(), gold, had)
        sure = self.posterior.max(axis=1, initial=0.0)
        self.reason = self._reasons(sure, self.model.answer_lists.n[:n])
        self.progress = Progress(n, float(sure.sum()), float((sure * (1 - sure)).sum()), self.doubt)
        self.priority_buckets.fill(self._buckets(np.arange(n)))
        changed = np.flatnonzero(self.reason[: len(before)] != before)
        return [(int(t), REASONS[self.reason[t]]) for t in changed]

    def look(self, task: int) -> str:
        """Update one task, after an answer or a lease; return its reason to stop, "" while it is open."""
        return self.follow(task)[0]

    def follow(self, task: int) -> tuple[str, bool]:
        """Update one task; return its reason to stop, and whether its label changed."""
        if task >= len(self.busy):
            self._grow(task + 1)
        if self.rule < 0 or self.stop.value is not None or self._counts or self._special(task):
            return self._follow(task)
        bounds = (self.stop.target, self.stop.fewest, self._cap)
        options, answer_lists = (self.rule, bounds, _WHY, task in self.exhausted, N_BUCKETS), self.model.answer_lists
        if self.temperature == 1 or self.calibration is not None:
            result = board_kernels.follow(
                task, self._map, *options, answer_lists.gold, answer_lists.tables, *self._tables
            )
        else:
            result = board_kernels.look(task, self._row(task), *options, answer_lists.gold, *self._tables)
        self.progress.change(*result[:2])
        return REASONS[self.reason[task]], result[2]

    def _follow(self, task: int) -> tuple[str, bool]:
        """The same without kernels: by a custom rule, by the worth of an answer, or for a task with its own rule."""
        row = self._row(task)
        before, label = float(self.posterior[task].max()), self.label(task)
        self.posterior[task] = row
        self.progress.change(before, float(row.max()))
        sure = row.max(keepdims=True)
        self.reason[task] = self._reasons(sure, self.model.answer_lists.n[task : task + 1], task)[0]
        self.relevel(task)
        return REASONS[self.reason[task]], label != self.label(task)

    def _row(self, task: int) -> F8:
        """Return the posterior of one task."""
        answer_lists, one = self.model.answer_lists, slice(task, task + 1)
        if self._counts:
            return np.asarray(self._measured(task, answer_lists.n[one])[0])
        return np.asarray(
            self._calibrated(self.model.cautious(task)[None], answer_lists.gold[one], answer_lists.n[one])[0]
        )

    def _calibrated(self, posterior: F8, gold: I8, n: I8) -> F8:
        """Calibrate the posterior of answered tasks without gold."""
        if self.calibration is None:
            return np.asarray(soften(posterior, self.temperature))
        rows = (gold < 0) & (n > 0)
        return np.where(rows[:, None], self.calibration.apply(posterior), posterior)

    @property
    def _counts(self) -> bool:
        """Whether the model has a single class."""
        return self.model.n_classes == 1

    def _measured(self, first: int, n: I8) -> F8:
        """For a model of one class: the confidence of tasks first, first + 1, ...; 0 if unknown."""
        out = np.zeros(len(n))
        fitted = self.fitted[first : first + len(n)]
        out[: len(fitted)] = np.where((n[: len(fitted)] > 0) & ~np.isnan(fitted), fitted, 0.0)
        return out[:, None]

    def measure(self, confidence: F8, stated: StatedAccuracy | None) -> None:
        """For a model of one class: set confidence[task] (NaN: none) measured by a batch fit, and its stated accuracy.

        Call `renew` afterwards.
        """
        self.fitted, self.doubt = confidence, None
        n = self.model.n_tasks
        measured = self._measured(0, self.model.answer_lists.n[:n])[self.model.answer_lists.gold[:n] < 0]
        if stated is not None and stated.measured and measured.any():
            self.doubt = Doubt.of(float(measured[measured > 0].mean()), stated)

    @property
    def _map(self) -> tuple[bool, float, float, float]:
        """The calibration as the kernels expect it."""
        calibration = self.calibration
        return (
            (False, 0.0, 0.0, 0.0)
            if calibration is None
            else (True, calibration.slope, calibration.shift, calibration.centre)
        )

    def calibrate(self, posterior: F8, tasks: I8, stated: StatedAccuracy | None) -> None:
        """Calibrate by a batch fit: posterior[i, class] of answered tasks[i] without gold, and its stated accuracy.

        If the accuracy was measured, the model's confidence in a task is mapped to that of the fit. Otherwise the fit
        doubts the crowd as a whole, which no further answer to a task can resolve: tasks stop by the model's own
        confidence, and only the expected accuracy is corrected. Call `renew` afterwards.
        """
        self.calibration, self.doubt = None, None
        if stated is None or len(tasks) < ENOUGH_TASKS:
            return
        posterior_, n = self.model.cautious(), self.model.n_tasks
        if stated.measured:
            answered = (self.model.answer_lists.n[:n] > 0) & (self.model.answer_lists.gold[:n] < 0)
            target = posterior[np.arange(len(tasks)), posterior_[tasks].argmax(axis=1)]
            confidence = posterior_.max(axis=1)
            self.calibration = GoldCalibration.fit(confidence[answered], confidence[tasks], target)
            posterior_[tasks] = self.calibration.apply(posterior_[tasks])
        self.doubt = Doubt.of(float(posterior_[tasks].max(axis=1).mean()), stated)

    def relevel(self, task: int) -> None:
        """Update the bucket of a task that was assigned or released."""
        if self.rule < 0 or task >= self.priority_buckets.n or self._special(task):
            self.priority_buckets.set(task, int(self._buckets(np.array([task]))[0]))
        else:
            board_kernels.relevel(task, self.rule, self._cap, N_BUCKETS, *self._tables)

    def exclude(self, task: int, excluded: bool) -> None:
        """Close a task whatever its answers, or end its exclusion."""
        (self.excluded.add if excluded else self.excluded.discard)(task)
        self.look(task)

    def ask_for(self, task: int, more: int) -> None:
        """Keep a task open, past its cap too, until it has this many more answers."""
        self.least[task] = self.model.answer_lists.n_of(task) + more
        self.exhausted.discard(task)
        self.look(task)

    def _special(self, task: int) -> bool:
        """Whether the task has a rule of its own, which the kernels do not know."""
        return task in self.excluded or task in self.least

    @property
    def _cap(self) -> int:
        return -1 if self.stop.cap is None else self.stop.cap

    @property
    def _tables(self) -> tuple[Any, ...]:
        return self.posterior, self.busy, self.model.answer_lists.n, self.reason, self.priority_buckets.index

    def ask_again(self) -> None:
        """Update the tasks without available workers, because a worker was added or resumed."""
        again, self.exhausted = self.exhausted, set()
        for task in sorted(again):
            self.look(task)

    def priority(self, tasks: I8) -> F8:
        """Return priorities between 0 and 1, halved for each worker who holds the task."""
        priority_ = self.policy.priority(self.posterior[tasks], self.model.answer_lists.n[tasks].astype(np.float64))
        return np.asarray(priority_ * HALF ** self.busy[tasks])

    def best_of(self, tasks: I8, worker: int) -> I8:
        """Return the indices of the best of a few tasks: by the information of this worker, or (-1) by priority."""
        if self.rule < 0 and worker < 0:
            score = self.priority(tasks)
            return np.flatnonzero(score >= score.max())
        answer_lists, out = self.model.answer_lists, np.empty(len(tasks), np.int64)
        n = board_kernels.weigh(
            tasks, worker, self.rule, self.posterior, self.busy, answer_lists.n, answer_lists.counts,
            answer_lists.totals, answer_lists.prior,
            answer_lists.prior_totals, out,
        )  # fmt: skip
        return out[:n]

    def label(self, task: int) -> int:
        """Return the most probable class of a task."""
        return int(self.posterior[task].argmax())

    # ---------------------------------------------------------------- inside
    def _buckets(self, tasks: I8) -> I8:
        closed = self.reason[tasks] != 0
        if self.stop.cap is not None:  # pending answers count, so that the cap holds
            closed |= self.model.answer_lists.n[tasks] + self.busy[tasks] >= self._caps(tasks)
        return np.where(closed, CLOSED, bucket_of(self.priority(tasks)))

    def _caps(self, tasks: I8) -> I8:
        """The largest number of answers of each task."""
        caps = np.full(len(tasks), self.stop.cap)
        if self.least and len(tasks):  # all tasks, or one
            asked = np.fromiter(self.least, np.int64, len(self.least))
            least = np.fromiter(self.least.values(), np.int64, len(self.least))
            here = (asked >= tasks[0]) & (asked <= tasks[-1])
            at = asked[here] - tasks[0]
            caps[at] = np.maximum(caps[at], least[here])
        return caps

    def _reasons(self, sure: F8, n: I8, first: int = 0) -> npt.NDArray[np.int8]:
        """Return the reasons of tasks first, first + 1, ... as indices into REASONS."""
        stop = self.stop
        out = np.full(len(n), REASONS.index(OPEN), np.int8)
        exhausted = [t for t in self.exhausted if t < len(n)] if len(n) > 1 else [0] * (first in self.exhausted)
        out[exhausted] = REASONS.index(NOBODY)
        if stop.value is not None:
            worth = self._worth(first, len(n))
            out[worth * stop.value < 1] = REASONS.index(WORTH)
        if stop.cap is not None:
            out[n >= stop.cap] = REASONS.index(CAP)
        out[(sure >= stop.target) & (n >= stop.fewest)] = REASONS.index(SURE)
        for task, least in self.least.items():
            if first <= task < first + len(n) and n[task - first] < least:
                out[task - first] = REASONS.index(OPEN)
        out[self.model.answer_lists.gold[first : first + len(n)] >= 0] = REASONS.index(GOLD)
        out[[task - first for task in self.excluded if first <= task < first + len(n)]] = REASONS.index(EXCLUDED)
        return out

    def _worth(self, first: int, n: int) -> F8:
        """Return the information per cost of the best worker for each task."""
        answer_lists, m = self.model.answer_lists, self.model.n_workers
        if not m:
            return np.full(n, np.inf)
        skill = (answer_lists.right[:m] + 2) / (answer_lists.n_answered[:m] + 3)
        workers = np.argsort(-skill, kind="stable")[:_BEST]
        information: F8 = expected_gain(self.posterior[first : first + n], self.model.theta(workers))
        return np.asarray(information.max(axis=1) / self.cost)

    def _grow(self, n: int) -> None:
        n_new = n - len(self.busy)
        self.model.answer_lists.grow(n, 0)
        fresh = np.repeat(self.model.class_prior[None], n_new, axis=0) * (not self._counts)
        self.posterior = np.concatenate([self.posterior, fresh])
        self.busy = np.concatenate([self.busy, np.zeros(n_new, np.int64)])
        self.reason = np.concatenate([self.reason, np.zeros(n_new, np.int8)])
        for task in range(n - n_new, n):
            self.progress.change(None, float(fresh[0].max()))
            self.relevel(task)

    def _fit_temperature(self) -> None:
        """Fit the temperature on gold tasks; never below 1, since it is unknown how gold was drawn."""
        answer_lists = self.model.answer_lists
        at = np.flatnonzero((answer_lists.gold[: self.model.n_tasks] >= 0) & (answer_lists.n[: self.model.n_tasks] > 0))
        if len(at) < ENOUGH_GOLD or self.calibration is not None or self._counts:
            return
        blind = self.model.blind(at)
        truth = np.eye(self.model.n_classes)[answer_lists.gold[at]]
        self.temperature = best_temperature(blind, truth, np.ones(len(at)), lowest=1.0)
