"""The tables behind OnlineModel: answers of each task as a chain, expected counts, and room for more of everything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from . import kernels as compiled

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
live: Any = compiled  # numba's functions carry no types
# What a snapshot holds, by what its first axis counts.
_BY_TASK, _BY_EDGE, _BY_WORKER = ("head", "n", "gold", "q"), ("after", "counted", "who", "said", "weight", "own"), (
    "counts", "totals", "right", "seen")  # fmt: skip


class Chains:
    """Arrays grow by doubling; what lies beyond n_tasks, n_workers or n_edges means nothing."""

    def __init__(self, n_classes: int) -> None:
        k = n_classes
        self.n_tasks = self.n_workers = self.n_edges = self.n_labels = 0
        self.head, self.n, self.gold = np.full(16, -1), np.zeros(16, np.int64), np.full(16, -1)
        self.q = np.zeros((16, k))
        # Of each answer as few bytes as will do: there are more of them than of anything else.
        self.after, self.who, self.said = np.zeros(64, np.int32), np.zeros(64, np.int32), np.zeros(64, np.int16)
        self.counted, self.weight, self.own = np.zeros(64, bool), np.ones(64), np.zeros(64)
        self.counts, self.totals = np.zeros((8, k, k)), np.zeros((8, k))
        self.right, self.seen, self.mass = np.zeros(8), np.zeros(8, np.int64), np.zeros(k)
        self.prior, self.prior_totals, self.prior_class = np.ones((k, k)), np.ones(k), 0.0

    def set_prior(self, prior: F8, prior_class: float) -> None:
        """prior[observed, true] of every worker, and the pseudo-tasks of a class."""
        self.prior, self.prior_totals = np.ascontiguousarray(prior), prior.sum(axis=0)
        self.prior_class = float(prior_class)

    def grow(self, n_tasks: int, n_workers: int) -> None:
        """Make room for so many tasks and workers."""
        self.n_tasks, self.n_workers = max(self.n_tasks, n_tasks), max(self.n_workers, n_workers)
        if self.n_tasks <= len(self.n) and self.n_workers <= len(self.seen) and self.n_edges < len(self.after):
            return
        for names, need in ((_BY_TASK, self.n_tasks), (_BY_WORKER, self.n_workers), (_BY_EDGE, self.n_edges + 1)):
            have = len(getattr(self, names[0]))
            if need > have:
                for name in names:
                    empty = -1 if name in ("head", "gold") else 0
                    setattr(self, name, _longer(getattr(self, name), max(need, 2 * have), empty))

    # ---------------------------------------------------------------- answers
    def n_of(self, task: int) -> int:
        """Answers of a task."""
        return int(self.n[task])

    def edge(self, task: int, worker: int) -> int:
        """Where this worker's answer to this task stands; -1 where there is none."""
        return int(live.find(task, worker, self.head, self.after, self.who)[0])

    def workers_of(self, task: int) -> list[int]:
        """Who has answered a task."""
        out, e = [], int(self.head[task])
        while e >= 0:
            out.append(int(self.who[e]))
            e = int(self.after[e])
        return out

    def enter(self, task: int, worker: int, label: int, weight: float) -> int:
        """Take an answer in and do its task's E-step; the label that it replaces, or -1."""
        earlier = int(live.enter(task, worker, label, weight, self.n_edges, self.gold, *self.tables, self.own, self.n,
                                 self.seen))  # fmt: skip
        if earlier < 0:
            self.n_edges += 1
            self.n_labels += 1
        return earlier

    def take_out(self, task: int, worker: int) -> None:
        """Take an answer out of its chain and of the tables."""
        e, before = live.find(task, worker, self.head, self.after, self.who)
        self._unbook(task, e)
        if before < 0:
            self.head[task] = self.after[e]
        else:
            self.after[before] = self.after[e]
        self.n[task] -= 1
        self.seen[worker] -= 1
        self.n_labels -= 1
        if not self.n[task]:
            self.mass -= self.q[task]
            self.q[task] = 0.0

    def _unbook(self, task: int, e: int) -> None:
        if self.counted[e]:
            w, step = self.who[e], self.weight[e] * self.q[task]
            self.counts[w, self.said[e]] -= step
            self.totals[w] -= step
            self.right[w] -= self.own[e]
            self.counted[e] = False

    # ---------------------------------------------------------------- beliefs
    def absorb(self, task: int) -> float:
        """One task's E-step, with all tables following."""
        return float(live.absorb(task, self.gold, *self.tables, self.own))

    def sweep(self) -> float:
        """The same for all tasks."""
        return float(live.sweep(self.n_tasks, self.gold, *self.tables, self.own))

    def without_own(self, first: int, n: int) -> F8:
        """Posteriors by counts without the task's own answers."""
        out = np.empty((n, self.q.shape[1]))
        live.without_own(n, self.gold, *self.tables, first, out)
        return out

    @property
    def tables(self) -> tuple[Any, ...]:
        """What the kernels work on, in their order: chains of answers, the answers, counts, priors, posteriors."""
        chain, edges = (self.head, self.after, self.counted), (self.who, self.said)
        tables = (self.counts, self.totals, self.mass, self.right)
        return chain, edges, self.weight, tables, self.prior, self.prior_totals, self.prior_class, self.q

    def put_back(self, task: int, q: F8 | None) -> None:
        """The posterior that a task had before (None: it had no answer)."""
        if q is not None:
            self.believe(np.array([task]), q[None])

    def believe(self, tasks: I8, posterior: F8) -> None:
        """Take over posteriors of tasks that have answers; gold stays."""
        chain, edges, weight, tables, prior, totals, _, q = self.tables
        rows = np.ascontiguousarray(posterior)
        live.believe(tasks, rows, self.n, self.gold, chain, edges, weight, tables, prior, totals, q, self.own)

    def silent(self) -> npt.NDArray[np.bool_]:
        """Which tasks have no answer."""
        return np.asarray(self.head[: self.n_tasks] < 0)

    # ---------------------------------------------------------------- all at once
    def rows(self) -> tuple[I8, I8, I8, F8]:
        """Task, worker, label and weight of all answers, by task and then by worker."""
        task, e = self._places()
        return task, self.who[e].astype(np.int64), self.said[e].astype(np.int64), self.weight[e]

    def _places(self) -> tuple[I8, I8]:
        """Task and edge of every answer, by task and then by worker."""
        linked = np.full(self.n_edges, -1)
        at = self.head[: self.n_tasks].copy()
        tasks = np.flatnonzero(at >= 0)
        while len(tasks):
            e = at[tasks]
            linked[e] = tasks
            at[tasks] = self.after[e]
            tasks = tasks[at[tasks] >= 0]
        edges = np.flatnonzero(linked >= 0)
        order = np.lexsort((self.who[edges], linked[edges]))
        return linked[edges[order]], edges[order]

    def in_order(self) -> None:
        """Store the answers by task and worker: where they stand no longer tells when they came."""
        task, e = self._places()
        for name in _BY_EDGE[1:]:
            getattr(self, name)[: len(e)] = getattr(self, name)[e]
        self.n_edges = len(e)
        last = np.ones(len(e), bool)
        last[:-1] = task[1:] != task[:-1]
        self.after[: len(e)] = np.where(last, -1, np.arange(1, len(e) + 1))
        first = np.ones(len(e), bool)
        first[1:] = task[1:] != task[:-1]
        self.head[task[first]] = np.flatnonzero(first)

    def restart(self, doubt: float) -> None:
        """Believe the vote shares, with `doubt` votes more that are spread over all classes."""
        task, _, said, weight = self.rows()
        n, k = self.n_tasks, self.q.shape[1]
        votes = np.bincount(task * k + said, weights=weight, minlength=n * k).reshape(n, k)
        votes = votes + np.where(self.n[:n] > 0, doubt / k, 0.0)[:, None]
        self.q[:n] = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1e-300)
        known = np.flatnonzero((self.gold[:n] >= 0) & (self.n[:n] > 0))
        self.q[known] = np.eye(k)[self.gold[known]]
        self.own[: self.n_edges] = 0.0
        self.counted[: self.n_edges] = True
        self.recount()

    def recount(self) -> None:
        """All counts from the posteriors, in the order of tasks and workers."""
        task, e = self._places()
        m, k = self.n_workers, self.q.shape[1]
        cell, weight = self.who[e].astype(np.int64) * k + self.said[e], self.weight[e]
        for true in range(k):
            each = np.bincount(cell, weights=weight * self.q[task, true], minlength=m * k)
            self.counts[:m, :, true] = each.reshape(m, k)
        self.totals[:m] = self.counts[:m].sum(axis=1)
        self.right[:m] = np.bincount(self.who[e], weights=self.own[e], minlength=m)
        self.mass = self.q[: self.n_tasks][~self.silent()].sum(axis=0)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything, by name."""
        out: dict[str, npt.NDArray[Any]] = {"sizes": np.array([self.n_tasks, self.n_workers, self.n_edges])}
        for names, n in zip((_BY_TASK, _BY_WORKER, _BY_EDGE), out["sizes"].tolist(), strict=True):
            out |= {name: getattr(self, name)[:n].copy() for name in names}
        return out | {"mass": self.mass.copy()}

    def load(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """What `state` gave."""
        n_tasks, n_workers, n_edges = (int(x) for x in state["sizes"])
        self.n_edges = n_edges
        self.grow(n_tasks, n_workers)
        for names, n in ((_BY_TASK, n_tasks), (_BY_WORKER, n_workers), (_BY_EDGE, n_edges)):
            for name in names:
                getattr(self, name)[:n] = state[name]
        self.mass = np.array(state["mass"])
        self.n_labels = int(self.n[:n_tasks].sum())


def _longer(array: npt.NDArray[Any], n: int, empty: int) -> npt.NDArray[Any]:
    """The array with room for n rows; new rows are empty. Room for zeros takes no memory until it is used."""
    out = np.zeros((n, *array.shape[1:]), dtype=array.dtype)
    out[: len(array)] = array
    if empty:
        out[len(array) :] = empty
    return out
