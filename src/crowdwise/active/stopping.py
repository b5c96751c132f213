"""Stopping rules for tasks and for the project, each with its reason in words."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Annotated

from ..core.params import AtLeast, Count, Positive, PositiveShare, Share, check

# Reasons for which a task gets no more answers; "" while it is open.
OPEN, SURE, CAP, WORTH, NOBODY, GOLD = "", "sure", "cap", "not worth it", "nobody left to ask", "gold"
EXCLUDED = "excluded"
REASONS = (OPEN, SURE, CAP, WORTH, NOBODY, GOLD, EXCLUDED)
REASON_TEXTS = {
    OPEN: "open",
    SURE: "sure enough",
    CAP: "has the maximum number of answers",
    WORTH: "another answer is not worth its cost",
    NOBODY: "all available workers have answered",
    GOLD: "its answer was known",
    EXCLUDED: "excluded by the lead",
}
# Half the width of a 90 % interval in standard deviations.
WIDE = 1.645
# Shares are clipped this far from 0 and 1 before taking log odds.
NEAR = 1e-4


@dataclass(frozen=True)
class Stopping:
    """Stopping rules.

    Attributes:
        target: Probability of the best class at which a task stops.
        cap: Maximum number of answers per task.
        value: Value of a nat in units of cost; a task stops if the best worker would bring less than the cost.
        fewest: Minimum number of answers before a task stops at `target`.
        budget: Maximum cost of the project.
        accuracy: The project stops if the low end of the 90 % interval of the expected accuracy reaches this.
        flips: The project stops if at most this share of the last `window` answers changed a label.
        window: Number of answers for `flips`.
    """

    target: PositiveShare = 0.95
    cap: Count | None = None
    value: Positive | None = None
    fewest: Count = 1
    budget: Annotated[float, AtLeast(0)] | None = None
    accuracy: PositiveShare | None = None
    flips: Share | None = None
    window: Count = 200

    def __post_init__(self) -> None:
        check(self)

    def of_task(self, sure: float, n: int, worth: float | None = None, *, target: float | None = None) -> str:
        """Return why a task with n answers stops here; "" if it does not. `worth` is the best information per cost."""
        if n >= self.fewest and sure >= (self.target if target is None else target):
            return SURE
        if self.cap is not None and n >= self.cap:
            return CAP
        if self.value is not None and worth is not None and worth * self.value < 1:
            return WORTH
        return OPEN


@dataclass
class Progress:
    """Sums over all tasks, updated in constant time; `doubt` is the trust of the last batch fit in the labels."""

    n_tasks: int = 0
    right: float = 0.0
    spread: float = 0.0
    doubt: Doubt | None = None

    def change(self, before: float | None, after: float) -> None:
        """Update a task's probability of being right (before None: the task is new)."""
        if before is None:
            self.n_tasks += 1
        else:
            self.right -= before
            self.spread -= before * (1 - before)
        self.right += after
        self.spread += after * (1 - after)

    @property
    def accuracy(self) -> tuple[float, float, float]:
        """Expected share of right labels as (mean, low, high) with a 90 % interval.

        It agrees with the statement of the last batch fit; without one the model's own probabilities are used.
        """
        if not self.n_tasks:
            return float("nan"), 0.0, 1.0
        mean = self.right / self.n_tasks
        if self.doubt is not None:
            mean = moved(mean, self.doubt.shift)
        half = WIDE * math.sqrt(max(self.spread, 0.0)) / self.n_tasks
        low, high = max(mean - half, 0.0), min(mean + half, 1.0)
        if self.doubt is not None:
            low, high = min(low, moved(mean, -self.doubt.below)), max(high, moved(mean, self.doubt.above))
        return mean, low, high


@dataclass(frozen=True)
class StatedAccuracy:
    """Share of right labels stated by a batch fit with a 90 % interval; `measured` on checked tasks or expected."""

    mean: float
    low: float
    high: float
    measured: bool = False


@dataclass(frozen=True)
class Doubt:
    """Difference between the model's expected accuracy and that stated by a batch fit, in log odds.

    The mean moves by `shift`, the interval extends `below` and `above` it.
    """

    shift: float
    below: float
    above: float

    @classmethod
    def of(cls, expected: float, stated: StatedAccuracy) -> Doubt:
        """Return the difference for a model that expects a share `expected` to be right on the tasks of the fit."""
        mean = _odds(stated.mean)
        return cls(mean - _odds(expected), max(mean - _odds(stated.low), 0.0), max(_odds(stated.high) - mean, 0.0))


def moved(share: float, by: float) -> float:
    """Return a share moved by this many log odds."""
    return 1 / (1 + math.exp(-(_odds(share) + by)))


def _odds(share: float) -> float:
    clipped = min(max(share, NEAR), 1 - NEAR)
    return math.log(clipped / (1 - clipped))


class Flips:
    """How many of the last answers changed a label."""

    def __init__(self, window: int) -> None:
        self.last: deque[bool] = deque(maxlen=window)
        self.n = 0

    def add(self, flipped: bool) -> None:
        """Add an answer."""
        if len(self.last) == self.last.maxlen:
            self.n -= self.last[0]
        self.last.append(flipped)
        self.n += flipped

    def settled(self, most: float) -> bool:
        """Whether the window is full and at most this share of its answers changed a label."""
        return len(self.last) == self.last.maxlen and self.n <= most * len(self.last)


def of_project(stop: Stopping, spent: float, next_cost: float, n_open: int, progress: Progress, flips: Flips) -> str:
    """Return why the project stops; "" while it goes on."""
    if stop.budget is not None and spent + next_cost > stop.budget + 1e-9:
        return f"the budget of {stop.budget:g} is spent"
    mean, low, high = (0.0, 0.0, 0.0) if stop.accuracy is None else progress.accuracy
    if stop.accuracy is not None and low >= stop.accuracy:
        text = f"{mean:.1%} of the labels are expected to be right ({low:.1%} to {high:.1%})"
        return f"{text}; the target is {stop.accuracy:.0%}"
    if stop.flips is not None and flips.settled(stop.flips):
        return f"of the last {len(flips.last)} answers {flips.n} changed a label"
    if not n_open:
        return "no task is open"
    return ""
