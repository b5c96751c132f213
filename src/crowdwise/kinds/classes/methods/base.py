"""The base class of methods for classes: checks, gold, empty tasks and workers, worker skills, and the Result."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ....core import method_registry as registry
from ....core.arrays import F8
from ....core.callback import Callback
from ....core.method import FitOptions, FitOutput, Method
from ....core.result import Result
from ..annotations import Annotations, as_annotations
from ..estimate import ClassPosterior, ClassWorkers, LazySkill
from ..maths.skill import Skill
from .calibrated import calibrated
from .drop_empty import NonEmpty
from .gold import GoldLabels, as_gold, as_prior
from .partitioned import FitState, PartitionedVotes, Solution
from .requirements import check_requirements, check_size
from .skills import expected_wrong, lazy_skills

if TYPE_CHECKING:
    from .infer import ClassModel

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


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassFit(FitOutput):
    """Estimates of classes with what their calibration needs: the gold, the options and the solution."""

    gold_codes: GoldLabels | None
    options: SolveOptions
    solution: Solution


@dataclass(frozen=True, kw_only=True)
class Aggregator(Method):
    """Base class of the methods for classes: hyper-parameters and `solve`.

    `fit` takes annotations or a table task, worker, label. Gold is a mapping or a table task, label. A prior are worker
    counts of earlier projects: a Result, or a table worker, true, observed, n. Calibration on gold is described in
    docs/methods/adaptive.md; by default only the ensembles calibrate.
    """

    accepts_prior: ClassVar[bool] = True  # refused by `check_requirements` unless the card has the capability
    # Entries of `extra` with a row per worker. None: the method is given all workers, those without labels included.
    worker_extra: ClassVar[tuple[str, ...] | None] = ()

    def coerce(self, votes: Any) -> Annotations:
        """Return annotations unchanged; convert a table."""
        return as_annotations(votes)

    def fit_votes(self, votes: Annotations, gold: Any, options: FitOptions) -> ClassFit:
        """Check that the method suits the votes, then solve."""
        check_size(self.name, votes)
        gold_codes = as_gold(gold, votes)
        has_gold = gold_codes is not None
        has_prior, has_links = options.prior is not None, votes.links is not None
        check_requirements(registry.card_for(self), votes, has_links, has_gold, has_prior)
        solve_options = SolveOptions(options.n_shards, options.callback, as_prior(options.prior, votes))
        return self.output(votes, gold_codes, self.fit_solution(votes, gold_codes, solve_options), solve_options)

    def output(
        self, votes: Annotations, gold: GoldLabels | None, solution: Solution, options: SolveOptions
    ) -> ClassFit:
        """Return the estimates of the classes and the workers from a solution."""
        posterior = solution.posterior if gold is None else gold.clamp(solution.posterior)
        order = None if votes.answers.order is None else np.array(votes.answers.order, dtype=np.int64)
        skill = LazySkill(_skill(votes, gold, solution, solution.extra))
        return ClassFit(
            estimate=ClassPosterior(
                posterior, solution.class_prior, votes.classes, solution.difficulty, self.seed, order
            ),
            worker_summary=ClassWorkers(skill, solution.confusion, solution.counts),
            gold=None if gold is None else gold.mask,
            gold_codes=gold,
            options=options,
            solution=solution,
            **solution.trace_fields(),
        )

    def with_calibration(self, result: Result, votes: Annotations, gold: Any, output: FitOutput) -> Result:  # noqa: ARG002
        """Return the result with its confidence calibrated on gold, unless the method is fitted to gold alone."""
        assert isinstance(output, ClassFit)
        if output.gold_codes is None or "gold" in registry.card_for(self).needs:
            return result
        result = calibrated(self, result, votes, output.gold_codes, output.options)
        # The share of right labels measured on gold narrows the intervals of the skills too.
        skill = LazySkill(_skill(votes, output.gold_codes, output.solution, result.extra))
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
