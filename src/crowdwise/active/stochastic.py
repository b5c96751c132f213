"""StochasticModel: online Dawid-Skene by stochastic approximation, in which old answers fade.

    S[worker] <- (1 - l) S[worker] + l · (q ⊗ onehot(label)),   s <- (1 - l) s + l · q,   l = (t + start)^-exponent

where q is the posterior of the answered task from all its answers under the present parameters, and t counts the
worker's answers (for s, all). A[k, :] = (S[k, :] + eps) / sum. Cappé & Moulines (2009),
doi:10.1111/j.1467-9868.2009.00698.x. For workers who change over time, and if passes over all tasks are too expensive;
otherwise the exact form (`OnlineModel`) is better. Undo replays the stream without the answer, which is exact but slow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8
from ..core.errors import DataError, ParameterError

EPS = 1e-3


class StochasticModel:
    """Online Dawid-Skene with forgetting.

    Args:
        n_classes: Number of classes.
        n_tasks: Number of tasks known so far.
        n_workers: Number of workers known so far.
        exponent: Decay exponent in (.5, 1].
        start: Number of answers that the prior counts for.
        accuracy: Prior accuracy of a worker.

    >>> model = StochasticModel(2)
    >>> for worker in range(3):
    ...     q = model.update(task=0, worker=worker, label=1)
    >>> model.posterior[0].argmax()
    np.int64(1)
    """

    def __init__(
        self,
        n_classes: int,
        *,
        n_tasks: int = 0,
        n_workers: int = 0,
        exponent: float = 0.6,
        start: int = 10,
        accuracy: float = 0.7,
    ) -> None:
        if n_classes < 1:
            raise ParameterError(f"n_classes must be at least 1, got {n_classes}")
        if not 0.5 < exponent <= 1:
            raise ParameterError(f"exponent must be above .5 and at most 1, got {exponent}")
        if start < 1 or not 0 < accuracy < 1:
            raise ParameterError(f"start must be at least 1 and accuracy between 0 and 1, got {start} and {accuracy}")
        self.n_classes, self.exponent, self.start = n_classes, exponent, start
        wrong = (1 - accuracy) / max(n_classes - 1, 1)
        self.first = (np.full((n_classes, n_classes), wrong) + np.eye(n_classes) * (accuracy - wrong)) / n_classes
        self.n_tasks, self.n_workers = n_tasks, n_workers
        self.events: list[tuple[int, int, int]] = []
        self._begin()

    def _begin(self) -> None:
        self.joint: dict[int, F8] = {}  # worker -> S[true, observed]
        self.n_answered: dict[int, int] = {}
        self.mass = np.full(self.n_classes, 1 / self.n_classes)
        self.answers: dict[int, dict[int, int]] = {}
        self.q: dict[int, F8] = {}

    # ---------------------------------------------------------------- events
    def update(self, task: int, worker: int, label: int) -> F8:
        """Add a worker's answer, which replaces an earlier one to this task; return the task's posterior."""
        if not 0 <= label < self.n_classes:
            raise DataError(f"label {label} is not one of the {self.n_classes} classes 0 to {self.n_classes - 1}")
        if task < 0 or worker < 0:
            raise DataError(f"task and worker are codes from 0 on, got task {task}, worker {worker}")
        if self.has(task, worker):
            self.undo(task, worker)
        self.events.append((task, worker, label))
        self.n_tasks, self.n_workers = max(self.n_tasks, task + 1), max(self.n_workers, worker + 1)
        return self._learn(task, worker, label, len(self.events))

    def undo(self, task: int, worker: int) -> None:
        """Remove a worker's answer to a task."""
        if not self.has(task, worker):
            raise DataError(f"worker {worker} has no answer to task {task} to undo")
        self.events = [event for event in self.events if event[:2] != (task, worker)]
        self._begin()
        for t, event in enumerate(self.events, 1):
            self._learn(*event, t)

    def _learn(self, task: int, worker: int, label: int, t: int) -> F8:
        self.answers.setdefault(task, {})[worker] = label
        q = self.posterior_of(task)
        n = self.n_answered[worker] = self.n_answered.get(worker, 0) + 1
        worker_step, prior_step = ((step + self.start) ** -self.exponent for step in (n, t))
        joint = self.joint.setdefault(worker, self.first.copy())
        joint *= 1 - worker_step
        joint[:, label] += worker_step * q
        self.mass = (1 - prior_step) * self.mass + prior_step * q
        self.q[task] = q
        return q

    def sweep(self) -> float:
        """Update all posteriors under the present parameters, which stay; return the largest change."""
        change = 0.0
        for task in self.answers:
            q = self.posterior_of(task)
            change = max(change, float(np.abs(q - self.q[task]).max()))
            self.q[task] = q
        return change

    # ---------------------------------------------------------------- posterior
    def posterior_of(self, task: int) -> F8:
        """Return a task's posterior from all its answers."""
        logs = np.log(np.maximum(self.class_prior, 1e-300))
        for worker, label in self.answers.get(task, {}).items():
            logs = logs + np.log(self.theta(worker)[:, label])
        p = np.exp(logs - logs.max())
        return np.asarray(p / p.sum())

    def has(self, task: int, worker: int) -> bool:
        """Whether this worker has answered this task."""
        return worker in self.answers.get(task, {})

    @property
    def n_labels(self) -> int:
        """Number of answers."""
        return len(self.events)

    @property
    def class_prior(self) -> F8:
        """Class frequencies."""
        return np.asarray((self.mass + EPS) / (self.mass + EPS).sum())

    @property
    def posterior(self) -> F8:
        """posterior[task, class]; the class frequencies for tasks without an answer."""
        out = np.repeat(self.class_prior[None], self.n_tasks, axis=0)
        for task, q in self.q.items():
            out[task] = q
        return out

    def theta(self, workers: Any) -> F8:
        """Return confusion[worker, true, observed] of these workers."""
        if np.ndim(workers):
            return np.stack([self.theta(int(w)) for w in workers])
        joint = self.joint.get(int(workers), self.first) + EPS
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    # ---------------------------------------------------------------- keeping
    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return the stream of answers, sizes, settings and parameters as named arrays."""
        joint = np.stack([self.joint.get(w, self.first) for w in range(self.n_workers)] or [self.first])
        events = np.array(self.events, dtype=np.int64).reshape(-1, 3)
        settings = np.array([self.exponent, self.start, self.first[0, 0] * self.n_classes])
        sizes = np.array([self.n_classes, self.n_tasks, self.n_workers])
        return {"sizes": sizes, "settings": settings, "events": events, "joint": joint, "mass": self.mass.copy()}

    @classmethod
    def restore(cls, state: Mapping[str, npt.NDArray[Any]]) -> StochasticModel:
        """Return the model of a snapshot by replaying its stream."""
        k, n, m = (int(x) for x in state["sizes"])
        exponent, start, accuracy = (float(x) for x in state["settings"])
        model = cls(k, n_tasks=n, n_workers=m, exponent=exponent, start=int(start), accuracy=accuracy)
        model.first = model.first if k > 1 else np.ones((1, 1))
        for task, worker, label in state["events"].tolist():
            model.update(task, worker, label)
        return model
