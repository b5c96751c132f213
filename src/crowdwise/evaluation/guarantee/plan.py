"""`plan`: how many gold labels a guarantee or an interval needs, before any is drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.errors import ParameterError
from ...core.votes import Votes
from .sequential import best_split, for_half_width, for_power, no_error_seen, worth_paying
from .verdicts import as_verdicts

# Assumed true error among accepted tasks, as a share of the guaranteed bound.
GUESSES = ("none seen", 0.25, 0.5, 0.75)
POWER = 0.8


@dataclass(frozen=True)
class GoldRequirement:
    """Gold needed in the accepted region if the true error is `error`, to pass in four of five cases.

    `share` of the tasks have so small an error by their own confidence; `draw` is the gold to draw from all tasks.
    """

    guess: str
    error: float
    needed: int
    share: float | None
    draw: int | None


@dataclass(frozen=True)
class GoldPlan:
    """Gold required for `accept`, for intervals of `estimate`, and the best spending."""

    error: float
    risk: float
    n_tasks: int
    steps: list[GoldRequirement]
    half_widths: list[dict[str, float]]
    ways: list[dict[str, Any]] = field(default_factory=list)
    spending: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
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
) -> GoldPlan:
    """Plan the gold for `accept` at this error and risk, and for intervals of ±.02 to ±.1.

    The share of accepted tasks is guessed from the verdicts' own confidence, which is often too high: plan for more.

    Args:
        given: A result, or votes.
        error: Highest share of wrong labels.
        risk: Probability with which the guarantee may fail.
        prices: {"judge": .5, "person": 20}: adds how many gold labels per verdict narrow an interval most for the
            money.
        share: Share that is to be estimated.
        r2: Share of the variance that the verdicts explain; 0.5 by default.
        votes: The votes behind a result.

    Returns:
        The plan.

    >>> import crowdwise as cw
    >>> votes = cw.simulate.scenario("one_coin", tasks=300, workers=6, seed=2).annotations
    >>> [step.needed for step in cw.plan(cw.DawidSkene().fit(votes), error=0.1).steps]
    [22, 52, 128, 588]
    """
    for name, value in (("error", error), ("risk", risk)):
        if not 0 < value < 1:
            raise ParameterError(f"{name} must be between 0 and 1, got {value}")
    verdicts = as_verdicts(given, votes)
    if verdicts.value is not None:
        raise ParameterError("numbers are not right or wrong; plan works on classes")
    expected_error = np.sort(1 - verdicts.confidence[verdicts.has_verdict])
    mean = np.cumsum(expected_error) / np.arange(1, len(expected_error) + 1) if len(expected_error) else expected_error
    requirements = []
    for guess in GUESSES:
        true_error = 0.0 if isinstance(guess, str) else guess * error
        needed = no_error_seen(error, risk) if isinstance(guess, str) else for_power(error, risk, true_error, POWER)
        accepted_share = int(np.searchsorted(mean, max(true_error, 0.25 * error), side="right")) / max(len(verdicts), 1)
        draw = int(np.ceil(needed / accepted_share)) if accepted_share > 0 else None
        name = "no error seen" if isinstance(guess, str) else f"true error {100 * true_error:.3g} %"
        requirements.append(
            GoldRequirement(
                name,
                true_error,
                needed,
                accepted_share or None,
                draw if draw is not None and draw <= len(verdicts) else None,
            )
        )
    r2_ = r2 if r2 is not None else 0.5
    widths = [
        {"half_width": half, **{f"r2_{r:g}": for_half_width(half, share, r) for r in sorted({0.0, r2_, 0.75, 0.9})}}
        for half in (0.02, 0.03, 0.05, 0.1)
    ]
    spending = {}
    if prices is not None:
        spending = _spending(prices, r2_)
    return GoldPlan(error, risk, len(verdicts), requirements, widths, [], spending)


def _spending(prices: dict[str, float], r2: float) -> dict[str, float]:
    for name in ("judge", "person"):
        if not prices.get(name, 0) > 0:
            raise ParameterError(
                f"prices must hold the cost of a verdict and of a person's label: judge=.5,person=20; {name} is missing"
            )
    judge, person = prices["judge"], prices["person"]
    return {
        "judge": judge, "person": person, "r2": r2, "gold_per_verdict": best_split(r2, judge, person),
        "worth_paying_below": worth_paying(r2) * person, "worth_it": float(judge < worth_paying(r2) * person),
    }  # fmt: skip
