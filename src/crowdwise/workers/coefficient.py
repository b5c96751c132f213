"""A coefficient of agreement with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Coefficient:
    """One coefficient: value in -1..1 with its 95 % interval, or None and the `reason`; `note` is a caution.

    `n` is the number of tasks (of pairs of workers, for means over pairs) behind it.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    reason: str | None = None
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))
