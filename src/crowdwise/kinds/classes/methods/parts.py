"""A fit of votes in parts that need not be in memory together: workers come out as arrays, tasks part by part.

    fit = fit_parts(cw.DawidSkene(), source, partial(Threads, threads=2))
    for written in fit.map(write): ...      # write(PartEstimate) runs where the part is

Whoever runs the parts (`hire`: in this process, in threads, on a cluster), the answer has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core.callback import Callback
from ....core.errors import DataError, ParameterError
from ....core.result import Course
from ....em.drivers import Driver, Hire, InProcess
from ....em.kernels import Workspace
from ....em.sources import Known, Sizes, Source
from ..annotations import Annotations
from ..answers import Classes
from ..estimate import ClassPosterior, ClassWorkers, LazySkill
from .base import Aggregator, Run, SpreadAggregator
from .empty import Heard
from .gold import as_prior
from .needs import check_needs, check_tables
from .skills import expected_wrong, skills
from .spread import Judge, Spread, clamped, with_rows

# ----------------------------------------------------------------
# One look at all parts before a fit: who says something at all, and of which tasks; silence is then left out of them.
# What `silence.py` does to annotations in memory, part by part: silent tasks are known to their own part alone.

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


T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PartEstimate:
    """What is believed of the tasks of one part; `extra` has entries with a row a task."""

    number: int
    tasks: pl.Series
    estimate: ClassPosterior
    labels_per_task: npt.NDArray[np.int64]
    gold: npt.NDArray[np.bool_] | None = None
    extra: Mapping[str, F8] = field(default_factory=dict)

    def to_table(self) -> pl.DataFrame:
        """One row a task: task, what is believed of it, the number of its answers."""
        return pl.DataFrame({"task": self.tasks, **self.estimate.table(self.labels_per_task)})


@dataclass(frozen=True, eq=False)
class Part:
    """A part as it is in the source."""

    votes: Annotations
    known: Known | None
    number: int


def _as_it_is(part: Annotations, known: Known | None, first: int, number: int) -> Part:  # noqa: ARG001
    return Part(part, known, number)


@dataclass(frozen=True, eq=False)
class _Estimating:
    """Judges parts as they are in the source, tasks without labels included."""

    judge: Judge
    compiled: bool
    speaking: Speaking
    first: tuple[int, ...]
    class_prior: F8
    silent: Mapping[str, float]
    seed: int

    def __call__(self, part: Part) -> PartEstimate:
        votes = part.votes
        heard, own, known = self.speaking.only(votes, part.known)
        judged = self.judge(Workspace.of(own, known, self.compiled, self.first[part.number]))
        spread = Heard(heard, np.empty(0, dtype=bool), np.empty(0))
        posterior = spread.over_tasks(judged.posterior, self.class_prior)
        if part.known is not None:
            posterior = clamped(Workspace.of(votes, part.known, False), posterior)
        difficulty = judged.difficulty
        if difficulty is not None:
            difficulty = spread.over_tasks(difficulty, self.silent.get("difficulty", np.nan))
        # A stream of its own for each part: who wins a tie does not hang on the tasks of others.
        seed = (self.seed << 24) + part.number
        order = None if votes.answers.order is None else np.array(votes.answers.order, dtype=np.int64)
        return PartEstimate(
            part.number,
            votes.tasks,
            ClassPosterior(posterior, self.class_prior, votes.classes, difficulty, seed, order),
            votes.labels_per_task,
            None if part.known is None else part.known < votes.n_classes,
            {name: spread.over_tasks(v, self.silent.get(name, np.nan)) for name, v in judged.extra.items()},
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class PartsFit(Course):
    """What was found: `picture` of the workers, `class_prior`, how it went, and the tasks by `map` or `parts`."""

    method: str
    params: Mapping[str, Any]
    workers: pl.Series
    classes: pl.Series
    class_prior: F8
    picture: ClassWorkers
    labels_per_worker: npt.NDArray[np.int64]
    n_tasks: int
    n_rows: int
    told: bool
    driver: Driver[Part] = field(repr=False)
    judge: Callable[[Part], PartEstimate] = field(repr=False)

    def map(self, use: Callable[[PartEstimate], T]) -> Iterator[T]:
        """use(estimate) of every part, in their order; it is called where the part is, so what it gives is small."""
        return self.driver.map(partial(_used, self.judge, use))

    def parts(self) -> Iterator[PartEstimate]:
        """The estimates themselves, one part at a time."""
        return self.driver.map(self.judge)


def _used(judge: Callable[[Part], PartEstimate], use: Callable[[PartEstimate], T], part: Part) -> T:
    return use(judge(part))


def fit_parts(
    method: Aggregator,
    source: Source[Annotations],
    hire: Hire = InProcess,
    *,
    prior: Any = None,
    callback: Callback | None = None,
    seen: Surveyed | None = None,
) -> PartsFit:
    """Fit a method to the parts of a source; the source knows the gold, `prior` is that of `fit`.

    `seen` is a survey of the parts that somebody has made already.
    """
    if not isinstance(method, SpreadAggregator):
        raise ParameterError(
            f"{method.name} needs all votes at once, so it cannot work in parts; adaptive and hierarchical can"
        )
    seen = survey(source, hire) if seen is None else seen
    some = source.part(0)
    if not len(seen):
        raise DataError("there are no annotations to aggregate: every row was dropped or the input is empty")
    check_tables(method.name, seen)
    check_needs(method.name, seen.over(some), False, seen.told, prior is not None)
    history = as_prior(prior, some)
    speaking = seen.speaking(history, all_workers=method.worker_extra is None)
    heard = speaking.source(source, seen)
    data = Spread.over(heard, hire, single_label=seen.longest <= 1, told=seen.told)
    if history is not None and speaking.workers is not None:
        history = history[speaking.workers]
    learnt = method.learn(data, Run(callback=callback, prior=history))
    method.warn_unless_settled(learnt.converged, learnt.n_iter)
    found: dict[str, Any] = {name: getattr(learnt, name) for name in ("confusion", "counts", "extra")}
    if speaking.workers is not None:
        silent = Heard(np.empty(0, dtype=bool), speaking.workers, seen.weight[speaking.workers])
        found = silent.workers_in(**found, each=method.each_worker())
    compiled, seed = data.ready.compiled, method.seed
    wrong = expected_wrong(learnt.extra)
    skill = partial(skills, data, learnt.judge, learnt.views, speaking.workers, wrong)  # a pass, when it is asked for
    judge = _Estimating(learnt.judge, compiled, speaking, seen.first, learnt.class_prior, method.silent(), seed)
    return PartsFit(
        method=method.name,
        params=method.params(),
        workers=some.workers,
        classes=some.classes,
        class_prior=learnt.class_prior,
        picture=ClassWorkers(LazySkill(skill), found["confusion"], found["counts"]),
        labels_per_worker=seen.labels_per_worker,
        n_tasks=source.sizes.n_tasks,
        n_rows=source.sizes.rows,
        told=seen.told,
        driver=hire(source, _as_it_is),
        judge=judge,
        **learnt.course() | {"extra": found["extra"]},
    )
