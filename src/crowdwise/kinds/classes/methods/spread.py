"""Votes in parts, as methods see them: how much there is, and jobs over all parts. Nobody sees how many parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core.errors import DataError
from ....core.result import Course
from ....em.drivers import Driver, Hire, InProcess, Threads
from ....em.kernels import COMPILED_FROM, MANY_FITS, Workspace, n_threads, pays_to_compile
from ....em.loop import plus
from ....em.passes import EMModel, posterior_under
from ....em.sources import InMemory, Known, Source
from ..annotations import Annotations
from .gold import Gold

if TYPE_CHECKING:
    from ....core.vocabulary import Codes

T = TypeVar("T")
# Something done to a part, and to what is known of its tasks, before the passes see it.
Change = Callable[[Annotations, Known | None], tuple[Annotations, Known | None]]


class Shape(Protocol):
    """What a model must know of the votes: how many workers and classes there are."""

    @property
    def n_workers(self) -> int: ...  # noqa: D102
    @property
    def n_classes(self) -> int: ...  # noqa: D102


class Size(Shape, Protocol):
    """How much there is."""

    def __len__(self) -> int: ...
    @property
    def n_tasks(self) -> int: ...  # noqa: D102


@dataclass(frozen=True)
class Ready:
    """Makes a part ready for passes, in numpy or compiled, after some changes."""

    compiled: bool
    changes: tuple[Change, ...] = ()

    def __call__(self, part: Annotations, known: Known | None, first: int, number: int) -> Workspace:  # noqa: ARG002
        """A workspace of its own; `first` is the number of the part's first task among all."""
        for change in self.changes:
            part, known = change(part, known)
        return Workspace.of(part, known, self.compiled, first)


@dataclass(frozen=True, eq=False)
class Spread:
    """Votes in parts, ready for passes; of each task there is a label, or of none.

    `single_label`: no task has more than one. `told`: the truth of some is known. `whole` are the votes themselves,
    where they are in memory: for methods that cannot work in parts.
    """

    driver: Driver[Workspace]
    ready: Ready
    n_rows: int
    n_tasks: int
    n_classes: int
    workers: pl.Series
    order: Codes | None = None
    single_label: bool = False
    told: bool = False
    whole: tuple[Annotations, Gold | None] | None = None

    @classmethod
    def of(cls, annotations: Annotations, gold: Gold | None, n: int = 1) -> Spread:
        """Annotations in memory, in at most n parts."""
        source = InMemory(annotations, n, gold=None if gold is None else gold.label)
        ready = Ready(pays_to_compile(annotations))
        threads = min(n_threads(), n) if ready.compiled else 1
        driver = Threads(source, ready, threads) if threads > 1 else InProcess(source, ready)
        return cls(
            driver,
            ready,
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
    def over(cls, source: Source[Annotations], hire: Hire, *, single_label: bool, told: bool) -> Spread:
        """The parts of a source, and whoever is to run them."""
        some, sizes = source.part(0), source.sizes
        ready = Ready(sizes.rows * some.n_classes >= COMPILED_FROM)
        driver = hire(source, ready)
        shape = (sizes.rows, sizes.n_tasks, some.n_classes, some.workers, some.answers.order)
        return cls(driver, ready, *shape, single_label, told)

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return len(self.workers)

    def map(self, job: Callable[[Workspace], T]) -> Iterator[T]:
        """job(shard) of every part, in their order."""
        return self.driver.map(job)

    def sum(self, job: Callable[[Workspace], T], add: Callable[[T, T], T]) -> T:
        """The sum of job(shard) over all parts."""
        return self.driver.sum(job, add)

    def under(self, ready: Ready) -> Spread:
        """The same parts, made ready in another way."""
        return replace(self, driver=self.driver.under(ready), ready=ready)

    def through(self, change: Change) -> Spread:
        """The same parts after a change of their rows; the votes themselves are then out of reach."""
        return replace(self.under(replace(self.ready, changes=(*self.ready.changes, change))), whole=None)

    def for_many(self) -> Spread:
        """The same parts for many fits, which share the price of the compiler's import."""
        compiled = self.n_rows * self.n_classes * MANY_FITS >= COMPILED_FROM
        return self if compiled == self.ready.compiled else self.under(replace(self.ready, compiled=compiled))

    def at_once(self, name: str) -> tuple[Annotations, Gold | None]:
        """The votes themselves, for who cannot do without; raises where they are not in memory."""
        if self.whole is None:
            raise DataError(
                f"{name} needs all votes at once and these are in parts; take a method that works in parts (those that "
                "can shard: crowdwise methods), or votes that fit into memory"
            )
        return self.whole


def with_rows(part: Annotations, **changed: Any) -> Annotations:
    """A part with other columns, as plain annotations, wherever its own come from."""
    return Annotations(**{each.name: getattr(part, each.name) for each in fields(Annotations)} | changed)


def clamped(space: Workspace, posterior: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The posterior with certainty where the truth is known."""
    return posterior if space.gold is None else Gold(space.gold, posterior.shape[1]).clamp(posterior)


# ----------------------------------------------------------------
# What a method has learnt: of the workers as arrays, of the tasks as a function that judges a part at a time.

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """What is said of the tasks of a part; `extra` has entries with a row a task.

    `views` are posteriors that the workers are judged by, where the method knows better than its own (an average of
    methods is too soft): the first gives their skill, all of them its interval.
    """

    posterior: F8
    difficulty: F8 | None = None
    extra: Mapping[str, F8] = field(default_factory=dict)
    views: tuple[F8, ...] = ()


# A pure function of what was learnt and one part: it can be sent to whoever has the part.
Judge = Callable[[Workspace], Judged]


@dataclass(frozen=True)
class Solution(Course):
    """What a method works out itself, and how it went; the base class makes a Result of it."""

    posterior: F8
    class_prior: F8
    confusion: F8 | None = None
    counts: F8 | None = None
    difficulty: F8 | None = None
    workers_posteriors: tuple[F8, ...] = ()  # see Judged.views


@dataclass(frozen=True, kw_only=True)
class Learnt(Course):
    """A solution whose posteriors are yet to be made; `views` is how many the judge gives besides its own."""

    judge: Judge
    class_prior: F8
    confusion: F8 | None = None
    counts: F8 | None = None
    views: int = 0

    def over(self, data: Spread) -> Solution:
        """The solution over all parts in memory."""
        rest = (self.class_prior, self.confusion, self.counts)
        parts = list(data.map(partial(judged, self.judge)))
        each = {name: _joined([part.extra[name] for part in parts]) for name in parts[0].extra}
        return Solution(
            _joined([part.posterior for part in parts]),
            *rest,
            None if parts[0].difficulty is None else _joined([part.difficulty for part in parts]),
            tuple(_joined(list(view)) for view in zip(*(part.views for part in parts), strict=True)),
            **self.course() | {"extra": {**self.extra, **each}},
        )


def judged(judge: Judge, space: Workspace, keep: bool = False) -> Judged:
    """What a judge says of a part: made now, or taken from what the part remembers; kept there if that is wished."""
    found: Judged | None = space.memory.held.pop(judge, None)
    if found is None:
        found = judge(space)
    if keep:
        space.memory.held[judge] = found
    return found


def mean_posterior(data: Spread, judge: Judge) -> F8:
    """The mean of all posteriors; parts that stay remember theirs."""
    return data.sum(partial(_mass, judge), plus) / max(data.n_tasks, 1)


def _mass(judge: Judge, space: Workspace) -> F8:
    return np.asarray(judged(judge, space, keep=True).posterior.sum(axis=0))


def _joined(parts: list[Any]) -> F8:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Under:
    """The posterior under a model's parameters; a part that has just been passed over by them remembers it."""

    model: EMModel[Workspace, Any, Any]
    params: Any

    def __call__(self, space: Workspace) -> Judged:
        """The E-step."""
        return Judged(posterior_under(self.model, self.params, space))


@dataclass(frozen=True, eq=False)
class After:
    """A judge who sees parts after a change of their rows."""

    change: Change
    judge: Judge

    def __call__(self, space: Workspace) -> Judged:
        """What it says of the changed part."""
        part, known = self.change(cast(Annotations, space.shard), space.gold)
        return self.judge(Workspace.of(part, known, space.compiled, space.first))


@dataclass(frozen=True, eq=False)
class Whole:
    """A solution of all tasks that something else has found."""

    found: Solution

    def __call__(self, space: Workspace) -> Judged:
        """The part's rows of it."""
        rows = slice(space.first, space.first + space.shard.n_tasks)
        return Judged(self.found.posterior[rows], views=tuple(view[rows] for view in self.found.workers_posteriors))
