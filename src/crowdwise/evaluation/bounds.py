"""Required bounds of a figure: whether its confidence interval lies above or below a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.errors import ParameterError


@dataclass(frozen=True)
class Bound:
    """A limit and the end of the confidence interval that is compared with it.

    Attributes:
        metric: Short form of the figure.
        display_name: The figure in words.
        limit: The limit.
        is_lower: Whether the figure must be at least the limit; otherwise at most.
        end: The lower end of the interval for a lower bound, else the upper end.
        level: Level of the interval.
    """

    metric: str
    display_name: str
    limit: float
    is_lower: bool
    end: float
    level: float = 0.95

    @property
    def holds(self) -> bool:
        """Whether the whole interval is on the required side of the limit, which belongs to it."""
        return self.end >= self.limit if self.is_lower else self.end <= self.limit

    def sentence(self) -> str:
        """Return the outcome as a sentence."""
        side, end = ("at least", "lower") if self.is_lower else ("at most", "upper")
        verb = "holds" if self.holds else "does not hold"
        return (
            f"{verb}: {self.display_name} {side} {self.limit:g}; the {end} end of its {100 * self.level:g} % interval "
            f"is {self.end:.4g}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        name = "at_least" if self.is_lower else "at_most"
        return {"metric": self.metric, name: self.limit, "end": self.end, "level": self.level, "holds": self.holds}


def bounds_of(
    metric: str,
    display_name: str,
    interval: tuple[float | None, float | None] | None,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    level: float = 0.95,
) -> list[Bound]:
    """Return the bounds that a figure must keep.

    Args:
        metric: Short form of the figure.
        display_name: The figure in words.
        interval: Its confidence interval; None, or an end that is None, if there is none.
        at_least: The lower end of the interval must not be below this.
        at_most: The upper end of the interval must not be above this.
        level: Level of the interval.

    >>> [bound.holds for bound in bounds_of("accuracy", "accuracy", (0.82, 0.91), at_least=0.8, at_most=0.9)]
    [True, False]
    """
    out = []
    for limit, is_lower in ((at_least, True), (at_most, False)):
        if limit is None:
            continue
        end = None if interval is None else interval[0 if is_lower else 1]
        if end is None or end != end:
            raise ParameterError(
                f"{display_name} has no interval here, and a bound is compared with an end of the interval"
            )
        out.append(Bound(metric, display_name, limit, is_lower, float(end), level))
    return out
