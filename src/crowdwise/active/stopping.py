"""When is it enough? Of a task, and of the whole project. Every stop has its reason in words."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Annotated

from ..core.params import AtLeast, Count, Positive, PositiveShare, Share, check

# Reasons why a task gets no more answers; "" while it is open.
OPEN, SURE, CAP, WORTH, NOBODY, GOLD = "", "sure", "cap", "not worth it", "nobody left to ask", "gold"
REASONS = (OPEN, SURE, CAP, WORTH, NOBODY, GOLD)
IN_WORDS = {
    OPEN: "open",
    SURE: "sure enough",
    CAP: "has had the most answers a task may have",
    WORTH: "another answer would tell less than it costs",
    NOBODY: "everybody who may be asked has answered",
    GOLD: "its answer was known",
}
# Half the width of a 90 % interval in standard deviations.
WIDE = 1.645
# Shares are kept so far from 0 and 1 before their log odds are taken.
NEAR = 1e-4


@dataclass(frozen=True)
class Stopping:
    """Of a task: `target` (its best class is so probable), `cap` (answers at most), `value` (what a nat is worth, in
    units of cost: a task whose best worker would tell less than they cost is left alone), `fewest` answers before it
    may be sure. Of the project: `budget` (cost at most), `accuracy` (the low end of the expected accuracy's 90 %
    interval), `flips` (share of the last `window` answers that changed a label, at most).
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
        """Why a task with n answers stops here; "" where it does not. `worth` is the best information per cost."""
        if n >= self.fewest and sure >= (self.target if target is None else target):
            return SURE
        if self.cap is not None and n >= self.cap:
            return CAP
        if self.value is not None and worth is not None and worth * self.value < 1:
            return WORTH
        return OPEN


@dataclass
class Progress:
    """Sums over all tasks that say where a project stands; kept up to date in constant time. `doubt`: how far
    the last whole fit trusts the labels."""

    n_tasks: int = 0
    right: float = 0.0
    spread: float = 0.0
    doubt: Doubt | None = None

    def change(self, before: float | None, after: float) -> None:
        """A task's probability of being right changes (before None: the task is new)."""
        if before is None:
            self.n_tasks += 1
        else:
            self.right -= before
            self.spread -= before * (1 - before)
        self.right += after
        self.spread += after * (1 - after)

    @property
    def accuracy(self) -> tuple[float, float, float]:
        """(mean, low, high): expected share of right labels with a 90 % interval. It agrees with what the last whole
        fit states; without one, the model is taken at its word."""
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
class Stated:
    """What a whole fit states of the share of right labels: its mean with a 90 % interval, and whether that was
    `measured` on checked tasks or is a belief."""

    mean: float
    low: float
    high: float
    measured: bool = False


@dataclass(frozen=True)
class Doubt:
    """From the model's expected accuracy to what a whole fit states, in log odds: the mean moves by `shift`, the
    interval reaches `below` and `above` it."""

    shift: float
    below: float
    above: float

    @classmethod
    def of(cls, own: float, stated: Stated) -> Doubt:
        """Of a model that expects a share `own` to be right on the tasks of the fit."""
        mean = _odds(stated.mean)
        return cls(mean - _odds(own), max(mean - _odds(stated.low), 0.0), max(_odds(stated.high) - mean, 0.0))


def moved(share: float, by: float) -> float:
    """A share moved by so many log odds."""
    return 1 / (1 + math.exp(-(_odds(share) + by)))


def _odds(share: float) -> float:
    kept = min(max(share, NEAR), 1 - NEAR)
    return math.log(kept / (1 - kept))


class Flips:
    """How many of the last answers changed a label."""

    def __init__(self, window: int) -> None:
        self.last: deque[bool] = deque(maxlen=window)
        self.n = 0

    def add(self, flipped: bool) -> None:
        """One answer more."""
        if len(self.last) == self.last.maxlen:
            self.n -= self.last[0]
        self.last.append(flipped)
        self.n += flipped

    def settled(self, most: float) -> bool:
        """Whether the window is full and at most this share of it changed a label."""
        return len(self.last) == self.last.maxlen and self.n <= most * len(self.last)


def of_project(stop: Stopping, spent: float, next_cost: float, n_open: int, progress: Progress, flips: Flips) -> str:
    """Why the whole project stops; "" where it goes on."""
    if stop.budget is not None and spent + next_cost > stop.budget + 1e-9:
        return f"the budget of {stop.budget:g} is spent"
    mean, low, high = (0.0, 0.0, 0.0) if stop.accuracy is None else progress.accuracy
    if stop.accuracy is not None and low >= stop.accuracy:
        found = f"{mean:.1%} of the labels are expected to be right ({low:.1%} to {high:.1%})"
        return f"{found}; the target is {stop.accuracy:.0%}"
    if stop.flips is not None and flips.settled(stop.flips):
        return f"of the last {len(flips.last)} answers {flips.n} changed a label"
    if not n_open:
        return "no task is open"
    return ""
