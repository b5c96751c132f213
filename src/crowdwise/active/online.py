"""OnlineModel: the posterior of every task and the confusions of every worker, kept up to date answer by answer.

The exact incremental form of EM (Neal & Hinton 1998) for Dawid-Skene under the priors of `hierarchical`: the state
holds q[task, class] and the expected counts it adds up to. When a task's answers change, its E-step is done again and
the counts of its workers follow: O(answers of the task · classes), whatever the number of tasks. `sweep` does the same
for all tasks and learns the crowd's prior again; repeated, it ends where the batch fit ends. A worker with three
answers is judged by the crowd, so three answers do not look like certainty.

`settle` starts from the vote shares, as the batch does, and is a function of the answers alone: neither their order
nor what was undone leaves a trace. What comes between depends on the order, in the digits that a sweep would change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.errors import DataError, ParameterError
from ..em.kernels import Stats
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.methods.confusion.hierarchical import Crowd, Hierarchical
from .answer_lists import Chains

F8 = npt.NDArray[np.float64]
# Passes over the tasks under one prior, as in the batch fit.
PASSES = 5


class OnlineModel:
    """Tasks, workers and classes are codes 0, 1, ...; tasks and workers may come at any time.

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
        self.crowd = Crowd.start(n_classes, self.prior)
        self.chains = Chains(n_classes)
        self.chains.grow(n_tasks, n_workers)
        self._undoable: tuple[int, int, F8 | None, int] | None = None
        self._set_prior()

    @classmethod
    def of(cls, votes: Annotations, *, prior: Hierarchical | None = None, gold: Mapping[int, int] | None = None) -> Any:
        """A model that has seen these votes, in their order, and no sweep yet."""
        model = cls(votes.n_classes, n_tasks=votes.n_tasks, n_workers=votes.n_workers, prior=prior)
        for task, label in (gold or {}).items():
            model.set_gold(task, label)
        weight = np.ones(len(votes)) if votes.weight is None else votes.weight
        rows = zip(votes.task.tolist(), votes.worker.tolist(), votes.label.tolist(), weight.tolist(), strict=True)
        for task, worker, said, much in rows:
            model.update(task, worker, said, much)
        return model

    # ---------------------------------------------------------------- events
    def update(self, task: int, worker: int, label: int, weight: float = 1.0) -> F8:
        """A worker's answer, which replaces an earlier one of theirs to this task; the task's posterior."""
        if not 0 <= label < self.n_classes:
            raise DataError(f"label {label} is not one of the {self.n_classes} classes 0 to {self.n_classes - 1}")
        if task < 0 or worker < 0:
            raise DataError(f"task and worker are codes from 0 on, got task {task}, worker {worker}")
        if not (weight > 0 and math.isfinite(weight)):
            raise DataError(f"the weight of an answer must be above 0, got {weight}")
        self.chains.grow(task + 1, worker + 1)
        before = self.chains.q[task].copy() if self.chains.n_of(task) else None
        earlier = self.chains.enter(task, worker, label, weight)
        self._undoable = (task, worker, before, earlier)
        return np.asarray(self.chains.q[task])

    def undo(self, task: int, worker: int) -> None:
        """As if this worker had never answered this task: exactly so for the last event, else after `settle`."""
        if not self.has(task, worker):
            raise DataError(f"worker {worker} has no answer to task {task} that could be undone")
        last = self._undoable
        self._undoable = None
        self.chains.take_out(task, worker)
        if last is not None and last[:2] == (task, worker) and last[3] < 0:
            self.chains.put_back(task, last[2])
        elif self.chains.n_of(task):
            self.chains.absorb(task)

    def set_gold(self, task: int, label: int | None) -> None:
        """The truth of a task becomes known (None: is taken back); its workers are judged by it at once."""
        if label is not None and not 0 <= label < self.n_classes:
            raise DataError(f"gold {label} is not one of the {self.n_classes} classes 0 to {self.n_classes - 1}")
        self.chains.grow(task + 1, 0)
        self._undoable = None
        self.chains.gold[task] = -1 if label is None else label
        if self.chains.n_of(task):
            self.chains.absorb(task)

    # ---------------------------------------------------------------- sweeps
    def sweep(self, passes: int = PASSES, *, learn: bool = True) -> float:
        """Learn the crowd's prior from the counts, then go over all tasks `passes` times; the largest change."""
        self._undoable = None
        before = self.chains.q[: self.n_tasks].copy()
        if learn:
            self.learn()
        for _ in range(passes):
            self.chains.sweep()
        self.chains.recount()  # millions of small steps leave no rounding behind
        return float(np.abs(self.chains.q[: self.n_tasks] - before).max(initial=0.0))

    def learn(self) -> None:
        """The mean and the strength of the crowd's prior with the highest evidence."""
        self.crowd = self.crowd.learn(self.stats, self.prior.strength_max)
        self._set_prior()

    def settle(self, tol: float = 1e-6, max_rounds: int = 100) -> bool:
        """Forget the way here: from the vote shares, rounds of sweeps until none moves a posterior by more than `tol`.

        Whether that happened within `max_rounds`; what comes out depends on the answers alone. At the start one vote
        counts as far as the prior trusts a worker: taken at its word, a crowd with one answer a task looks perfect.
        """
        self._undoable = None
        self.crowd = Crowd.start(self.n_classes, self.prior)
        self._set_prior()
        self.chains.in_order()
        self.chains.restart(self._doubt())
        return any(self.sweep() <= tol for _ in range(max_rounds))

    def _doubt(self) -> float:
        """Votes to spread over all classes, so that a single vote is as sure as the prior's accuracy."""
        k, p = self.n_classes, self.prior.prior_accuracy
        return (1 - p) / (p - 1 / k) if p > 1 / k else 1.0

    def rebase(self, posterior: F8, tasks: npt.NDArray[np.int64] | None = None) -> None:
        """Go on from what a batch fit believes: posterior[i, class] of tasks[i] (None: tasks 0, 1, ...)."""
        self._undoable = None
        at = np.arange(len(posterior)) if tasks is None else tasks
        self.chains.believe(at, np.asarray(posterior, dtype=np.float64))
        self.learn()

    # ---------------------------------------------------------------- what is believed
    @property
    def n_tasks(self) -> int:
        """Tasks seen or announced."""
        return self.chains.n_tasks

    @property
    def n_workers(self) -> int:
        """Workers seen or announced."""
        return self.chains.n_workers

    @property
    def n_labels(self) -> int:
        """Answers that count at present."""
        return self.chains.n_labels

    @property
    def stats(self) -> Stats:
        """Expected counts [worker, observed, true] and mass of the classes."""
        return Stats(self.chains.counts[: self.n_workers], self.chains.mass)

    @property
    def class_prior(self) -> F8:
        """Class frequencies."""
        mass = np.maximum(self.chains.mass, 0.0) + self.prior.prior_class
        total = mass.sum()
        return np.asarray(mass / total) if total > 0 else np.full(self.n_classes, 1 / self.n_classes)

    @property
    def posterior(self) -> F8:
        """posterior[task, class]; of tasks without an answer the class frequencies."""
        out = self.chains.q[: self.n_tasks].copy()
        out[self.chains.silent()] = self.class_prior
        return out

    def cautious(self, task: int | None = None) -> F8:
        """The posterior of a task (of all) by counts that do not hold its own answers.

        A task's answers raise its workers' record, which raises the task's posterior: with few answers a worker that is
        a circle, and the posterior too sure. This is what stopping goes by.
        """
        if task is None:
            return self.chains.without_own(0, self.n_tasks)
        return np.asarray(self.chains.without_own(task, 1)[0])

    def blind(self, tasks: npt.NDArray[np.int64]) -> F8:
        """The cautious posterior of gold tasks, had their truth not been known."""
        gold = self.chains.gold[tasks].copy()
        self.chains.gold[tasks] = -1
        out = np.concatenate([self.chains.without_own(int(t), 1) for t in tasks])
        self.chains.gold[tasks] = gold
        return np.asarray(out)

    def theta(self, workers: Any) -> F8:
        """confusion[worker, true, observed] of these workers."""
        part = self.chains.counts[workers] + self.chains.prior
        whole = self.chains.totals[workers] + self.chains.prior_totals
        return np.asarray((part / whole[..., None, :]).swapaxes(-1, -2))

    def has(self, task: int, worker: int) -> bool:
        """Whether this worker has answered this task."""
        return task < self.n_tasks and self.chains.edge(task, worker) >= 0

    # ---------------------------------------------------------------- keeping
    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """The whole state as named arrays, which `restore` takes; numbers only."""
        crowd = {"mean": self.crowd.mean, "strength": self.crowd.strength, "pseudo": self.crowd.pseudo}
        return {f"crowd_{name}": value.copy() for name, value in crowd.items()} | self.chains.state()

    @classmethod
    def restore(cls, state: Mapping[str, npt.NDArray[Any]], *, prior: Hierarchical | None = None) -> OnlineModel:
        """The model of a snapshot, to the last bit."""
        model = cls(int(state["crowd_mean"].shape[0]), prior=prior)
        model.crowd = Crowd(*(np.array(state[f"crowd_{name}"]) for name in ("mean", "strength", "pseudo")))
        model.chains.load(state)
        model._set_prior()
        return model

    def _set_prior(self) -> None:
        self.chains.set_prior(self.crowd.strength * self.crowd.mean, self.prior.prior_class)
