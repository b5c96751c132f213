"""Methods with task difficulty: GLAD and minimax conditional entropy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ....core.arrays import F8
from ....core.params import Between, Count, NonNegative, Positive
from ....core.result import Result
from ....core.vocabulary import lookup
from ....em.ascent import Point, climb
from ....em.kernels import Workspace, transposed
from ....em.loop import Additive, plus
from ....stats.logspace import normalise_rows
from ..annotations import Annotations
from ..maths.ability import COMPILED_FROM, ability_pass
from ..maths.minimax import minimax_pass
from .base import Aggregator, PartitionedAggregator, SolveOptions
from .confusion.base import vote_shares
from .confusion.matrices import coin_matrix
from .gold import GoldLabels
from .infer import ClassModel, worker_average
from .partitioned import FitState, PartitionedVotes, PartPosterior, Solution

# Bounds of log easiness: beyond them every answer is certain or a guess. The prior stays well inside them.
EASINESS = 5.0


@dataclass(frozen=True, kw_only=True)
class GLAD(PartitionedAggregator):
    """GLAD: the probability of a right label depends on the worker's ability and on the task's difficulty.

        P(y_iw = z_i) = sigma(ability[w] / difficulty[i]),   wrong labels equally likely,   z_i uniform
        ability ~ N(prior_ability, prior_sd²),   -log difficulty ~ N(prior_easiness, prior_sd²)

    Whitehill, Ruvolo, Wu, Bergsma & Movellan (2009), Whose vote should count more, NIPS 22. The authors alternate
    E-steps with gradient M-steps; the gradient of the marginal is the same (Fisher's identity), so the marginal is
    maximised directly, by L-BFGS. A negative ability is that of an adversary. Fails with class-biased workers, and
    with few labels per task a difficulty is mostly its prior.

    Args:
        seed: Seed for ties.
        prior_ability: Mean of the prior of the abilities.
        prior_easiness: Mean of the prior of the negative log difficulties.
        prior_sd: Standard deviation of both priors.
        max_iter: Maximum number of L-BFGS iterations.
        tol: Relative change of the objective at which the fit stops.

    `result.difficulty` holds the difficulty of each task, `result.extra["ability"]` the ability of each worker.

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

    def learn(self, data: PartitionedVotes, options: SolveOptions) -> FitState:
        """Maximise the marginal log posterior from the prior means; each part uses the easiness of its own tasks."""
        m, n, k = data.n_workers, data.n_tasks, data.n_classes
        compiled = len(data) >= COMPILED_FROM
        mean = np.concatenate([np.full(m, self.prior_ability), np.full(n, self.prior_easiness)])

        def objective(x: F8) -> Point:
            predictor = AbilityPredictor(x[:m], np.clip(x[m:], -EASINESS, EASINESS), compiled)
            slopes = data.sum(predictor.slopes, plus)
            prior_gradient = (x - mean) / self.prior_sd**2
            return Point(
                slopes.log_likelihood - float(prior_gradient @ (x - mean)) / 2,
                np.concatenate([slopes.ability, *slopes.easiness]) - prior_gradient,
                np.concatenate([slopes.ability_bend, *slopes.easiness_bend]) + self.prior_sd**-2,
            )

        optimum = climb(objective, mean, max_iter=self.max_iter, tol=self.tol, callback=options.callback)
        ability, easiness = optimum.x[:m], np.clip(optimum.x[m:], -EASINESS, EASINESS)
        return FitState(
            predictor=AbilityPredictor(ability, easiness, compiled),
            class_prior=np.full(k, 1 / k),
            confusion=_mean_confusion(ability, easiness, k),
            trace=optimum.trace,
            n_iter=optimum.n_iter,
            converged=optimum.converged,
            extra={"ability": ability, "prior_easiness": self.prior_easiness},
        )

    def empty_task_values(self) -> Mapping[str, float]:
        """Return the prior means."""
        return {"easiness": self.prior_easiness, "difficulty": float(np.exp(-self.prior_easiness))}

    @staticmethod
    def fitted(result: Result) -> AbilityModel | None:
        """Return the model of abilities and easiness."""
        extra = result.extra
        if "ability" not in extra:
            return None
        return AbilityModel(result, extra["ability"], extra["easiness"], extra["prior_easiness"])


@dataclass(frozen=True)
class AbilitySlopes(Additive):
    """First and second derivatives of the log-likelihood: summed by worker, and a list of arrays by task per part."""

    log_likelihood: float
    ability: F8
    ability_bend: F8
    easiness: list[F8]
    easiness_bend: list[F8]


@dataclass(frozen=True, eq=False)
class AbilityPredictor:
    """ability[worker], and easiness[task] of all tasks, of which a part takes its own."""

    ability: F8
    easiness: F8
    compiled: bool

    def __call__(self, space: Workspace) -> PartPosterior:
        """Posterior, difficulty and easiness of a part's tasks."""
        easiness = self._part_easiness(space)
        estimate = ability_pass(space.shard, self.ability, easiness, space.gold, self.compiled)
        return PartPosterior(estimate.posterior, np.exp(-easiness), {"easiness": easiness})

    def slopes(self, space: Workspace) -> AbilitySlopes:
        """Slopes of the log-likelihood of a part's labels."""
        part = ability_pass(space.shard, self.ability, self._part_easiness(space), space.gold, self.compiled)
        return AbilitySlopes(
            part.log_likelihood, part.ability, part.ability_bend, [part.easiness], [part.easiness_bend]
        )

    def _part_easiness(self, space: Workspace) -> F8:
        return self.easiness[space.first : space.first + space.shard.n_tasks]


def _mean_confusion(ability: F8, easiness: F8, k: int) -> F8:
    """Return the confusion of each worker averaged over task difficulty: the mean of sigma over easiness quantiles."""
    inverse_difficulty = np.exp(np.quantile(easiness, np.linspace(0.02, 0.98, 25)))
    p = np.mean([1 / (1 + np.exp(-np.clip(ability * x, -500, 500))) for x in inverse_difficulty], axis=0)
    return transposed(coin_matrix(p[:, None].repeat(k, axis=1)))


@dataclass(frozen=True, eq=False)
class AbilityModel(ClassModel):
    """ability[worker] and easiness[task]; tasks of the fit keep their easiness, new ones get the prior mean."""

    ability: F8
    easiness: F8
    prior_easiness: float

    def posterior(self, votes: Annotations) -> F8:
        """Posterior by ability and easiness; a new worker gets the crowd's mean ability."""
        task, is_known = lookup(self.result.tasks, votes.tasks)
        easiness = np.where(is_known, self.easiness[task], self.prior_easiness)
        return ability_pass(votes, self.values_of(self.ability, votes.workers), easiness).posterior


# Steps with the posterior fixed at the vote shares, before everything is optimised.
FIRST_STEPS = 25


@dataclass(frozen=True, kw_only=True)
class MinimaxEntropy(Aggregator):
    """Minimax conditional entropy: each label depends on the worker's confusion and the task's, added as logits.

        P(y_iw = l | z_i = k) = softmax_l(worker[w, k, l] + task[i, k, l]),   z_i uniform
        worker ~ N(0, 1 / strength_worker),   task ~ N(0, 1 / strength_task)

    Zhou, Liu, Platt, Meek & Shah (2015), Regularized minimax conditional entropy for crowdsourcing,
    arXiv:1503.07240. The dual of their regularised problem is this model; as its gradient is that of the marginal
    likelihood (Fisher's identity), the marginal is maximised by L-BFGS, from the workers' best logits for the vote
    shares. Without task logits (`strength_task=None`) it is Dawid-Skene with Gaussian logits. Fails with few labels
    per task, where the task logits only add noise: raise `strength_task`.

    `strength_worker` and `strength_task` (> 0, usually 0.1 to 30) shrink the logits to zero; `strength_task=None`
    leaves out the task logits.

    Args:
        strength_worker: Precision of the Gaussian prior of the workers' logits; larger values shrink every worker
            towards uniform guessing.
        strength_task: Precision of the Gaussian prior of the tasks' logits; larger values make tasks more alike, and
            None leaves the task logits out.
        max_iter: Maximum number of L-BFGS iterations.
        tol: Relative gain of a step at which L-BFGS stops.

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

    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:
        """Fit the worker logits to the vote shares, then maximise the marginal over all logits."""
        m, n, k = annotations.n_workers, annotations.n_tasks, annotations.n_classes
        cut, tasks = m * k * k, n if self.strength_task is not None else 0
        penalty = np.concatenate(
            [np.full(cut, self.strength_worker), np.full(tasks * k * k, self.strength_task or 1.0)]
        )
        gold_codes = None if gold is None else gold.label

        def objective(x: F8, posterior: F8 | None = None) -> Point:
            task = x[cut:].reshape(n, k, k) if tasks else None
            at = minimax_pass(annotations, x[:cut].reshape(m, k, k), task, gold_codes, posterior)
            shrinkage = penalty * x
            slope = np.concatenate([at.worker.ravel(), at.task.ravel()])
            slope -= shrinkage
            bend = np.concatenate([at.worker_bend.ravel(), at.task_bend.ravel()])
            bend += penalty
            return Point(at.log_likelihood - float(shrinkage @ x) / 2, slope, bend)

        votes = vote_shares(annotations, gold)
        first = climb(lambda x: objective(x, votes), np.zeros(len(penalty)), max_iter=FIRST_STEPS, tol=1e-4, reach=2.0)
        optimum = climb(objective, first.x, max_iter=self.max_iter, tol=self.tol, callback=options.callback)
        worker, task = optimum.x[:cut].reshape(m, k, k), optimum.x[cut:].reshape(tasks, k, k)
        posterior = minimax_pass(annotations, worker, task if tasks else None, gold_codes).posterior
        return Solution(
            posterior=posterior,
            class_prior=np.full(k, 1 / k),
            confusion=normalise_rows(worker.reshape(-1, k))[0].reshape(m, k, k),
            trace=optimum.trace,
            n_iter=optimum.n_iter,
            converged=optimum.converged,
            extra={"worker_logits": worker, "task_logits": task},
        )

    def empty_task_values(self) -> Mapping[str, float]:
        """Return zero logits."""
        return {"task_logits": 0.0}

    @staticmethod
    def fitted(result: Result) -> LogitModel | None:
        """Return the model of the worker and task logits."""
        if "worker_logits" not in result.extra or result.confusion is None:
            return None
        return LogitModel(result, result.extra["worker_logits"], result.extra["task_logits"])


@dataclass(frozen=True, eq=False)
class LogitModel(ClassModel):
    """worker[worker, true, observed] and task[task, true, observed]; task is empty where tasks have no logits."""

    worker: F8
    task: F8

    def posterior(self, votes: Annotations) -> F8:
        """Posterior under the logits; tasks of the fit keep theirs, new tasks have none, new workers are average."""
        result = self.result
        assert result.confusion is not None
        worker_codes, has_worker = lookup(result.workers, votes.workers)
        average_logits = np.log(worker_average(result.confusion, result))
        worker = np.where(has_worker[:, None, None], self.worker[worker_codes], average_logits)
        if not len(self.task):
            return minimax_pass(votes, worker, None).posterior
        task_codes, has_task = lookup(result.tasks, votes.tasks)
        return minimax_pass(votes, worker, np.where(has_task[:, None, None], self.task[task_codes], 0.0)).posterior
