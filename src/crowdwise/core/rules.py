"""Rules for `typing.Annotated`: what a parameter's value must keep to beyond its type. Each can say so in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Rule(Protocol):
    """`words` follows the name of the type: a whole number of "at least 1"."""

    @property
    def words(self) -> str:
        """What is allowed."""

    def holds(self, value: Any) -> bool:
        """Whether the value, which is of the right type, is allowed."""


@dataclass(frozen=True)
class AtLeast:
    """value >= low.

    >>> AtLeast(1).words, AtLeast(1).holds(0)
    ('at least 1', False)
    """

    low: float

    @property
    def words(self) -> str:
        """For people."""
        return f"at least {self.low:g}"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return bool(value >= self.low)


@dataclass(frozen=True)
class Above:
    """value > low."""

    low: float

    @property
    def words(self) -> str:
        """For people."""
        return f"above {self.low:g}"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return bool(value > self.low)


@dataclass(frozen=True)
class AtMost:
    """value <= high."""

    high: float

    @property
    def words(self) -> str:
        """For people."""
        return f"at most {self.high:g}"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return bool(value <= self.high)


@dataclass(frozen=True)
class Below:
    """value < high."""

    high: float

    @property
    def words(self) -> str:
        """For people."""
        return f"below {self.high:g}"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return bool(value < self.high)


@dataclass(frozen=True)
class Between:
    """low <= value <= high."""

    low: float
    high: float

    @property
    def words(self) -> str:
        """For people."""
        return f"between {self.low:g} and {self.high:g}"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return bool(self.low <= value <= self.high)


@dataclass(frozen=True)
class Proportions:
    """A list of positive numbers that sum to one, `within` what is lost in writing them down."""

    within: float = 1e-6

    @property
    def words(self) -> str:
        """For people."""
        return "of positive numbers that sum to 1"

    def holds(self, value: Any) -> bool:
        """Whether they do."""
        given = [float(each) for each in value]
        return all(each > 0 for each in given) and abs(sum(given) - 1) <= self.within


@dataclass(frozen=True)
class Ends:
    """A pair (low, high) in this order."""

    @property
    def words(self) -> str:
        """For people."""
        return "from low to high"

    def holds(self, value: Any) -> bool:
        """Whether they are in order."""
        low, high = value
        return bool(low <= high)


@dataclass(frozen=True)
class Note:
    """No rule but words, with an article, for what a type says too little of: "the name of a method"."""

    text: str
