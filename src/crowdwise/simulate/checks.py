"""Checks at the door of the simulator: every message names the parameter, its value and what is allowed."""

from __future__ import annotations

import numpy as np

from ..core.errors import ParameterError


def whole(name: str, value: int, *, low: int = 0, high: int | None = None) -> None:
    """Raise unless the value is a whole number from low to high."""
    ok = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if ok and value >= low and (high is None or value <= high):
        return
    bounds = f"at least {low}" if high is None else f"from {low} to {high}"
    raise ParameterError(f"{name} must be a whole number, {bounds}, got {value!r}")


def number(name: str, value: float, *, low: float = 0.0, high: float = 1.0) -> None:
    """Raise unless low <= value <= high (without an upper end: high=inf)."""
    ok = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if ok and low <= value <= high:
        return
    bounds = f"at least {low:g}" if high == np.inf else f"between {low:g} and {high:g}"
    raise ParameterError(f"{name} must be {bounds}, got {value!r}")


def positive(name: str, value: float) -> None:
    """Raise unless the value is a finite number above zero."""
    ok = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not (ok and 0 < value < np.inf):
        raise ParameterError(f"{name} must be above 0, got {value!r}")


def interval(name: str, value: tuple[float, float]) -> None:
    """Raise unless the value is a range (low, high) of probabilities."""
    try:
        low, high = value
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} must be a pair (low, high), got {value!r}") from error
    number(f"the low end of {name}", low)
    number(f"the high end of {name}", high)
    if low > high:
        raise ParameterError(f"{name} must go from low to high, got {value!r}")
