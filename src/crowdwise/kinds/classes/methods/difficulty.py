""""""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from ....core.params import Between, Count, NonNegative, Positive
from ....core.result import Result
from ....core.vocabulary import lookup
from ....em.ascent import Point, climb
from ....em.kernels import Workspace
from ....stats.logspace import normalise_rows
from ..annotations import Annotations
from ..maths.ability import COMPILED_FROM, ability_pass
from ..maths.minimax import minimax_pass
from .base import Aggregator, Run, SpreadAggregator
from .confusion.base import vote_shares
from .confusion.matrices import coin_matrix
from .gold import Gold
from .infer import ClassModel
from .spread import Judged, Learnt, Solution, Spread

F8 = npt.NDArray[np.float64]

# Bounds of log easiness: beyond them every answer is certain or a guess. The prior keeps well inside them.
EASINESS = 5.0


@dataclass(frozen=True, kw_only=True)
class GLAD(SpreadAggregator):
    """GLAD: how likely a label is right depends on the worker's ability and on the task's difficulty.

        P(y_iw = z_i) = sigma(ability[w] / difficulty[i]),   every wrong label alike,   z_i uniform
        ability ~ N(prior_ability, prior_sd²),   -log difficulty ~ N(prior_easiness, prior_sd²)

    Whitehill, Ruvolo, Wu, Bergsma & Movellan (2009), Whose vote should count more, NIPS 22. The authors alternate
    E-steps with gradient M-steps; the gradient of the marginal is the same (Fisher's identity), so it is climbed
    itself, by L-BFGS. A negative ability is an adversary's. Fails with class-biased workers, and with few labels per
    task a difficulty is mostly its prior.

    `prior_ability` and `prior_easiness` are the means of the priors, `prior_sd` (> 0) their common spread.

    `result.difficulty` is that of each task, `result.extra["ability"]` that of each worker.

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], [*"abcabc"], [*"xxxxxy"])
    >>> easy, hard = GLAD().fit(votes).difficulty
    >>> bool(easy < hard)
    True
    """

    name: ClassVar[str] = "glad"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("ability",)
    prior_ability: float = 1.0
    prior_easiness: Annotated[float, Between(-EASINESS, EASINESS)] = 1.0
    prior_sd: Positive = 1.0
    max_iter: Count = 500
    tol: NonNegative = 1e-8

    def learn(self, data: Spread, run: Run) -> Learnt:
        """Climb the marginal log posterior from the prior means; parts get the easiness of their own tasks."""
        m, n, k = data.n_workers, data.n_tasks, data.n_classes
        compiled = len(data) >= COMPILED_FROM
        mean = np.concatenate([np.full(m, self.prior_ability), np.full(n, self.prior_easiness)])

        def objective(x: F8) -> Point:
            at = Eased(x[:m], np.clip(x[m:], -EASINESS, EASINESS), compiled)
            slope = data.sum(at.slope, Slopes.joined)
            off = (x - mean) / self.prior_sd**2
            return Point(
                slope.log_likelihood - float(off @ (x - mean)) / 2,
                np.concatenate([slope.ability, *slope.easiness]) - off,
                np.concatenate([slope.ability_bend, *slope.easiness_bend]) + self.prior_sd**-2,
            )

        found = climb(objective, mean, max_iter=self.max_iter, tol=self.tol, callback=run.callback)
        ability, easiness = found.x[:m], np.clip(found.x[m:], -EASINESS, EASINESS)
        return Learnt(
            judge=Eased(ability, easiness, compiled),
            class_prior=np.full(k, 1 / k),
            confusion=_on_average(ability, easiness, k),
            trace=found.trace,
            n_iter=found.n_iter,
            converged=found.converged,
            extra={"ability": ability, "prior_easiness": self.prior_easiness},
        )

    def silent(self) -> Mapping[str, float]:
        """The prior's."""
        return {"easiness": self.prior_easiness, "difficulty": float(np.exp(-self.prior_easiness))}

    @staticmethod
    def fitted(result: Result) -> AbilityModel | None:
        """Abilities and easiness."""
        own = result.extra
        if "ability" not in own:
            return None
        return AbilityModel(result, own["ability"], own["easiness"], own["prior_easiness"])


@dataclass(frozen=True)
class Slopes:
    """What a pass over some parts gives: sums over workers' labels, and the slopes of each part's own tasks."""

    log_likelihood: float
    ability: F8
    ability_bend: F8
    easiness: list[F8]
    easiness_bend: list[F8]

    @staticmethod
    def joined(a: Slopes, b: Slopes) -> Slopes:
        """Of the parts of both."""
        return Slopes(
            a.log_likelihood + b.log_likelihood,
            a.ability + b.ability,
            a.ability_bend + b.ability_bend,
            a.easiness + b.easiness,
            a.easiness_bend + b.easiness_bend,
        )


@dataclass(frozen=True, eq=False)
class Eased:
    """ability[worker] and easiness[task] of all tasks, of which a part takes its own."""

    ability: F8
    easiness: F8
    compiled: bool

    def __call__(self, space: Workspace) -> Judged:
        """Posterior, difficulty and easiness of a part's tasks."""
        own = self._own(space)
        found = ability_pass(space.shard, self.ability, own, space.gold, self.compiled)
        return Judged(found.posterior, np.exp(-own), {"easiness": own})

    def slope(self, space: Workspace) -> Slopes:
        """The slopes at a part's labels."""
        found = ability_pass(space.shard, self.ability, self._own(space), space.gold, self.compiled)
        return Slopes(found.log_likelihood, found.ability, found.ability_bend, [found.easiness], [found.easiness_bend])

    def _own(self, space: Workspace) -> F8:
        return self.easiness[space.first : space.first + space.shard.n_tasks]


def _on_average(ability: F8, easiness: F8, k: int) -> F8:
    """Confusion of each worker over tasks of all difficulties: the mean of sigma over quantiles of easiness."""
    ease = np.exp(np.quantile(easiness, np.linspace(0.02, 0.98, 25)))
    p = np.mean([1 / (1 + np.exp(-np.clip(ability * x, -500, 500))) for x in ease], axis=0)
    return np.ascontiguousarray(coin_matrix(p[:, None].repeat(k, axis=1)).transpose(0, 2, 1))


@dataclass(frozen=True, eq=False)
class AbilityModel(ClassModel):
    """ability[worker] and easiness[task]; tasks that were there keep their easiness, new ones have the prior's."""

    ability: F8
    easiness: F8
    prior_easiness: float

    def posterior(self, votes: Annotations) -> F8:
        """By ability and easiness; a new worker has the crowd's ability."""
        task, known = lookup(self.result.tasks, votes.tasks)
        easiness = np.where(known, self.easiness[task], self.prior_easiness)
        return ability_pass(votes, self.spread(self.ability, votes.workers), easiness).posterior


# Steps with the posterior held at the vote shares, before both are free.
FIRST_STEPS = 25


@dataclass(frozen=True, kw_only=True)
class MinimaxEntropy(Aggregator):
    """Minimax conditional entropy: each label is the outcome of the worker's confusions and the task's, as logits.

        P(y_iw = l | z_i = k) = softmax_l(worker[w, k, l] + task[i, k, l]),   z_i uniform
        worker ~ N(0, 1 / strength_worker),   task ~ N(0, 1 / strength_task)

    Zhou, Liu, Platt, Meek & Shah (2015), Regularized minimax conditional entropy for crowdsourcing,
    arXiv:1503.07240. The dual of their regularised problem is this model; as its gradient is that of the marginal
    likelihood (Fisher's identity), the marginal is climbed by L-BFGS, from the workers' best logits for the vote
    shares. Without task logits (`strength_task=None`) it is Dawid-Skene with Gaussian logits. Fails with few labels
    per task, where the task's logits only add noise: raise `strength_task`.

    `strength_worker` and `strength_task` (> 0, usually 0.1 to 30) hold the logits to zero; None has no task logits.

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
