"""Rules for `typing.Annotated`: what a parameter's value must keep to beyond its type. Each can say so in words.

Plain classes and no dataclasses: these are made at every start, and a dataclass takes half a millisecond to make.
"""

from __future__ import annotations

from typing import Any


class Rule:
    """`words` follows the name of the type: a whole number of "at least 1"."""

    words: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.words!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.words))

    def holds(self, value: Any) -> bool:
        """Whether the value, which is of the right type, is allowed."""
        raise NotImplementedError


class AtLeast(Rule):
    """value >= low.

    >>> AtLeast(1).words, AtLeast(1).holds(0)
    ('at least 1', False)
    """

    def __init__(self, low: float) -> None:
        self.low, self.words = low, f"at least {low:g}"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return bool(value >= self.low)


class Above(Rule):
    """value > low."""

    def __init__(self, low: float) -> None:
        self.low, self.words = low, f"above {low:g}"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return bool(value > self.low)


class AtMost(Rule):
    """value <= high."""

    def __init__(self, high: float) -> None:
        self.high, self.words = high, f"at most {high:g}"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return bool(value <= self.high)


class Below(Rule):
    """value < high."""

    def __init__(self, high: float) -> None:
        self.high, self.words = high, f"below {high:g}"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return bool(value < self.high)


class Between(Rule):
    """low <= value <= high."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high, self.words = low, high, f"between {low:g} and {high:g}"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return bool(self.low <= value <= self.high)


class Proportions(Rule):
    """A list of positive numbers that sum to one, `within` what is lost in writing them down."""

    words = "of positive numbers that sum to 1"

    def __init__(self, within: float = 1e-6) -> None:
        self.within = within

    def holds(self, value: Any) -> bool:
        """Whether they do."""
        given = [float(each) for each in value]
        return all(each > 0 for each in given) and abs(sum(given) - 1) <= self.within


class Ends(Rule):
    """A pair (low, high) in this order."""

    words = "from low to high"

    def holds(self, value: Any) -> bool:
        """Whether they are in order."""
        low, high = value
        return bool(low <= high)


class Note:
    """No rule but words, with an article, for what a type says too little of: "the name of a method"."""

    def __init__(self, text: str) -> None:
        self.text = text
