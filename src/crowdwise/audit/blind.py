"""The blind fit: the same method without the gold, so that the gold can judge it."""

from __future__ import annotations

from typing import Any

from ..aggregate import registry
from ..core.result import Result


def blind_fit(method: Any, votes: Any, gold: Any, **how: Any) -> tuple[Result, Result | None]:
    """The fit with gold, and the one without it; None where there is no gold, or the method cannot do without."""
    result = method.fit(votes, gold=gold, **how)
    if gold is None or "gold" in registry.card(method.name).needs:
        return result, None
    return result, method.fit(votes, **how)
