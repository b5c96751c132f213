"""What every aggregator shares: checks at the door, gold, ties, skill, and the Result."""

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
from .empty import Heard
from .gold import Gold, as_gold, as_prior
from .needs import check_needs, check_size
from .skills import expected_wrong, later
from .spread import Learnt, Solution, Spread

if TYPE_CHECKING:
    from .infer import ClassModel

F8 = npt.NDArray[np.float64]
__all__ = ["Aggregator", "Learnt", "Run", "Solution", "Spread", "SpreadAggregator"]


@dataclass(frozen=True)
class Run:
    """How a fit is to be run, beside the method's own parameters."""

    n_shards: int = 1
    callback: Callback | None = None
    prior: F8 | None = None  # what earlier projects counted: worker, observed, true

    def spread(self, annotations: Annotations, gold: Gold | None) -> Spread:
        """The annotations in parts, ready for passes: how many, and who runs them, is not the methods' business."""
        return Spread.of(annotations, gold, self.n_shards)


@dataclass(frozen=True, kw_only=True)
class Aggregator(Method):
    """A method for classes: hyper-parameters and nothing else. `seed` breaks ties and draws restarts."""

    # Entries of `extra` with a row for each worker; None: the method wants to see silent workers too.
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
        """Labels, posteriors and workers' skills of these annotations, or of a table task, worker, label.

        `gold` is the known truth of some tasks (a mapping or a table task, label): it stays put and teaches.
        `calibrate` corrects the confidence by gold (docs/methods/adaptive.md); by default the ensembles do.
        `prior` is what earlier projects say of the workers (a Result, or a table worker, true, observed, n).
        `n_shards` splits the work without changing the answer; `callback(iteration, objective)` watches it.
        """
        annotations = as_annotations(annotations)
        check_size(self.name, annotations)
        known = as_gold(gold, annotations)
        check_needs(self.name, annotations, annotations.links is not None, known is not None, prior is not None)
        run = Run(n_shards, callback, as_prior(prior, annotations))
        found = self.answer(annotations, known, run)
        self.warn_unless_settled(found.converged, found.n_iter)
        result = self._result(annotations, known, found)
        wanted = self.calibrates if calibrate is None else calibrate
        if known is None or not wanted or "gold" in registry.card(self.name).needs:
            return result
        result = calibrated(self, result, annotations, known, run)
        # The share of right labels that gold measures narrows the intervals of the skills too.
        skill = LazySkill(_skill(annotations, known, found, result.extra))
        return replace(result, picture=ClassWorkers(skill, result.confusion, result.counts))

    def answer(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """`solve` without the tasks and workers who have no labels, whom it then speaks of without being moved."""
        heard = Heard.of(annotations, run.prior, all_workers=self.worker_extra is None)
        if heard is None:
            return self.solve(annotations, gold, run)
        prior = None if run.prior is None else run.prior[heard.workers]
        found = self.solve(heard.only(annotations), heard.gold(gold), replace(run, prior=prior))
        silent = self.silent()
        extra = {k: heard.over_tasks(v, silent[k]) if k in silent else v for k, v in found.extra.items()}
        posterior = heard.over_tasks(found.posterior, found.class_prior)
        return replace(
            found,
            posterior=posterior if gold is None else gold.clamp(posterior),
            workers_posteriors=tuple(heard.over_tasks(p, found.class_prior) for p in found.workers_posteriors),
            difficulty=heard.over_tasks(found.difficulty, silent.get("difficulty", np.nan)),
            **heard.workers_in(found.confusion, found.counts, extra, self.each_worker()),
        )

    def each_worker(self) -> tuple[str, ...]:
        """The entries of `extra` that have a row for each worker."""
        return (*(self.worker_extra or ()), "theta", "vote_weight")

    def silent(self) -> Mapping[str, float]:
        """What a method with a difficulty, or with entries of `extra` for each task, says of tasks without labels."""
        return {}

    @abstractmethod
    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """The method itself; every task has a label, or none has."""

    @staticmethod
    def fitted(result: Result) -> ClassModel | None:  # noqa: ARG004
        """The model behind `result`, for methods that learn more than confusions or weights of votes."""
        return None

    def _result(self, annotations: Annotations, gold: Gold | None, found: Solution) -> Result:
        posterior = found.posterior if gold is None else gold.clamp(found.posterior)
        return class_result(
            method=self.name,
            params=self.params(),
            tasks=annotations.tasks,
            workers=annotations.workers,
            classes=annotations.classes,
            posterior=posterior,
            class_prior=found.class_prior,
            skill=_skill(annotations, gold, found, found.extra),
            labels_per_task=annotations.labels_per_task,
            labels_per_worker=annotations.labels_per_worker,
            confusion=found.confusion,
            counts=found.counts,
            difficulty=found.difficulty,
            order=annotations.answers.order,
            gold=None if gold is None else gold.mask,
            **found.course(),
            versions=versions(),
        )


def _skill(
    annotations: Annotations, gold: Gold | None, found: Solution, extra: Mapping[str, Any]
) -> Callable[[], Skill]:
    posterior = found.posterior if gold is None else gold.clamp(found.posterior)
    return later(annotations, gold, replace(found, posterior=posterior), expected_wrong(extra))


@dataclass(frozen=True, kw_only=True)
class SpreadAggregator(Aggregator):
    """A method that passes over its votes in parts, which need not be in memory together (`parts.py`)."""

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """What was learnt of all parts, and the tasks judged by it."""
        data = run.spread(annotations, gold)
        return self.learn(data, run).over(data)

    @abstractmethod
    def learn(self, data: Spread, run: Run) -> Learnt:
        """The method itself, by jobs over parts; every task has a label, or none has."""
