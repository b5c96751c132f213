"""The blind fit: the same method without the gold, so that the gold can judge it."""

from __future__ import annotations

from typing import Any

from ..aggregate import registry
from ..aggregate.fitting import fit, measurable
from ..core.result import Result
from ..core.votes import Votes


def blind_fit(method: Any, votes: Any, gold: Any, *, sampling: Any = None, **how: Any) -> tuple[Result, Result | None]:
    """The fit with gold, calibrated on it (`cw.fit`), and the one without it: None where there is no gold, or where the
    method cannot do without."""
    result = fit(votes, method, gold, sampling=sampling, **how)
    if gold is None or not measurable(method.name):
        return result, None
    return result, method.fit(votes, **how)


def blind_to(result: Result, votes: Votes[Any], given: bool) -> Result | None:
    """What gold may judge of a result that was fitted before: the result itself, or where its fit was `given` the gold,
    a fit of the same method without it; None where the method cannot do without."""
    if not given:
        return result
    if not measurable(result.method):
        return None
    again: Result = registry.method(result.method, **result.params).fit(votes)
    return again
