"""OnlineModel: the posterior of every task and the confusions of every worker, updated with every answer.

The exact incremental form of EM (Neal & Hinton 1998) for Dawid-Skene under the priors of `hierarchical`: the state
holds q[task, class] and the expected counts it adds up to. When a task's answers change, its E-step is repeated and the
counts of its workers follow: O(answers of the task · classes), whatever the number of tasks. `sweep` does the same for
all tasks and learns the crowd's prior again; repeated, it converges to the batch fit. A worker with three answers is
judged by the crowd's prior, so three answers do not look like certainty.

`settle` starts from the vote shares, as the batch fit does, and is a function of the answers alone: neither their order
nor undone answers matter. Between sweeps the state depends on the order, in the digits that a sweep would change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8
from ..core.errors import DataError, ParameterError
from ..em.kernels import Stats
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.methods.confusion.hierarchical import Hierarchical, SharedPrior
from .answer_lists import AnswerLists

# Passes over the tasks per prior, as in the batch fit.
PASSES = 5


class OnlineModel:
    """Online Dawid-Skene. Tasks, workers and classes are codes 0, 1, ...; tasks and workers may be added at any time.

    >>> model = OnlineModel(2)
    >>> for worker in range(3):
    ...     q = model.update(task=0, worker=worker, label=1)
    >>> model.posterior[0].argmax()
    np.int64(1)
    """

    def __init__(self, n_classes: int, *, n_tasks: int = 0, n_workers: int = 0, prior: Hierarchical | None = None):
        if n_classes < 1:
            raise ParameterError(f"n_classes must be at least 1, got {n_classes}")
        self.n_classes, self.prior = n_classes, Hierarchical() if prior is None else prior
        self.crowd = SharedPrior.start(n_classes, self.prior)
        self.answer_lists = AnswerLists(n_classes)
        self.answer_lists.grow(n_tasks, n_workers)
        self._undoable: tuple[int, int, F8 | None, int] | None = None
        self._set_prior()

    @classmethod
    def of(cls, votes: Annotations, *, prior: Hierarchical | None = None, gold: Mapping[int, int] | None = None) -> Any:
        """Return a model with these votes in their order, without a sweep."""
        model = cls(votes.n_classes, n_tasks=votes.n_tasks, n_workers=votes.n_workers, prior=prior)
        for task, label in (gold or {}).items():
            model.set_gold(task, label)
        weight = np.ones(len(votes)) if votes.weight is None else votes.weight
        rows = zip(votes.task.tolist(), votes.worker.tolist(), votes.label.tolist(), weight.tolist(), strict=True)
        for task, worker, answer, vote_weight in rows:
            model.update(task, worker, answer, vote_weight)
        return model

    # ---------------------------------------------------------------- events
    def update(self, task: int, worker: int, label: int, weight: float = 1.0) -> F8:
        """Add a worker's answer, which replaces an earlier one to this task; return the task's posterior."""
        if not 0 <= label < self.n_classes:
            raise DataError(f"label {label} is not one of the {self.n_classes} classes 0 to {self.n_classes - 1}")
        if task < 0 or worker < 0:
            raise DataError(f"task and worker are codes from 0 on, got task {task}, worker {worker}")
        if not (weight > 0 and math.isfinite(weight)):
            raise DataError(f"the weight of an answer must be above 0, got {weight}")
        self.answer_lists.grow(task + 1, worker + 1)
        before = self.answer_lists.q[task].copy() if self.answer_lists.n_of(task) else None
        earlier = self.answer_lists.enter(task, worker, label, weight)
        self._undoable = (task, worker, before, earlier)
        return np.asarray(self.answer_lists.q[task])

    def undo(self, task: int, worker: int) -> None:
        """Remove a worker's answer to a task: exact for the last event, else exact after `settle`."""
        if not self.has(task, worker):
            raise DataError(f"worker {worker} has no answer to task {task} to undo")
        last = self._undoable
        self._undoable = None
        self.answer_lists.take_out(task, worker)
        if last is not None and last[:2] == (task, worker) and last[3] < 0:
            self.answer_lists.put_back(task, last[2])
        elif self.answer_lists.n_of(task):
            self.answer_lists.absorb(task)

    def set_gold(self, task: int, label: int | None) -> None:
        """Set the truth of a task (None: remove it), which updates its workers."""
        if label is not None and not 0 <= label < self.n_classes:
            raise DataError(f"gold {label} is not one of the {self.n_classes} classes 0 to {self.n_classes - 1}")
        self.answer_lists.grow(task + 1, 0)
        self._undoable = None
        self.answer_lists.gold[task] = -1 if label is None else label
        if self.answer_lists.n_of(task):
            self.answer_lists.absorb(task)

    # ---------------------------------------------------------------- sweeps
    def sweep(self, passes: int = PASSES, *, learn: bool = True) -> float:
        """Learn the crowd's prior from the counts, then update all tasks `passes` times; return the largest change."""
        self._undoable = None
        before = self.answer_lists.q[: self.n_tasks].copy()
        if learn:
            self.learn()
        for _ in range(passes):
            self.answer_lists.sweep()
        self.answer_lists.recount()  # removes the rounding errors of many small steps
        return float(np.abs(self.answer_lists.q[: self.n_tasks] - before).max(initial=0.0))

    def learn(self) -> None:
        """Set the mean and the strength of the crowd's prior to those with the highest evidence."""
        self.crowd = self.crowd.learn(self.stats, self.prior.strength_max)
        self._set_prior()

    def settle(self, tol: float = 1e-6, max_rounds: int = 100) -> bool:
        """Refit from the vote shares by sweeps until no posterior changes by more than `tol`.

        Returns whether that happened within `max_rounds`; the result depends on the answers alone. At the start a vote
        counts as much as the prior trusts a worker: if votes were taken as certain, a crowd with one answer per task
        would look perfect.
        """
        self._undoable = None
        self.crowd = SharedPrior.start(self.n_classes, self.prior)
        self._set_prior()
        self.answer_lists.in_order()
        self.answer_lists.restart(self._doubt())
        return any(self.sweep() <= tol for _ in range(max_rounds))

    def _doubt(self) -> float:
        """Votes to spread over all classes, so that a single vote is as certain as the prior's accuracy."""
        k, p = self.n_classes, self.prior.prior_accuracy
        return (1 - p) / (p - 1 / k) if p > 1 / k else 1.0

    def rebase(self, posterior: F8, tasks: npt.NDArray[np.int64] | None = None) -> None:
        """Continue from the posterior of a batch fit: posterior[i, class] of tasks[i] (None: tasks 0, 1, ...)."""
        self._undoable = None
        at = np.arange(len(posterior)) if tasks is None else tasks
        self.answer_lists.set_posterior(at, np.asarray(posterior, dtype=np.float64))
        self.learn()

    # ---------------------------------------------------------------- posterior
    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return self.answer_lists.n_tasks

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return self.answer_lists.n_workers

    @property
    def n_labels(self) -> int:
        """Number of answers."""
        return self.answer_lists.n_labels

    @property
    def stats(self) -> Stats:
        """Expected counts [worker, observed, true] and mass of the classes."""
        return Stats(self.answer_lists.counts[: self.n_workers], self.answer_lists.mass)

    @property
    def class_prior(self) -> F8:
        """Class frequencies."""
        mass = np.maximum(self.answer_lists.mass, 0.0) + self.prior.prior_class
        total = mass.sum()
        return np.asarray(mass / total) if total > 0 else np.full(self.n_classes, 1 / self.n_classes)

    @property
    def posterior(self) -> F8:
        """posterior[task, class]; the class frequencies for tasks without an answer."""
        out = self.answer_lists.q[: self.n_tasks].copy()
        out[self.answer_lists.unanswered()] = self.class_prior
        return out

    def cautious(self, task: int | None = None) -> F8:
        """Return the posterior of a task (of all) from counts without its own answers.

        A task's answers raise its workers' accuracy, which raises the task's posterior: with few answers per worker
        this is circular, and the posterior too certain. Stopping uses this posterior.
        """
        if task is None:
            return self.answer_lists.without_own(0, self.n_tasks)
        return np.asarray(self.answer_lists.without_own(task, 1)[0])

    def blind(self, tasks: npt.NDArray[np.int64]) -> F8:
        """Return the cautious posterior of gold tasks as if their truth were unknown."""
        gold = self.answer_lists.gold[tasks].copy()
        self.answer_lists.gold[tasks] = -1
        out = np.concatenate([self.answer_lists.without_own(int(t), 1) for t in tasks])
        self.answer_lists.gold[tasks] = gold
        return np.asarray(out)

    def theta(self, workers: Any) -> F8:
        """Return confusion[worker, true, observed] of these workers."""
        counts = self.answer_lists.counts[workers] + self.answer_lists.prior
        totals = self.answer_lists.totals[workers] + self.answer_lists.prior_totals
        return np.asarray((counts / totals[..., None, :]).swapaxes(-1, -2))

    def has(self, task: int, worker: int) -> bool:
        """Whether this worker has answered this task."""
        return task < self.n_tasks and self.answer_lists.edge(task, worker) >= 0

    # ---------------------------------------------------------------- keeping
    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return the state as named arrays, which `restore` accepts."""
        crowd = {"mean": self.crowd.mean, "strength": self.crowd.strength, "pseudo": self.crowd.pseudo}
        return {f"crowd_{name}": value.copy() for name, value in crowd.items()} | self.answer_lists.state()

    @classmethod
    def restore(cls, state: Mapping[str, npt.NDArray[Any]], *, prior: Hierarchical | None = None) -> OnlineModel:
        """Return the model of a snapshot, exact to the last bit."""
        model = cls(int(state["crowd_mean"].shape[0]), prior=prior)
        model.crowd = SharedPrior(*(np.array(state[f"crowd_{name}"]) for name in ("mean", "strength", "pseudo")))
        model.answer_lists.load(state)
        model._set_prior()
        return model

    def _set_prior(self) -> None:
        self.answer_lists.set_prior(self.crowd.strength * self.crowd.mean, self.prior.prior_class)
