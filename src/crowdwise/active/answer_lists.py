"""The data of OnlineModel: linked lists of the answers of each task, expected counts, and growable arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8, I8
from . import kernels as compiled

live: Any = compiled  # numba's functions carry no types
# Attributes that a snapshot holds, by what their first axis counts, with their keys in it.
_BY_TASK = {"head": "head", "n": "n", "gold": "gold", "q": "q"}
_BY_EDGE = {
    "after": "after", "counted": "counted", "worker": "who", "label": "said", "weight": "weight", "p_right": "own",
}  # fmt: skip
_BY_WORKER = {"counts": "counts", "totals": "totals", "right": "right", "n_answered": "seen"}


class AnswerLists:
    """Growable arrays; entries beyond n_tasks, n_workers or n_edges are unused.

    The answers of a task are a linked list of edges: `head[task]` is the first, `after[edge]` the next one, -1 the end.
    """

    def __init__(self, n_classes: int) -> None:
        k = n_classes
        self.n_tasks = self.n_workers = self.n_edges = self.n_labels = 0
        self.head, self.n, self.gold = np.full(16, -1), np.zeros(16, np.int64), np.full(16, -1)
        self.q = np.zeros((16, k))
        # Small types, because there are more answers than anything else.
        self.after, self.worker, self.label = np.zeros(64, np.int32), np.zeros(64, np.int32), np.zeros(64, np.int16)
        self.counted, self.weight, self.p_right = np.zeros(64, bool), np.ones(64), np.zeros(64)
        self.counts, self.totals = np.zeros((8, k, k)), np.zeros((8, k))
        self.right, self.n_answered, self.mass = np.zeros(8), np.zeros(8, np.int64), np.zeros(k)
        self.prior, self.prior_totals, self.prior_class = np.ones((k, k)), np.ones(k), 0.0

    def set_prior(self, prior: F8, prior_class: float) -> None:
        """Set prior[observed, true] of every worker, and the pseudo-tasks of a class."""
        self.prior, self.prior_totals = np.ascontiguousarray(prior), prior.sum(axis=0)
        self.prior_class = float(prior_class)

    def grow(self, n_tasks: int, n_workers: int) -> None:
        """Make room for this many tasks and workers."""
        self.n_tasks, self.n_workers = max(self.n_tasks, n_tasks), max(self.n_workers, n_workers)
        if self.n_tasks <= len(self.n) and self.n_workers <= len(self.n_answered) and self.n_edges < len(self.after):
            return
        for names, need in ((_BY_TASK, self.n_tasks), (_BY_WORKER, self.n_workers), (_BY_EDGE, self.n_edges + 1)):
            have = len(getattr(self, next(iter(names))))
            if need > have:
                for name in names:
                    empty = -1 if name in ("head", "gold") else 0
                    setattr(self, name, _longer(getattr(self, name), max(need, 2 * have), empty))

    # ---------------------------------------------------------------- answers
    def n_of(self, task: int) -> int:
        """Number of answers of a task."""
        return int(self.n[task])

    def edge(self, task: int, worker: int) -> int:
        """Return the edge of this worker's answer to this task; -1 if there is none."""
        return int(live.find(task, worker, self.head, self.after, self.worker)[0])

    def workers_of(self, task: int) -> list[int]:
        """Return the workers who have answered a task."""
        out, e = [], int(self.head[task])
        while e >= 0:
            out.append(int(self.worker[e]))
            e = int(self.after[e])
        return out

    def enter(self, task: int, worker: int, label: int, weight: float) -> int:
        """Add an answer and update the posterior of its task; return the label that it replaces, or -1."""
        earlier = int(
            live.enter(
                task, worker, label, weight, self.n_edges, self.gold, *self.tables, self.p_right, self.n,
                self.n_answered,
            )
        )  # fmt: skip
        if earlier < 0:
            self.n_edges += 1
            self.n_labels += 1
        return earlier

    def take_out(self, task: int, worker: int) -> None:
        """Remove an answer from its list and from the counts."""
        e, before = live.find(task, worker, self.head, self.after, self.worker)
        self._unbook(task, e)
        if before < 0:
            self.head[task] = self.after[e]
        else:
            self.after[before] = self.after[e]
        self.n[task] -= 1
        self.n_answered[worker] -= 1
        self.n_labels -= 1
        if not self.n[task]:
            self.mass -= self.q[task]
            self.q[task] = 0.0

    def _unbook(self, task: int, e: int) -> None:
        if self.counted[e]:
            w, step = self.worker[e], self.weight[e] * self.q[task]
            self.counts[w, self.label[e]] -= step
            self.totals[w] -= step
            self.right[w] -= self.p_right[e]
            self.counted[e] = False

    # ---------------------------------------------------------------- beliefs
    def absorb(self, task: int) -> float:
        """Update the posterior of one task and all counts; return the largest change."""
        return float(live.absorb(task, self.gold, *self.tables, self.p_right))

    def sweep(self) -> float:
        """Update the posteriors of all tasks and all counts; return the largest change."""
        return float(live.sweep(self.n_tasks, self.gold, *self.tables, self.p_right))

    def without_own(self, first: int, n: int) -> F8:
        """Return posteriors computed from counts without the task's own answers."""
        out = np.empty((n, self.q.shape[1]))
        live.without_own(n, self.gold, *self.tables, first, out)
        return out

    @property
    def tables(self) -> tuple[Any, ...]:
        """Arguments of the kernels in order: answer lists, answers, weights, counts, priors, posteriors."""
        chain, edges = (self.head, self.after, self.counted), (self.worker, self.label)
        tables = (self.counts, self.totals, self.mass, self.right)
        return chain, edges, self.weight, tables, self.prior, self.prior_totals, self.prior_class, self.q

    def put_back(self, task: int, q: F8 | None) -> None:
        """Restore the posterior that a task had before (None: it had no answer)."""
        if q is not None:
            self.set_posterior(np.array([task]), q[None])

    def set_posterior(self, tasks: I8, posterior: F8) -> None:
        """Set the posteriors of tasks with answers; gold stays."""
        chain, edges, weight, tables, prior, totals, _, q = self.tables
        rows = np.ascontiguousarray(posterior)
        live.set_posterior(tasks, rows, self.n, self.gold, chain, edges, weight, tables, prior, totals, q, self.p_right)

    def unanswered(self) -> npt.NDArray[np.bool_]:
        """Mask of the tasks without answers."""
        return np.asarray(self.head[: self.n_tasks] < 0)

    # ---------------------------------------------------------------- all at once
    def rows(self) -> tuple[I8, I8, I8, F8]:
        """Return task, worker, label and weight of all answers, sorted by task and worker."""
        task, e = self._places()
        return task, self.worker[e].astype(np.int64), self.label[e].astype(np.int64), self.weight[e]

    def _places(self) -> tuple[I8, I8]:
        """Return task and edge of every answer, sorted by task and worker."""
        linked = np.full(self.n_edges, -1)
        at = self.head[: self.n_tasks].copy()
        tasks = np.flatnonzero(at >= 0)
        while len(tasks):
            e = at[tasks]
            linked[e] = tasks
            at[tasks] = self.after[e]
            tasks = tasks[at[tasks] >= 0]
        edges = np.flatnonzero(linked >= 0)
        order = np.lexsort((self.worker[edges], linked[edges]))
        return linked[edges[order]], edges[order]

    def in_order(self) -> None:
        """Store the answers sorted by task and worker, independent of the order in which they came."""
        task, e = self._places()
        for name in _BY_EDGE:
            if name != "after":
                getattr(self, name)[: len(e)] = getattr(self, name)[e]
        self.n_edges = len(e)
        last = np.ones(len(e), bool)
        last[:-1] = task[1:] != task[:-1]
        self.after[: len(e)] = np.where(last, -1, np.arange(1, len(e) + 1))
        first = np.ones(len(e), bool)
        first[1:] = task[1:] != task[:-1]
        self.head[task[first]] = np.flatnonzero(first)

    def restart(self, doubt: float) -> None:
        """Set the posteriors to the vote shares, with `doubt` more votes spread over all classes."""
        task, _, label, weight = self.rows()
        n, k = self.n_tasks, self.q.shape[1]
        votes = np.bincount(task * k + label, weights=weight, minlength=n * k).reshape(n, k)
        votes = votes + np.where(self.n[:n] > 0, doubt / k, 0.0)[:, None]
        self.q[:n] = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1e-300)
        has_gold = np.flatnonzero((self.gold[:n] >= 0) & (self.n[:n] > 0))
        self.q[has_gold] = np.eye(k)[self.gold[has_gold]]
        self.p_right[: self.n_edges] = 0.0
        self.counted[: self.n_edges] = True
        self.recount()

    def recount(self) -> None:
        """Recompute all counts from the posteriors, in the order of tasks and workers."""
        task, e = self._places()
        m, k = self.n_workers, self.q.shape[1]
        cell, weight = self.worker[e].astype(np.int64) * k + self.label[e], self.weight[e]
        for true in range(k):
            counts = np.bincount(cell, weights=weight * self.q[task, true], minlength=m * k)
            self.counts[:m, :, true] = counts.reshape(m, k)
        self.totals[:m] = self.counts[:m].sum(axis=1)
        self.right[:m] = np.bincount(self.worker[e], weights=self.p_right[e], minlength=m)
        self.mass = self.q[: self.n_tasks][~self.unanswered()].sum(axis=0)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all arrays by name."""
        out: dict[str, npt.NDArray[Any]] = {"sizes": np.array([self.n_tasks, self.n_workers, self.n_edges])}
        for names, n in zip((_BY_TASK, _BY_WORKER, _BY_EDGE), out["sizes"].tolist(), strict=True):
            out |= {key: getattr(self, name)[:n].copy() for name, key in names.items()}
        return out | {"mass": self.mass.copy()}

    def load(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore the arrays returned by `state`."""
        n_tasks, n_workers, n_edges = (int(x) for x in state["sizes"])
        self.n_edges = n_edges
        self.grow(n_tasks, n_workers)
        for names, n in ((_BY_TASK, n_tasks), (_BY_WORKER, n_workers), (_BY_EDGE, n_edges)):
            for name, key in names.items():
                getattr(self, name)[:n] = state[key]
        self.mass = np.array(state["mass"])
        self.n_labels = int(self.n[:n_tasks].sum())


def _longer(array: npt.NDArray[Any], n: int, empty: int) -> npt.NDArray[Any]:
    """Return the array with room for n rows, new rows filled with `empty`.

    Room for zeros takes no memory until it is used.
    """
    out = np.zeros((n, *array.shape[1:]), dtype=array.dtype)
    out[: len(array)] = array
    if empty:
        out[len(array) :] = empty
    return out
