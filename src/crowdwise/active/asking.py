"""The choice itself: a task for a worker who is there, or the best pair of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .records import Asked, Stopped
from .rules import Crowd, best_pair
from .task_index import HALF

if TYPE_CHECKING:
    from .session import Session

I8 = npt.NDArray[np.int64]
F8 = npt.NDArray[np.float64]

# Workers weighed for each of the best tasks, and tasks, when both are chosen.
WORKERS, TASKS = 48, 16


class Choice:
    """Looks at a session; changes nothing but the list of tasks that nobody is left for."""

    def __init__(self, session: Session) -> None:
        self.of = session

    # ---------------------------------------------------------------- a worker is there
    def task_for(self, worker: int) -> Asked | Stopped:
        """Gold, a task that others have answered, one at random, or the best by the policy."""
        own, rng = self.of, self.of.rng
        seen = int(own.model.chains.seen[worker])
        if own.gold and (seen < own.settings.qualify or rng.random() < own.settings.gold_rate):
            gold = self._gold_for(worker)
            if gold is not None:
                return Asked(gold, worker, gold=True)
        held = own.not_for(worker)
        found = self._shared(worker, held) if seen < own.settings.warm else _NONE
        if not len(found) and own.settings.explore > 0 and rng.random() < own.settings.explore:
            found = own.board.levels.anywhere(1, own.model.chains, worker, held, rng)
        if not len(found):
            n = own.settings.candidates
            found = own.board.levels.best(n, own.model.chains, worker, held, rng.random())
        if not len(found):
            return Stopped("no open task is left for this worker")
        return Asked(int(found[self._best(found, worker)]), worker)

    def _best(self, tasks: I8, worker: int) -> int:
        """The place of the best of a few tasks, ties drawn."""
        own = self.of
        best = own.board.best_of(tasks, worker if own.policy.joint else -1)
        return int(best[own.rng.integers(len(best))])

    def _shared(self, worker: int, held: tuple[int, ...]) -> I8:
        """Open tasks that somebody has answered lately and this worker has not."""
        own = self.of
        level, chains = own.board.levels.level, own.model.chains
        some = {t for t in own.recent if level[t] > 0 and t not in held and chains.edge(t, worker) < 0}
        return np.array(sorted(some), dtype=np.int64)

    def _gold_for(self, worker: int) -> int | None:
        """The gold task with the fewest answers that this worker has not seen."""
        own, held = self.of, self.of.not_for(worker)
        chains = own.model.chains
        free = [t for t in own.gold if t not in held and chains.edge(t, worker) < 0]
        if not free:
            return None
        n = chains.n[free]
        fewest = np.flatnonzero(n == n.min())
        return int(free[fewest[own.rng.integers(len(fewest))]])

    # ---------------------------------------------------------------- both are chosen
    def pair(self) -> Asked | Stopped:
        """The best task and worker; tasks that nobody is left for are closed on the way."""
        own = self.of
        while True:
            n = TASKS if own.policy.joint else own.settings.candidates
            tasks = own.board.levels.best(n, own.model.chains, turn=own.rng.random())
            if not len(tasks):
                return Stopped("no open task is left", final=True)
            if own.settings.explore > 0 and own.rng.random() < own.settings.explore:
                tasks = own.board.levels.anywhere(1, own.model.chains, -1, (), own.rng)
            found = self._joint(tasks) if own.policy.joint else self._task_then_worker(tasks)
            if found is not None:
                return Asked(*found)

    def _task_then_worker(self, tasks: I8) -> tuple[int, int] | None:
        task = int(tasks[self._best(tasks, -1)])
        who = self._askable(task)
        if not len(who):
            self._close(task)
            return None
        return task, int(who[self.of.policy.pick(self._crowd(who), self.of.rng)])

    def _joint(self, tasks: I8) -> tuple[int, int] | None:
        own = self.of
        each = [self._askable(int(t)) for t in tasks]
        kept = [i for i, who in enumerate(each) if len(who)]
        for i, who in enumerate(each):
            if not len(who):
                self._close(int(tasks[i]))
        if not kept:
            return None
        everybody = np.unique(np.concatenate([each[i] for i in kept]))
        few = self._few(everybody)
        place_of = np.full(own.model.n_workers, -1)
        place_of[few] = np.arange(len(few))
        may = np.zeros((len(kept), len(few)), dtype=bool)
        for row, i in enumerate(kept):
            places = place_of[each[i]]
            may[row, places[places >= 0]] = True
        if not may.any():
            few, kept = each[kept[0]][:WORKERS], kept[:1]
            may = np.ones((1, len(few)), dtype=bool)
        rows = tasks[kept]
        theta, cost = own.model.theta(few), np.array([own.cost_of(w) for w in few.tolist()])
        share = np.asarray(HALF ** own.board.busy[rows], dtype=np.float64)
        place = best_pair(own.board.believed[rows], theta, cost, may, own.rng, share)
        return None if place is None else (int(rows[place[0]]), int(few[place[1]]))

    def _few(self, workers: I8) -> I8:
        """Of many workers some: the best by a draw of what is known of each, and a quarter by chance."""
        if len(workers) <= WORKERS:
            return workers
        own = self.of
        chains = own.model.chains
        right, seen = np.maximum(chains.right[workers], 0.0), chains.seen[workers]
        draw = own.rng.beta(2 + right, 1 + np.maximum(seen - right, 0.0))
        top = np.argpartition(-draw, 3 * WORKERS // 4)[: 3 * WORKERS // 4]
        more = own.rng.integers(len(workers), size=WORKERS // 4)
        return np.asarray(workers[np.unique(np.concatenate([top, more]))])

    def _askable(self, task: int) -> I8:
        """Who may be asked about a task: in the pool, not paused, below their load, without the task in hand."""
        own = self.of
        who = own.pool.who(task, own.model.chains)
        if own.settings.load is not None:
            who = who[own.model.chains.seen[who] < own.settings.load]
        if own.stop.budget is not None and own.costs:
            left = own.stop.budget - own.committed + 1e-9
            who = np.array([w for w in who.tolist() if own.cost_of(w) <= left], dtype=np.int64)
        if own.paused or own.skipped or own.board.busy[task] or own.settings.floor > 0:
            fine = [w for w in who.tolist() if task not in own.not_for(w) and not own.refused(w)]
            who = np.array(fine, dtype=np.int64)
        return who

    def _crowd(self, who: I8) -> Crowd:
        own = self.of
        chains = own.model.chains
        cost = np.array([own.cost_of(w) for w in who.tolist()]) if own.costs else np.full(len(who), own.settings.cost)
        return Crowd(chains.right[who], chains.seen[who].astype(float), cost, own.model.n_labels + 1)

    def _close(self, task: int) -> None:
        own = self.of
        if own.board.busy[task]:  # somebody has it in hand: it may open again
            own.board.levels.set(task, 0)
            return
        own.board.empty.add(task)
        own.board.look(task)


_NONE = np.empty(0, dtype=np.int64)
