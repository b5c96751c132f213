"""What every aggregator shares: checks at the door, gold, ties, skill, and the Result."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..core.errors import DataError, IdentifiabilityWarning, ParameterError
from ..core.result import Course, Result, versions
from ..engine.drivers import Driver, InProcess, Threads
from ..engine.em import Callback
from ..engine.outline import Outline
from ..engine.sources import InMemory, Known, Source
from ..kinds.classes.annotations import Annotations, as_annotations
from ..kinds.classes.estimate import class_result
from ..maths.kernels import Workspace, n_threads, pays_to_compile
from .cost import check_size
from .gold import Gold, as_gold
from .method import Method
from .prior import as_prior
from .registry import card
from .silence import Heard
from .skills import sides, skills

if TYPE_CHECKING:
    from .models import ClassModel

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """How a fit is to be run, beside the method's own parameters."""

    n_shards: int = 1
    callback: Callback | None = None
    prior: F8 | None = None  # what earlier projects counted: worker, observed, true

    def spread(self, annotations: Annotations, gold: Gold | None) -> Driver[Workspace]:
        """The annotations in parts, ready for passes: how many, and who runs them, is not the methods' business."""
        source: Source[Annotations] = InMemory(annotations, self.n_shards)
        n_shards, prepare = self.n_shards, Ready(pays_to_compile(annotations), gold)
        if isinstance(annotations, Outline):  # its rows are in parts already
            source, n_shards = annotations.source, annotations.source.sizes.shards
        threads = min(n_threads(), n_shards) if prepare.compiled else 1
        return Threads(source, prepare, threads) if threads > 1 else InProcess(source, prepare)


@dataclass(frozen=True)
class Ready:
    """Makes a part ready for passes, in numpy or compiled, with what is known of its tasks."""

    compiled: bool
    gold: Gold | None = None

    def __call__(self, part: Annotations, known: Known | None, first: int) -> Workspace:
        """A workspace of its own; `first` is the number of the part's first task among all."""
        if known is None and self.gold is not None:
            known = self.gold.part(first, part.n_tasks)
        return Workspace.of(part, known, self.compiled, first)


@dataclass(frozen=True)
class Solution(Course):
    """What a method works out itself, and how it went; the base class makes a Result of it."""

    posterior: F8
    class_prior: F8
    confusion: F8 | None = None
    counts: F8 | None = None
    difficulty: F8 | None = None
    # What the workers are judged by, where the method knows better than its posterior (an average of methods is too
    # soft): the first gives their skill, all of them its interval.
    workers_posteriors: tuple[F8, ...] = ()


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
    ) -> Result:
        """Labels, posteriors and workers' skills of these annotations, or of a table task, worker, label.

        `gold` is the known truth of some tasks (a mapping or a table task, label): it stays put and teaches.
        `prior` is what earlier projects say of the workers (a Result, or a table worker, true, observed, n).
        `n_shards` splits the work without changing the answer; `callback(iteration, objective)` watches it.
        """
        annotations = as_annotations(annotations)
        check_size(self.name, annotations)
        known = as_gold(gold, annotations)
        me = card(self.name)
        if "gold" in me.needs and known is None:
            raise DataError(f"{self.name} needs gold labels; pass gold= (on the command line --gold FILE)")
        if "binary" in me.needs and annotations.n_classes != 2:
            raise DataError(
                f"{self.name} is for two classes, these data have {annotations.n_classes}; hierarchical takes any"
            )
        if "order" in me.needs and annotations.answers.order is None:
            raise DataError(
                f"{self.name} needs the order of the classes; name them from the lowest to the highest with order= (on "
                "the command line --order low,mid,high), or say --order numbers where they are numbers"
            )
        if "links" in me.needs and annotations.links is None:
            raise DataError(
                f"{self.name} needs links between tasks; give them with votes.linked(table) (on the command line "
                "--links FILE, a table of two columns of tasks)"
            )
        if prior is not None and "prior" not in me.can:
            raise ParameterError(f"{self.name} cannot use prior=; hierarchical and dawid_skene are among those who can")
        if annotations.single_label and "single" not in me.can and known is None and prior is None:
            warnings.warn(
                f"every task has one label, so {self.name} cannot tell workers' errors from the truth and may "
                "overturn labels at will; hierarchical and majority_vote keep them",
                IdentifiabilityWarning,
                stacklevel=2,
            )
        found = self.answer(annotations, known, Run(n_shards, callback, as_prior(prior, annotations)))
        self.warn_unless_settled(found.converged, found.n_iter)
        return self._result(annotations, known, found)

    def answer(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """`solve` without the tasks and workers who have no labels, whom it then speaks of without being moved."""
        heard = Heard.of(annotations, run.prior, all_workers=self.worker_extra is None)
        if heard is None:
            return self.solve(annotations, gold, run)
        prior = None if run.prior is None else run.prior[heard.workers]
        found = self.solve(heard.only(annotations), heard.gold(gold), replace(run, prior=prior))
        silent, each = self.silent(), (*(self.worker_extra or ()), "theta", "vote_weight")
        extra = {k: heard.over_tasks(v, silent[k]) if k in silent else v for k, v in found.extra.items()}
        counts = None if found.counts is None else heard.over_workers(found.counts)
        if counts is not None:
            counts[~heard.workers] = 0.0
        posterior = heard.over_tasks(found.posterior, found.class_prior)
        return replace(
            found,
            posterior=posterior if gold is None else gold.clamp(posterior),
            workers_posteriors=tuple(heard.over_tasks(p, found.class_prior) for p in found.workers_posteriors),
            difficulty=heard.over_tasks(found.difficulty, silent.get("difficulty", np.nan)),
            confusion=heard.over_workers(found.confusion),
            counts=counts,
            extra={k: heard.over_workers(v) if k in each else v for k, v in extra.items()},
        )

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
        skill = skills(annotations, sides(annotations, posterior, found.workers_posteriors, gold), gold)
        return class_result(
            method=self.name,
            params=self.params(),
            tasks=annotations.tasks,
            workers=annotations.workers,
            classes=annotations.classes,
            posterior=posterior,
            class_prior=found.class_prior,
            skill=skill.mean,
            skill_low=skill.low,
            skill_high=skill.high,
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
