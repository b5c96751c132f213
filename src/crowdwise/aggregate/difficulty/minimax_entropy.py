"""Minimax conditional entropy: each label is the outcome of the worker's confusions and the task's, as logits.

    P(y_iw = l | z_i = k) = softmax_l(worker[w, k, l] + task[i, k, l]),   z_i uniform
    worker ~ N(0, 1 / strength_worker),   task ~ N(0, 1 / strength_task)

Zhou, Liu, Platt, Meek & Shah (2015), Regularized minimax conditional entropy for crowdsourcing, arXiv:1503.07240. The
dual of their regularised problem is this model; as its gradient is that of the marginal likelihood (Fisher's identity),
the marginal is climbed by L-BFGS, from the workers' best logits for the vote shares. Without task logits
(`strength_task=None`) it is Dawid-Skene with Gaussian logits.
Fails with few labels per task, where the task's logits only add noise: raise `strength_task`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative, Positive
from ...core.result import Result
from ...core.vocabulary import lookup
from ...engine.ascent import Point, climb
from ...kinds.classes.annotations import Annotations
from ...maths.logspace import normalise_rows
from ...maths.minimax import minimax_pass
from ..base import Aggregator, Run, Solution
from ..confusion.base import vote_shares
from ..gold import Gold
from ..models import ClassModel

F8 = npt.NDArray[np.float64]

# Steps with the posterior held at the vote shares, before both are free.
FIRST_STEPS = 25


@dataclass(frozen=True, kw_only=True)
class MinimaxEntropy(Aggregator):
    """`strength_worker` and `strength_task` (> 0, usually 0.1 to 30) hold the logits to zero; None has no task logits.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> MinimaxEntropy().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "minimax_entropy"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("worker_logits",)
    strength_worker: Positive = 0.3
    strength_task: Positive | None = 10.0
    max_iter: Count = 500
    tol: NonNegative = 1e-7

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """The workers' logits for the vote shares first, then everything on the marginal."""
        m, n, k = annotations.n_workers, annotations.n_tasks, annotations.n_classes
        cut, tasks = m * k * k, n if self.strength_task is not None else 0
        hold = np.concatenate([np.full(cut, self.strength_worker), np.full(tasks * k * k, self.strength_task or 1.0)])
        known = None if gold is None else gold.label

        def objective(x: F8, posterior: F8 | None = None) -> Point:
            task = x[cut:].reshape(n, k, k) if tasks else None
            at = minimax_pass(annotations, x[:cut].reshape(m, k, k), task, known, posterior)
            held = hold * x
            slope = np.concatenate([at.worker.ravel(), at.task.ravel()])
            slope -= held
            bend = np.concatenate([at.worker_bend.ravel(), at.task_bend.ravel()])
            bend += hold
            return Point(at.log_likelihood - float(held @ x) / 2, slope, bend)

        votes = vote_shares(annotations, gold)
        first = climb(lambda x: objective(x, votes), np.zeros(len(hold)), max_iter=FIRST_STEPS, tol=1e-4, reach=2.0)
        found = climb(objective, first.x, max_iter=self.max_iter, tol=self.tol, callback=run.callback)
        worker, task = found.x[:cut].reshape(m, k, k), found.x[cut:].reshape(tasks, k, k)
        posterior = minimax_pass(annotations, worker, task if tasks else None, known).posterior
        return Solution(
            posterior=posterior,
            class_prior=np.full(k, 1 / k),
            confusion=normalise_rows(worker.reshape(-1, k))[0].reshape(m, k, k),
            trace=found.trace,
            n_iter=found.n_iter,
            converged=found.converged,
            extra={"worker_logits": worker, "task_logits": task},
        )

    def silent(self) -> Mapping[str, float]:
        """No logits of their own."""
        return {"task_logits": 0.0}

    @staticmethod
    def fitted(result: Result) -> LogitModel | None:
        """Logits of workers and tasks."""
        if "worker_logits" not in result.extra or result.confusion is None:
            return None
        return LogitModel(result, result.extra["worker_logits"], result.extra["task_logits"])


@dataclass(frozen=True, eq=False)
class LogitModel(ClassModel):
    """worker[worker, true, observed] and task[task, true, observed]; task is empty where tasks have no logits."""

    worker: F8
    task: F8

    def posterior(self, votes: Annotations) -> F8:
        """Tasks that were there keep their logits; new tasks have none, new workers the average confusion."""
        result = self.result
        assert result.confusion is not None
        old, was_there = lookup(result.workers, votes.workers)
        average = np.average(result.confusion, axis=0, weights=np.maximum(result.labels_per_worker, 1e-9))
        worker = np.where(was_there[:, None, None], self.worker[old], np.log(average))
        if not len(self.task):
            return minimax_pass(votes, worker, None).posterior
        place, known = lookup(result.tasks, votes.tasks)
        return minimax_pass(votes, worker, np.where(known[:, None, None], self.task[place], 0.0)).posterior
