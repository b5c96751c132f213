"""What a method has learnt: of the workers as arrays, of the tasks as a function that judges a part at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..core.result import Course
from ..engine.em import EMModel, posterior_under
from ..kinds.classes.annotations import Annotations
from ..maths.em import plus
from ..maths.kernels import Workspace
from .spread import Change, Spread

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
