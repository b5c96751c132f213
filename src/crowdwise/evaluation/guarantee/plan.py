"""plan: how many gold labels a promise takes, before any is drawn, and which way to the labels costs least."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.errors import ParameterError
from ...core.votes import Votes
from .sequential import best_split, for_half_width, for_power, no_error_seen, worth_paying
from .verdicts import verdicts

# What the true error among accepted tasks may be, as a share of the one that is promised.
GUESSES = ("none seen", 0.25, 0.5, 0.75)
POWER = 0.8


@dataclass(frozen=True)
class Step:
    """If the true error is `error`, so much gold in the accepted region passes in four of five cases.

    `share` of the tasks seem to have so small an error by their own confidence; `draw` is the gold to draw from all.
    """

    guess: str
    error: float
    needed: int
    share: float | None
    draw: int | None


@dataclass(frozen=True)
class Plan:
    """The steps for `accept`, the gold for an interval of `estimate`, and prices of ways to label everything."""

    error: float
    risk: float
    n_tasks: int
    steps: list[Step]
    half_widths: list[dict[str, float]]
    ways: list[dict[str, Any]] = field(default_factory=list)
    spending: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "steps": [vars(step) for step in self.steps]}


def plan(
    given: Any,
    *,
    error: float = 0.05,
    risk: float = 0.1,
    prices: dict[str, float] | None = None,
    share: float = 0.5,
    r2: float | None = None,
    votes: Votes[Any] | None = None,
) -> Plan:
    """Gold needed for `accept` at this error and risk, and for an interval of a `share` of plus and minus .02 to .1.

    The share of tasks accepted is guessed from the verdicts' own confidence, which is often too high: plan for more.
    With `prices` {"judge": .5, "person": 20} and R² it says how many gold labels per judged task narrow an interval
    most for the money.

    >>> import crowdwise as cw
    >>> votes = cw.simulate.scenario("one_coin", tasks=300, workers=6, seed=2).annotations
    >>> [step.needed for step in cw.plan(cw.DawidSkene().fit(votes), error=0.1).steps]
    [22, 52, 128, 588]
    """
    for name, value in (("error", error), ("risk", risk)):
        if not 0 < value < 1:
            raise ParameterError(f"{name} must be between 0 and 1, got {value}")
    found = verdicts(given, votes)
    if found.value is not None:
        raise ParameterError("numbers are not right or wrong; plan is for classes")
    claimed = np.sort(1 - found.confidence[found.said])
    mean = np.cumsum(claimed) / np.arange(1, len(claimed) + 1) if len(claimed) else claimed
    steps = []
    for guess in GUESSES:
        true = 0.0 if isinstance(guess, str) else guess * error
        needed = no_error_seen(error, risk) if isinstance(guess, str) else for_power(error, risk, true, POWER)
        sure = int(np.searchsorted(mean, max(true, 0.25 * error), side="right")) / max(len(found), 1)
        draw = int(np.ceil(needed / sure)) if sure > 0 else None
        name = "no error seen" if isinstance(guess, str) else f"true error {100 * true:.3g} %"
        steps.append(Step(name, true, needed, sure or None, draw if draw is not None and draw <= len(found) else None))
    known = r2 if r2 is not None else 0.5
    widths = [
        {"half_width": half, **{f"r2_{r:g}": for_half_width(half, share, r) for r in sorted({0.0, known, 0.75, 0.9})}}
        for half in (0.02, 0.03, 0.05, 0.1)
    ]
    spending = {}
    if prices is not None:
        spending = _spending(prices, known)
    return Plan(error, risk, len(found), steps, widths, [], spending)


def _spending(prices: dict[str, float], r2: float) -> dict[str, float]:
    for name in ("judge", "person"):
        if not prices.get(name, 0) > 0:
            raise ParameterError(
                f"prices must say what a verdict and a person's label cost: judge=.5,person=20; {name} is missing"
            )
    judge, person = prices["judge"], prices["person"]
    return {
        "judge": judge, "person": person, "r2": r2, "gold_per_verdict": best_split(r2, judge, person),
        "worth_paying_below": worth_paying(r2) * person, "worth_it": float(judge < worth_paying(r2) * person),
    }  # fmt: skip
