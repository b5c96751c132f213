"""The choice of a task for a given worker, or of the best pair of task and worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..core.arrays import I8
from .records import NextTask, Stopped
from .rules import WorkerStats, best_pair
from .task_index import HALF

if TYPE_CHECKING:
    from .session import Session


# Workers scored for each of the best tasks, and number of tasks, if both are chosen.
WORKERS, TASKS = 48, 16


class TaskChooser:
    """Chooses tasks and workers for a session; changes nothing but the set of tasks without available workers."""

    def __init__(self, session: Session) -> None:
        self.session = session

    # ---------------------------------------------------------------- a given worker
    def task_for(self, worker: int) -> NextTask | Stopped:
        """Return gold, a task that others have answered, a random one, or the best by the policy."""
        session, rng = self.session, self.session.rng
        n_answered = int(session.model.answer_lists.n_answered[worker])
        if session.gold and (n_answered < session.settings.qualify or rng.random() < session.settings.gold_rate):
            gold = self._gold_for(worker)
            if gold is not None:
                return NextTask(gold, worker, gold=True)
        held = session.not_for(worker)
        tasks = self._shared(worker, held) if n_answered < session.settings.warm else _NONE
        if not len(tasks) and session.settings.explore > 0 and rng.random() < session.settings.explore:
            tasks = session.task_index.priority_buckets.anywhere(1, session.model.answer_lists, worker, held, rng)
        if not len(tasks):
            n = session.settings.candidates
            tasks = session.task_index.priority_buckets.best(n, session.model.answer_lists, worker, held, rng.random())
        if not len(tasks):
            return Stopped("no open task is left for this worker")
        return NextTask(int(tasks[self._best(tasks, worker)]), worker)

    def _best(self, tasks: I8, worker: int) -> int:
        """Return the index of the best of a few tasks; ties are broken at random."""
        session = self.session
        best = session.task_index.best_of(tasks, worker if session.policy.joint else -1)
        return int(best[session.rng.integers(len(best))])

    def _shared(self, worker: int, held: tuple[int, ...]) -> I8:
        """Return open tasks that were answered recently, but not by this worker."""
        session = self.session
        level, answer_lists = session.task_index.priority_buckets.level, session.model.answer_lists
        recent = {t for t in session.recent if level[t] > 0 and t not in held and answer_lists.edge(t, worker) < 0}
        return np.array(sorted(recent), dtype=np.int64)

    def _gold_for(self, worker: int) -> int | None:
        """Return the gold task with the fewest answers that this worker has not answered."""
        session, held = self.session, self.session.not_for(worker)
        answer_lists = session.model.answer_lists
        free = [t for t in session.gold if t not in held and answer_lists.edge(t, worker) < 0]
        if not free:
            return None
        n = answer_lists.n[free]
        fewest = np.flatnonzero(n == n.min())
        return int(free[fewest[session.rng.integers(len(fewest))]])

    # ---------------------------------------------------------------- task and worker
    def pair(self) -> NextTask | Stopped:
        """Return the best task and worker; tasks without available workers are closed on the way."""
        session = self.session
        while True:
            n = TASKS if session.policy.joint else session.settings.candidates
            tasks = session.task_index.priority_buckets.best(n, session.model.answer_lists, turn=session.rng.random())
            if not len(tasks):
                return Stopped("no open task is left", final=True)
            if session.settings.explore > 0 and session.rng.random() < session.settings.explore:
                tasks = session.task_index.priority_buckets.anywhere(1, session.model.answer_lists, -1, (), session.rng)
            pair = self._joint(tasks) if session.policy.joint else self._task_then_worker(tasks)
            if pair is not None:
                return NextTask(*pair)

    def _task_then_worker(self, tasks: I8) -> tuple[int, int] | None:
        task = int(tasks[self._best(tasks, -1)])
        workers = self._askable(task)
        if not len(workers):
            self._close(task)
            return None
        return task, int(workers[self.session.policy.pick(self._crowd(workers), self.session.rng)])

    def _joint(self, tasks: I8) -> tuple[int, int] | None:
        session = self.session
        workers = [self._askable(int(t)) for t in tasks]
        rows_kept = [i for i, who in enumerate(workers) if len(who)]
        for i, who in enumerate(workers):
            if not len(who):
                self._close(int(tasks[i]))
        if not rows_kept:
            return None
        everybody = np.unique(np.concatenate([workers[i] for i in rows_kept]))
        candidates = self._few(everybody)
        place_of = np.full(session.model.n_workers, -1)
        place_of[candidates] = np.arange(len(candidates))
        may = np.zeros((len(rows_kept), len(candidates)), dtype=bool)
        for row, i in enumerate(rows_kept):
            places = place_of[workers[i]]
            may[row, places[places >= 0]] = True
        if not may.any():
            candidates, rows_kept = workers[rows_kept[0]][:WORKERS], rows_kept[:1]
            may = np.ones((1, len(candidates)), dtype=bool)
        rows = tasks[rows_kept]
        theta, cost = session.model.theta(candidates), np.array([session.cost_of(w) for w in candidates.tolist()])
        share = np.asarray(HALF ** session.task_index.busy[rows], dtype=np.float64)
        place = best_pair(session.task_index.posterior[rows], theta, cost, may, session.rng, share)
        return None if place is None else (int(rows[place[0]]), int(candidates[place[1]]))

    def _few(self, workers: I8) -> I8:
        """Return a subset of many workers: the best by Thompson sampling, and a quarter at random."""
        if len(workers) <= WORKERS:
            return workers
        session = self.session
        answer_lists = session.model.answer_lists
        right, n_answered = np.maximum(answer_lists.right[workers], 0.0), answer_lists.n_answered[workers]
        draw = session.rng.beta(2 + right, 1 + np.maximum(n_answered - right, 0.0))
        top = np.argpartition(-draw, 3 * WORKERS // 4)[: 3 * WORKERS // 4]
        random = session.rng.integers(len(workers), size=WORKERS // 4)
        return np.asarray(workers[np.unique(np.concatenate([top, random]))])

    def _askable(self, task: int) -> I8:
        """Return the workers available for a task: in the pool, not paused, below their load, and not holding
        the task.
        """
        session = self.session
        workers = session.pool.candidates(task, session.model.answer_lists)
        if session.settings.load is not None:
            workers = workers[session.model.answer_lists.n_answered[workers] < session.settings.load]
        if session.stop.budget is not None and session.costs:
            left = session.stop.budget - session.committed + 1e-9
            workers = np.array([w for w in workers.tolist() if session.cost_of(w) <= left], dtype=np.int64)
        if session.paused or session.skipped or session.task_index.busy[task] or session.settings.floor > 0:
            allowed = [w for w in workers.tolist() if task not in session.not_for(w) and not session.refused(w)]
            workers = np.array(allowed, dtype=np.int64)
        return workers

    def _crowd(self, workers: I8) -> WorkerStats:
        session = self.session
        answer_lists = session.model.answer_lists
        cost = (
            np.array([session.cost_of(w) for w in workers.tolist()])
            if session.costs
            else np.full(len(workers), session.settings.cost)
        )
        return WorkerStats(
            answer_lists.right[workers],
            answer_lists.n_answered[workers].astype(float),
            cost,
            session.model.n_labels + 1,
        )

    def _close(self, task: int) -> None:
        session = self.session
        if session.task_index.busy[task]:  # a worker holds it: it may open again
            session.task_index.priority_buckets.set(task, 0)
            return
        session.task_index.exhausted.add(task)
        session.task_index.look(task)


_NONE = np.empty(0, dtype=np.int64)
