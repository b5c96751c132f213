"""Votes in parts, as methods see them: how much there is, and jobs over all parts. Nobody sees how many parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError
from ..engine.drivers import Driver, Hire, InProcess, Threads
from ..engine.sources import InMemory, Known, Source
from ..kinds.classes.annotations import Annotations
from ..maths.kernels import COMPILED_FROM, MANY_FITS, Workspace, n_threads, pays_to_compile
from .gold import Gold

if TYPE_CHECKING:
    from ..core.vocabulary import Codes

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
