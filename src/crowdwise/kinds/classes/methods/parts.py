"""Fits of votes in parts that need not be in memory together; tasks are estimated part by part.

    fit = fit_parts(cw.DawidSkene(), source, partial(Threads, threads=2))
    for written in fit.map(write): ...      # write(PartEstimate) runs where the part is

Every executor (this process, threads, a cluster) gives the same answer to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
import polars as pl

from ....core import method_registry as registry
from ....core.arrays import F8, I8, Mask
from ....core.callback import Callback
from ....core.errors import DataError, ParameterError
from ....core.result import FitTrace
from ....em.drivers import Driver, Executor, InProcess
from ....em.kernels import Workspace
from ....em.loop import plus
from ....em.sources import GoldCodes, Sizes, Source
from ..annotations import Annotations
from ..answers import Classes
from ..estimate import ClassPosterior, ClassWorkers, LazySkill
from .base import Aggregator, PartitionedAggregator, SolveOptions
from .drop_empty import NonEmpty
from .gold import as_prior
from .partitioned import FitState, PartitionedVotes, Predictor, clamped, with_columns
from .requirements import check_requirements, check_tables
from .skills import expected_wrong, skills

# ----------------------------------------------------------------
# A survey of all parts before a fit finds the tasks and workers without labels, which are then left out.
# This is the counterpart of drop_empty.py for parts; the empty tasks are known only within a part.


@dataclass(frozen=True, eq=False)
class PartsSurvey:
    """Summary of all parts; surveys add up.

    Attributes:
        n_classes: Number of classes.
        labels_per_worker: Number of labels of each worker.
        weight: Summed weight of the labels of each worker.
        tasks: Number of non-empty tasks of each part.
        rows: Number of rows of the non-empty tasks of each part.
        max_labels_per_task: The most labels of any task.
        has_gold: Whether the truth of some task is known.
        has_empty_tasks: Whether some task has no label of positive weight.
    """

    n_classes: int
    labels_per_worker: I8
    weight: F8
    tasks: tuple[int, ...]
    rows: tuple[int, ...]
    max_labels_per_task: int
    has_gold: bool
    has_empty_tasks: bool

    def __add__(self, other: PartsSurvey) -> PartsSurvey:
        return PartsSurvey(
            self.n_classes,
            self.labels_per_worker + other.labels_per_worker,
            self.weight + other.weight,
            self.tasks + other.tasks,
            self.rows + other.rows,
            max(self.max_labels_per_task, other.max_labels_per_task),
            self.has_gold or other.has_gold,
            self.has_empty_tasks or other.has_empty_tasks,
        )

    def __len__(self) -> int:
        return sum(self.rows)

    @property
    def n_workers(self) -> int:
        """Number of workers, those without labels included."""
        return len(self.weight)

    @property
    def n_tasks(self) -> int:
        """Number of non-empty tasks."""
        return sum(self.tasks)

    @property
    def first(self) -> tuple[int, ...]:
        """Index of each part's first task among the non-empty tasks."""
        return tuple(accumulate(self.tasks, initial=0))[:-1]

    @property
    def single_label(self) -> bool:
        """Whether no task has more than one label."""
        return self.max_labels_per_task <= 1

    def traits(self, part: Annotations) -> PartTraits:
        """Return what the requirements of a method are checked against."""
        return PartTraits(part.n_classes, part.answers, self.single_label)

    def non_empty(self, history: F8 | None, *, all_workers: bool) -> NonEmptyFilter:
        """Return the filter for tasks and workers that take part in a fit (see `NonEmpty.of`)."""
        workers = self.weight > 0
        if history is not None:
            workers |= history.any(axis=(1, 2))
        keep_all = all_workers or bool(workers.all())
        return NonEmptyFilter(None if keep_all else workers, self.has_empty_tasks)


@dataclass(frozen=True)
class PartTraits:
    """The traits that `check_requirements` reads."""

    n_classes: int
    answers: Classes
    single_label: bool


@dataclass(frozen=True, eq=False)
class NonEmptyFilter:
    """Mask of the workers that take part in a fit (None: all of them), and whether there are empty tasks to drop."""

    workers: Mask | None
    has_empty_tasks: bool

    def select(self, part: Annotations, gold: GoldCodes | None) -> tuple[Mask, Annotations, GoldCodes | None]:
        """Return the mask of a part's non-empty tasks, and the part and its gold without empty tasks and workers."""
        if not self.has_empty_tasks and self.workers is None:
            return np.ones(part.n_tasks, dtype=bool), part, gold
        tasks = non_empty_tasks(part) if self.has_empty_tasks else np.ones(part.n_tasks, dtype=bool)
        if tasks.all() and self.workers is None:
            return tasks, part, gold
        workers = np.ones(part.n_workers, dtype=bool) if self.workers is None else self.workers
        return tasks, with_columns(part).among(tasks, workers), None if gold is None else gold[tasks]

    def filter_source(self, source: Source[Annotations], surveyed: PartsSurvey) -> Source[Annotations]:
        """Return the source without empty tasks and workers; the source itself where there are none."""
        if not self.has_empty_tasks and self.workers is None:
            return source
        n_workers = surveyed.n_workers if self.workers is None else int(self.workers.sum())
        return NonEmptyParts(source, self, Sizes(len(surveyed), n_workers, surveyed.tasks))


@dataclass(frozen=True, eq=False)
class NonEmptyParts:
    """A source without its empty tasks and workers."""

    inner: Source[Annotations]
    non_empty: NonEmptyFilter
    sizes: Sizes

    @property
    def stays(self) -> bool:
        """Whether the parts stay in memory."""
        return self.inner.stays

    def part(self, number: int) -> Annotations:
        """Return one part."""
        return self.non_empty.select(self.inner.part(number), None)[1]

    def gold_codes(self, number: int) -> GoldCodes | None:
        """Return the gold codes of the non-empty tasks of a part."""
        gold = self.inner.gold_codes(number)
        return None if gold is None else self.non_empty.select(self.inner.part(number), gold)[2]


def non_empty_tasks(part: Annotations) -> Mask:
    """Return the mask of the tasks with a label of positive weight."""
    if part.weight is None:
        return np.asarray(part.labels_per_task > 0)
    return np.asarray(np.bincount(part.task, weights=part.weight, minlength=part.n_tasks) > 0)


def survey(source: Source[Annotations], executor: Executor) -> PartsSurvey:
    """Summarise all parts in one pass."""
    total: PartsSurvey = executor(source, _survey_part).sum(_identity, plus)
    return total


def _survey_part(part: Annotations, gold: GoldCodes | None, first: int, number: int) -> PartsSurvey:  # noqa: ARG001
    m, tasks = part.n_workers, non_empty_tasks(part)
    n = np.bincount(part.worker, minlength=m)
    weight = n if part.weight is None else np.bincount(part.worker, weights=part.weight, minlength=m)
    n_tasks, all_tasks = int(tasks.sum()), bool(tasks.all())
    # Rows without weight in non-empty tasks stay, as they do in memory.
    rows = len(part) if all_tasks else int(part.labels_per_task[tasks].sum())
    return PartsSurvey(
        n_classes=part.n_classes,
        labels_per_worker=n.astype(np.int64),
        weight=weight.astype(np.float64),
        tasks=(n_tasks,),
        rows=(rows,),
        max_labels_per_task=int(part.labels_per_task.max(initial=0)),
        has_gold=gold is not None and bool((gold < part.n_classes).any()),
        has_empty_tasks=not all_tasks,
    )


def _identity(surveyed: PartsSurvey) -> PartsSurvey:
    return surveyed


T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PartEstimate:
    """Estimate of the tasks of one part; entries of `extra` have a row per task."""

    number: int
    tasks: pl.Series
    estimate: ClassPosterior
    labels_per_task: I8
    gold: Mask | None = None
    extra: Mapping[str, F8] = field(default_factory=dict)

    def to_table(self) -> pl.DataFrame:
        """Return one row per task: the task, its estimate, and its number of labels."""
        return pl.DataFrame({"task": self.tasks, **self.estimate.table(self.labels_per_task)})


@dataclass(frozen=True, eq=False)
class SourcePart:
    """A part as it is in the source; `gold` holds the gold codes of its tasks."""

    votes: Annotations
    gold: GoldCodes | None
    number: int


def _source_part(part: Annotations, gold: GoldCodes | None, first: int, number: int) -> SourcePart:  # noqa: ARG001
    return SourcePart(part, gold, number)


@dataclass(frozen=True, eq=False)
class _PartEstimator:
    """Estimates parts as they are in the source, empty tasks included."""

    predictor: Predictor
    compiled: bool
    non_empty: NonEmptyFilter
    first: tuple[int, ...]
    class_prior: F8
    empty_values: Mapping[str, float]
    seed: int

    def __call__(self, part: SourcePart) -> PartEstimate:
        votes = part.votes
        tasks, selected, gold = self.non_empty.select(votes, part.gold)
        estimate = self.predictor(Workspace.of(selected, gold, self.compiled, self.first[part.number]))
        expand = NonEmpty(tasks, np.empty(0, dtype=bool), np.empty(0)).expand_tasks
        posterior = expand(estimate.posterior, self.class_prior)
        if part.gold is not None:
            posterior = clamped(Workspace.of(votes, part.gold, False), posterior)
        difficulty = estimate.difficulty
        if difficulty is not None:
            difficulty = expand(difficulty, self.empty_values.get("difficulty", np.nan))
        # A random stream per part: ties are broken independently of the tasks of other parts.
        seed = (self.seed << 24) + part.number
        order = None if votes.answers.order is None else np.array(votes.answers.order, dtype=np.int64)
        return PartEstimate(
            part.number,
            votes.tasks,
            ClassPosterior(posterior, self.class_prior, votes.classes, difficulty, seed, order),
            votes.labels_per_task,
            None if part.gold is None else part.gold < votes.n_classes,
            {name: expand(v, self.empty_values.get(name, np.nan)) for name, v in estimate.extra.items()},
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class PartsFit(FitTrace):
    """A fit of votes in parts: worker estimates, class prior and trace; tasks are estimated by `map` or `parts`."""

    method: str
    params: Mapping[str, Any]
    workers: pl.Series
    classes: pl.Series
    class_prior: F8
    worker_summary: ClassWorkers
    labels_per_worker: I8
    n_tasks: int
    n_rows: int
    has_gold: bool
    driver: Driver[SourcePart] = field(repr=False)
    estimate_part: Callable[[SourcePart], PartEstimate] = field(repr=False)

    def map(self, use: Callable[[PartEstimate], T]) -> Iterator[T]:
        """Yield use(estimate) of every part, in order.

        `use` is called in the process that holds the part; its result is sent back, so it should be small.
        """
        return self.driver.map(partial(_use_estimate, self.estimate_part, use))

    def parts(self) -> Iterator[PartEstimate]:
        """Yield the estimates, one part at a time."""
        return self.driver.map(self.estimate_part)


def _use_estimate(
    estimate_part: Callable[[SourcePart], PartEstimate], use: Callable[[PartEstimate], T], part: SourcePart
) -> T:
    return use(estimate_part(part))


def fit_parts(
    method: Aggregator,
    source: Source[Annotations],
    executor: Executor = InProcess,
    *,
    prior: Any = None,
    callback: Callback | None = None,
    surveyed: PartsSurvey | None = None,
) -> PartsFit:
    """Fit a method to the parts of a source.

    Args:
        method: The method; it must be able to work in parts.
        source: The votes, with their gold.
        executor: Runs the jobs over the parts.
        prior: Counts of earlier projects, as in `Aggregator.fit`.
        callback: Called as callback(iteration, objective).
        surveyed: A survey of the parts, where there is one already.
    """
    if not isinstance(method, PartitionedAggregator):
        raise ParameterError(
            f"{method.name} needs all votes at once, so it cannot work in parts; adaptive and hierarchical can"
        )
    surveyed = survey(source, executor) if surveyed is None else surveyed
    example = source.part(0)
    if not len(surveyed):
        raise DataError("there are no annotations to aggregate: every row was dropped or the input is empty")
    check_tables(method.name, surveyed)
    check_requirements(registry.card_for(method), surveyed.traits(example), False, surveyed.has_gold, prior is not None)
    history = as_prior(prior, example)
    non_empty = surveyed.non_empty(history, all_workers=method.worker_extra is None)
    labelled = non_empty.filter_source(source, surveyed)
    data = PartitionedVotes.from_source(
        labelled, executor, single_label=surveyed.single_label, has_gold=surveyed.has_gold
    )
    if history is not None and non_empty.workers is not None:
        history = history[non_empty.workers]
    state = method.learn(data, SolveOptions(callback=callback, prior=history))
    method.warn_unless_settled(state.converged, state.n_iter)
    estimates = _all_workers(method, state, surveyed, non_empty)
    # A pass over the data, run when the skills are first read.
    skill = partial(
        skills, data, state.predictor, state.n_worker_posteriors, non_empty.workers, expected_wrong(state.extra)
    )
    return PartsFit(
        method=method.name,
        params=method.params(),
        workers=example.workers,
        classes=example.classes,
        class_prior=state.class_prior,
        worker_summary=ClassWorkers(LazySkill(skill), estimates["confusion"], estimates["counts"]),
        labels_per_worker=surveyed.labels_per_worker,
        n_tasks=source.sizes.n_tasks,
        n_rows=source.sizes.rows,
        has_gold=surveyed.has_gold,
        driver=executor(source, _source_part),
        estimate_part=_PartEstimator(
            state.predictor,
            data.prepare.compiled,
            non_empty,
            surveyed.first,
            state.class_prior,
            method.empty_task_values(),
            method.seed,
        ),
        **state.trace_fields() | {"extra": estimates["extra"]},
    )


def _all_workers(
    method: Aggregator, state: FitState, surveyed: PartsSurvey, non_empty: NonEmptyFilter
) -> dict[str, Any]:
    """Return confusion, counts and extra of a fit for all workers, those without labels included."""
    estimates: dict[str, Any] = {name: getattr(state, name) for name in ("confusion", "counts", "extra")}
    if non_empty.workers is None:
        return estimates
    expander = NonEmpty(np.empty(0, dtype=bool), non_empty.workers, surveyed.weight[non_empty.workers])
    return expander.expand_worker_fields(**estimates, worker_fields=method.worker_fields())
