"""The base class of methods for classes: checks, gold, empty tasks and workers, worker skills, and the Result."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ....core import method_registry as registry
from ....core.callback import Callback
from ....core.method import Method
from ....core.result import Result, versions
from ..annotations import Annotations, as_annotations
from ..estimate import ClassWorkers, LazySkill, class_result
from ..maths.skill import Skill
from .calibrated import calibrated
from .drop_empty import NonEmpty
from .gold import GoldLabels, as_gold, as_prior
from .partitioned import FitState, PartitionedVotes, Solution
from .requirements import check_requirements, check_size
from .skills import expected_wrong, lazy_skills

if TYPE_CHECKING:
    from .infer import ClassModel

F8 = npt.NDArray[np.float64]
__all__ = ["Aggregator", "FitState", "PartitionedAggregator", "PartitionedVotes", "Solution", "SolveOptions"]


@dataclass(frozen=True)
class SolveOptions:
    """How a fit is run, apart from the method's own parameters.

    Attributes:
        n_shards: Number of parts that the votes are split into.
        callback: Called as callback(iteration, objective).
        prior: Counts of earlier projects, [worker, observed, true].
    """

    n_shards: int = 1
    callback: Callback | None = None
    prior: F8 | None = None

    def partition(self, annotations: Annotations, gold: GoldLabels | None) -> PartitionedVotes:
        """Return the annotations in parts, ready for passes."""
        return PartitionedVotes.of(annotations, gold, self.n_shards)


@dataclass(frozen=True, kw_only=True)
class Aggregator(Method):
    """A method for classes: its hyper-parameters and nothing else. `seed` breaks ties and draws restarts."""

    # Entries of `extra` with a row per worker. None: the method is given all workers, those without labels included.
    worker_extra: ClassVar[tuple[str, ...] | None] = ()

    def fit(
        self,
        annotations: Annotations | Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,
        callback: Callback | None = None,
        calibrate: bool | None = None,
    ) -> Result:
        """Estimate the labels of the tasks and the quality of the workers.

        Args:
            annotations: Annotations, or a table with columns task, worker, label.
            gold: Known labels of some tasks (a mapping, or a table with columns task, label). They are held fixed and
                inform the worker estimates.
            prior: Worker counts of earlier projects (a Result, or a table with columns worker, true, observed, n).
            n_shards: Number of parts that the votes are split into; it does not change the answer.
            callback: Called as callback(iteration, objective) during the fit.
            calibrate: Whether to calibrate the confidence on gold (docs/methods/adaptive.md). By default only the
                ensembles do.

        Returns:
            The Result: labels, posteriors, worker skills and the trace of the fit.
        """
        annotations = as_annotations(annotations)
        check_size(self.name, annotations)
        gold_codes = as_gold(gold, annotations)
        has_gold = gold_codes is not None
        check_requirements(self.name, annotations, annotations.links is not None, has_gold, prior is not None)
        options = SolveOptions(n_shards, callback, as_prior(prior, annotations))
        solution = self.fit_solution(annotations, gold_codes, options)
        self.warn_unless_settled(solution.converged, solution.n_iter)
        result = self._result(annotations, gold_codes, solution)
        calibrates = self.calibrates if calibrate is None else calibrate
        if gold_codes is None or not calibrates or "gold" in registry.card(self.name).needs:
            return result
        result = calibrated(self, result, annotations, gold_codes, options)
        # The share of right labels measured on gold narrows the intervals of the skills too.
        skill = LazySkill(_skill(annotations, gold_codes, solution, result.extra))
        return replace(result, worker_summary=ClassWorkers(skill, result.confusion, result.counts))

    def fit_solution(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:
        """Run `solve` without empty tasks and workers, then add them to the solution."""
        non_empty = NonEmpty.of(annotations, options.prior, all_workers=self.worker_extra is None)
        if non_empty is None:
            return self.solve(annotations, gold, options)
        prior = None if options.prior is None else options.prior[non_empty.workers]
        solution = self.solve(non_empty.select(annotations), non_empty.select_gold(gold), replace(options, prior=prior))
        fill = self.empty_task_values()
        expand, class_prior = non_empty.expand_tasks, solution.class_prior
        extra = {name: expand(v, fill[name]) if name in fill else v for name, v in solution.extra.items()}
        posterior = expand(solution.posterior, class_prior)
        return replace(
            solution,
            posterior=posterior if gold is None else gold.clamp(posterior),
            worker_posteriors=tuple(expand(p, class_prior) for p in solution.worker_posteriors),
            difficulty=expand(solution.difficulty, fill.get("difficulty", np.nan)),
            **non_empty.expand_worker_fields(solution.confusion, solution.counts, extra, self.worker_fields()),
        )

    def worker_fields(self) -> tuple[str, ...]:
        """Return the entries of `extra` that have a row per worker."""
        return (*(self.worker_extra or ()), "theta", "vote_weight")

    def empty_task_values(self) -> Mapping[str, float]:
        """Return the values of tasks without labels for `difficulty` and for entries of `extra` with a row per task."""
        return {}

    @abstractmethod
    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:
        """Run the method. Either every task has a label or none has."""

    @staticmethod
    def fitted(result: Result) -> ClassModel | None:  # noqa: ARG004
        """Return the fitted model of a result, for methods that learn more than confusions or vote weights."""
        return None

    def _result(self, annotations: Annotations, gold: GoldLabels | None, solution: Solution) -> Result:
        posterior = solution.posterior if gold is None else gold.clamp(solution.posterior)
        return class_result(
            method=self.name,
            params=self.params(),
            tasks=annotations.tasks,
            workers=annotations.workers,
            classes=annotations.classes,
            posterior=posterior,
            class_prior=solution.class_prior,
            skill=_skill(annotations, gold, solution, solution.extra),
            labels_per_task=annotations.labels_per_task,
            labels_per_worker=annotations.labels_per_worker,
            confusion=solution.confusion,
            counts=solution.counts,
            difficulty=solution.difficulty,
            order=annotations.answers.order,
            gold=None if gold is None else gold.mask,
            **solution.trace_fields(),
            versions=versions(),
        )


def _skill(
    annotations: Annotations, gold: GoldLabels | None, solution: Solution, extra: Mapping[str, Any]
) -> Callable[[], Skill]:
    posterior = solution.posterior if gold is None else gold.clamp(solution.posterior)
    return lazy_skills(annotations, gold, replace(solution, posterior=posterior), expected_wrong(extra))


@dataclass(frozen=True, kw_only=True)
class PartitionedAggregator(Aggregator):
    """A method that passes over its votes in parts, which need not be in memory together (see parts.py)."""

    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:
        """Fit all parts, then estimate their tasks."""
        data = options.partition(annotations, gold)
        return self.learn(data, options).to_solution(data)

    @abstractmethod
    def learn(self, data: PartitionedVotes, options: SolveOptions) -> FitState:
        """Run the method as jobs over parts. Either every task has a label or none has."""
