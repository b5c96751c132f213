"""Votes in parts, as methods use them, and the state of a fit from which tasks are estimated part by part.

Methods run jobs over all parts and never depend on how many parts there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np
import polars as pl

from ....core.arrays import F8
from ....core.errors import DataError
from ....core.result import FitTrace
from ....em.drivers import Driver, Executor, InProcess, Threads
from ....em.kernels import COMPILED_FROM, MANY_FITS, Workspace, n_threads, pays_to_compile
from ....em.loop import plus
from ....em.passes import EMModel, posterior_under
from ....em.sources import GoldCodes, InMemory, Source
from ..annotations import Annotations
from .gold import GoldLabels

if TYPE_CHECKING:
    from ....core.vocabulary import Codes

T = TypeVar("T")
# Transforms a part and the gold codes of its tasks before the passes use it.
RowTransform = Callable[[Annotations, GoldCodes | None], tuple[Annotations, GoldCodes | None]]


class VotesShape(Protocol):
    """The dimensions a confusion model needs: the number of workers and of classes."""

    @property
    def n_workers(self) -> int: ...  # noqa: D102
    @property
    def n_classes(self) -> int: ...  # noqa: D102


class VotesSize(VotesShape, Protocol):
    """The number of rows, tasks, workers and classes."""

    def __len__(self) -> int: ...
    @property
    def n_tasks(self) -> int: ...  # noqa: D102


@dataclass(frozen=True)
class PreparePart:
    """Turn a part into a workspace for passes, in numpy or compiled, after applying the transforms."""

    compiled: bool
    transforms: tuple[RowTransform, ...] = ()

    def __call__(self, part: Annotations, gold: GoldCodes | None, first: int, number: int) -> Workspace:  # noqa: ARG002
        """Return the workspace of a part; `first` is the index of its first task among all tasks."""
        for transform in self.transforms:
            part, gold = transform(part, gold)
        return Workspace.of(part, gold, self.compiled, first)


@dataclass(frozen=True, eq=False)
class PartitionedVotes:
    """Votes in parts, ready for passes. Either every task has a label or none has.

    Attributes:
        driver: Runs jobs over the parts.
        prepare: Turns a part into a workspace.
        single_label: Whether no task has more than one label.
        has_gold: Whether the truth of some task is known.
        in_memory: All votes and their gold where they are in memory, for methods that cannot work in parts.
    """

    driver: Driver[Workspace]
    prepare: PreparePart
    n_rows: int
    n_tasks: int
    n_classes: int
    workers: pl.Series
    order: Codes | None = None
    single_label: bool = False
    has_gold: bool = False
    in_memory: tuple[Annotations, GoldLabels | None] | None = None

    @classmethod
    def of(cls, annotations: Annotations, gold: GoldLabels | None, n: int = 1) -> PartitionedVotes:
        """Split annotations in memory into at most n parts."""
        source = InMemory(annotations, n, gold=None if gold is None else gold.label)
        prepare = PreparePart(pays_to_compile(annotations))
        threads = min(n_threads(), n) if prepare.compiled else 1
        driver = Threads(source, prepare, threads) if threads > 1 else InProcess(source, prepare)
        return cls(
            driver,
            prepare,
            len(annotations),
            annotations.n_tasks,
            annotations.n_classes,
            annotations.workers,
            annotations.answers.order,
            annotations.single_label,
            gold is not None,
            (annotations, gold),
        )

    @classmethod
    def from_source(
        cls, source: Source[Annotations], executor: Executor, *, single_label: bool, has_gold: bool
    ) -> PartitionedVotes:
        """Take the parts of a source, run by an executor."""
        part, sizes = source.part(0), source.sizes
        prepare = PreparePart(sizes.rows * part.n_classes >= COMPILED_FROM)
        driver = executor(source, prepare)
        shape = (sizes.rows, sizes.n_tasks, part.n_classes, part.workers, part.answers.order)
        return cls(driver, prepare, *shape, single_label, has_gold)

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return len(self.workers)

    def map(self, job: Callable[[Workspace], T]) -> Iterator[T]:
        """Yield job(workspace) of every part, in order."""
        return self.driver.map(job)

    def sum(self, job: Callable[[Workspace], T], add: Callable[[T, T], T]) -> T:
        """Return the sum of job(workspace) over all parts."""
        return self.driver.sum(job, add)

    def with_prepare(self, prepare: PreparePart) -> PartitionedVotes:
        """Return the same parts with another way of preparing them."""
        return replace(self, driver=self.driver.under(prepare), prepare=prepare)

    def transformed(self, transform: RowTransform) -> PartitionedVotes:
        """Return the same parts with a further transform of their rows; `in_memory` is None from then on."""
        prepare = replace(self.prepare, transforms=(*self.prepare.transforms, transform))
        return replace(self.with_prepare(prepare), in_memory=None)

    def for_many_fits(self) -> PartitionedVotes:
        """Return the same parts for many fits, which share the cost of importing the compiler."""
        compiled = self.n_rows * self.n_classes * MANY_FITS >= COMPILED_FROM
        if compiled == self.prepare.compiled:
            return self
        return self.with_prepare(replace(self.prepare, compiled=compiled))

    def require_in_memory(self, name: str) -> tuple[Annotations, GoldLabels | None]:
        """Return all votes and their gold for method `name`, or raise where they are not in memory."""
        if self.in_memory is None:
            raise DataError(
                f"{name} needs all votes at once and these are in parts; take a method that works in parts (those that "
                "can shard: crowdwise methods), or votes that fit into memory"
            )
        return self.in_memory


def with_columns(part: Annotations, **changed: Any) -> Annotations:
    """Return a part with some columns replaced, as plain annotations whatever the part's own class."""
    columns = {column.name: getattr(part, column.name) for column in fields(Annotations)}
    return Annotations(**columns | changed)


def clamped(space: Workspace, posterior: F8) -> F8:
    """Return the posterior with certainty on gold tasks."""
    return posterior if space.gold is None else GoldLabels(space.gold, posterior.shape[1]).clamp(posterior)


# ----------------------------------------------------------------
# The state of a fit: what was learnt about the workers as arrays, and a predictor that estimates one part at a time.


@dataclass(frozen=True)
class PartPosterior:
    """Posterior of the tasks of a part; entries of `extra` have a row per task.

    `worker_posteriors` replace the posterior when workers are scored, where the method has better ones (an average of
    methods is too soft). The first gives the skills, all of them together the intervals.
    """

    posterior: F8
    difficulty: F8 | None = None
    extra: Mapping[str, F8] = field(default_factory=dict)
    worker_posteriors: tuple[F8, ...] = ()


# A pure function of the fit and one part, so that it can be sent to the process that holds the part.
Predictor = Callable[[Workspace], PartPosterior]


@dataclass(frozen=True)
class Solution(FitTrace):
    """Output of a method: posteriors, worker estimates and the trace of the fit; the base class makes it a Result."""

    posterior: F8
    class_prior: F8
    confusion: F8 | None = None
    counts: F8 | None = None
    difficulty: F8 | None = None
    worker_posteriors: tuple[F8, ...] = ()  # see PartPosterior


@dataclass(frozen=True, kw_only=True)
class FitState(FitTrace):
    """A solution whose posteriors are computed on demand by `predictor`.

    `n_worker_posteriors` is the number of `worker_posteriors` that the predictor returns.
    """

    predictor: Predictor
    class_prior: F8
    confusion: F8 | None = None
    counts: F8 | None = None
    n_worker_posteriors: int = 0

    def to_solution(self, data: PartitionedVotes) -> Solution:
        """Estimate all parts and join them in memory."""
        parts = list(data.map(partial(apply_predictor, self.predictor)))
        per_task = {name: _joined([part.extra[name] for part in parts]) for name in parts[0].extra}
        by_rank = zip(*(part.worker_posteriors for part in parts), strict=True)
        return Solution(
            posterior=_joined([part.posterior for part in parts]),
            class_prior=self.class_prior,
            confusion=self.confusion,
            counts=self.counts,
            difficulty=None if parts[0].difficulty is None else _joined([part.difficulty for part in parts]),
            worker_posteriors=tuple(_joined(list(posteriors)) for posteriors in by_rank),
            **self.trace_fields() | {"extra": {**self.extra, **per_task}},
        )


def apply_predictor(predictor: Predictor, space: Workspace, keep: bool = False) -> PartPosterior:
    """Return the predictor's posterior of a part, from the part's cache where it is there.

    Args:
        predictor: The predictor, which is also the cache key.
        space: The part.
        keep: Whether to leave the posterior in the part's cache; otherwise it is removed.
    """
    estimate: PartPosterior | None = space.memory.cache.pop(predictor, None)
    if estimate is None:
        estimate = predictor(space)
    if keep:
        space.memory.cache[predictor] = estimate
    return estimate


def mean_posterior(data: PartitionedVotes, predictor: Predictor) -> F8:
    """Return the mean posterior over all tasks; parts that stay in memory cache theirs."""
    return data.sum(partial(_mass, predictor), plus) / max(data.n_tasks, 1)


def _mass(predictor: Predictor, space: Workspace) -> F8:
    return np.asarray(apply_predictor(predictor, space, keep=True).posterior.sum(axis=0))


def _joined(parts: list[Any]) -> F8:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class ModelPredictor:
    """The posterior under a model's parameters; reused where the last pass over the part left it."""

    model: EMModel[Workspace, Any, Any]
    params: Any

    def __call__(self, space: Workspace) -> PartPosterior:
        """Run the E-step."""
        return PartPosterior(posterior_under(self.model, self.params, space))


@dataclass(frozen=True, eq=False)
class TransformedPredictor:
    """A predictor that is applied to parts after a transform of their rows."""

    transform: RowTransform
    predictor: Predictor

    def __call__(self, space: Workspace) -> PartPosterior:
        """Posterior of the transformed part."""
        part, gold = self.transform(cast(Annotations, space.shard), space.gold)
        return self.predictor(Workspace.of(part, gold, space.compiled, space.first))


@dataclass(frozen=True, eq=False)
class SolutionPredictor:
    """A solution of all tasks that was computed elsewhere."""

    solution: Solution

    def __call__(self, space: Workspace) -> PartPosterior:
        """The part's rows of the solution."""
        rows = slice(space.first, space.first + space.shard.n_tasks)
        solution = self.solution
        return PartPosterior(
            solution.posterior[rows],
            worker_posteriors=tuple(posterior[rows] for posterior in solution.worker_posteriors),
        )
