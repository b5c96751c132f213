"""One look at all parts before a fit: who says something at all, and of which tasks; silence is then left out of them.

What `silence.py` does to annotations in memory, part by part: silent tasks are known to their own part alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from ..engine.drivers import Hire
from ..engine.sources import Known, Sizes, Source
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.answers import Classes
from .spread import with_rows

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Surveyed:
    """Of each worker how many labels, and their weight; of each part how many tasks and rows are heard.

    `longest` is the most labels of a task; `told`: the truth of some task is known.
    """

    n_classes: int
    labels_per_worker: I8
    weight: F8
    tasks: tuple[int, ...]
    rows: tuple[int, ...]
    longest: int
    told: bool
    silent: bool  # whether some task has no label that counts

    def __add__(self, other: Surveyed) -> Surveyed:
        return Surveyed(
            self.n_classes,
            self.labels_per_worker + other.labels_per_worker,
            self.weight + other.weight,
            self.tasks + other.tasks,
            self.rows + other.rows,
            max(self.longest, other.longest),
            self.told or other.told,
            self.silent or other.silent,
        )

    def __len__(self) -> int:
        return sum(self.rows)

    @property
    def n_workers(self) -> int:
        """All workers, those who said nothing included."""
        return len(self.weight)

    @property
    def n_tasks(self) -> int:
        """Tasks that are heard."""
        return sum(self.tasks)

    @property
    def first(self) -> tuple[int, ...]:
        """The number of each part's first task among those that are heard."""
        return tuple(accumulate(self.tasks, initial=0))[:-1]

    def over(self, part: Annotations) -> Seen:
        """What a method's needs are checked against."""
        return Seen(part.n_classes, part.answers, self.longest <= 1)

    def speaking(self, history: F8 | None, *, all_workers: bool) -> Speaking:
        """Who takes part in a fit: who has a label that counts, or a history, or everybody."""
        workers = self.weight > 0
        if history is not None:
            workers |= history.any(axis=(1, 2))
        quiet = all_workers or bool(workers.all())
        return Speaking(None if quiet else workers, self.silent)


@dataclass(frozen=True)
class Seen:
    """What `check_needs` looks at."""

    n_classes: int
    answers: Classes
    single_label: bool


@dataclass(frozen=True, eq=False)
class Speaking:
    """The workers who speak (None: all of them), and whether there are silent tasks to leave out."""

    workers: Mask | None
    silent: bool

    def only(self, part: Annotations, known: Known | None) -> tuple[Mask, Annotations, Known | None]:
        """Which tasks of a part are heard, and the part without the others and without silent workers."""
        if not self.silent and self.workers is None:
            return np.ones(part.n_tasks, dtype=bool), part, known
        tasks = heard(part) if self.silent else np.ones(part.n_tasks, dtype=bool)
        if tasks.all() and self.workers is None:
            return tasks, part, known
        workers = np.ones(part.n_workers, dtype=bool) if self.workers is None else self.workers
        return tasks, with_rows(part).among(tasks, workers), None if known is None else known[tasks]

    def source(self, source: Source[Annotations], seen: Surveyed) -> Source[Annotations]:
        """The parts without silence; the source itself where there is none."""
        if not self.silent and self.workers is None:
            return source
        workers = seen.n_workers if self.workers is None else int(self.workers.sum())
        return HeardParts(source, self, Sizes(len(seen), workers, seen.tasks))


@dataclass(frozen=True, eq=False)
class HeardParts:
    """A source whose silent tasks and workers are left out."""

    inner: Source[Annotations]
    speaking: Speaking
    sizes: Sizes

    @property
    def stays(self) -> bool:
        """As its source."""
        return self.inner.stays

    def part(self, number: int) -> Annotations:
        """One part."""
        return self.speaking.only(self.inner.part(number), None)[1]

    def known(self, number: int) -> Known | None:
        """The known class of each of its tasks that are heard."""
        known = self.inner.known(number)
        return None if known is None else self.speaking.only(self.inner.part(number), known)[2]


def heard(part: Annotations) -> Mask:
    """Which tasks have a label that counts."""
    if part.weight is None:
        return np.asarray(part.labels_per_task > 0)
    return np.asarray(np.bincount(part.task, weights=part.weight, minlength=part.n_tasks) > 0)


def survey(source: Source[Annotations], hire: Hire) -> Surveyed:
    """Look at all parts once."""
    found: Surveyed = hire(source, _look).sum(_same, _add)
    return found


def _look(part: Annotations, known: Known | None, first: int, number: int) -> Surveyed:  # noqa: ARG001
    m, tasks = part.n_workers, heard(part)
    n = np.bincount(part.worker, minlength=m)
    weight = n if part.weight is None else np.bincount(part.worker, weights=part.weight, minlength=m)
    # Rows of no weight in tasks that are heard stay, as they do in memory.
    rows = len(part) if tasks.all() else int(part.labels_per_task[tasks].sum())
    told = known is not None and bool((known < part.n_classes).any())
    longest = int(part.labels_per_task.max(initial=0))
    n_heard, all_heard = int(tasks.sum()), bool(tasks.all())
    sizes = ((n_heard,), (rows,), longest, told, not all_heard)
    return Surveyed(part.n_classes, n.astype(np.int64), weight.astype(np.float64), *sizes)


def _same(seen: Surveyed) -> Surveyed:
    return seen


def _add(a: Surveyed, b: Surveyed) -> Surveyed:
    return a + b
