"""What scores of any kind can do: show themselves as rows and tables, and as plain values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Table:
    """A table for people."""

    title: str
    header: list[str]
    rows: list[list[str]]


class Scored(ABC):
    """Scores over `n` tasks; `n_gold_left_out` were gold in the fit, `truths_without_labels` have nothing to score."""

    n: int
    n_gold_left_out: int
    truths_without_labels: int

    def __dir__(self) -> list[str]:
        """Attributes, and the scores that are attributes through __getattr__."""
        tables = [value for value in vars(self).values() if isinstance(value, dict)]
        tables += [value for table in tables for value in table.values() if isinstance(value, dict)]
        names = {name for table in tables for name in table if isinstance(name, str) and hasattr(self, name)}
        return sorted({*super().__dir__(), *names})

    @abstractmethod
    def rows(self) -> list[list[str]]:
        """Name, value and 95 % interval of every score."""

    @abstractmethod
    def tables(self) -> list[Table]:
        """What else is worth a look, such as a confusion matrix."""

    def headline(self) -> dict[str, float]:
        """The few scores that methods are compared by, the first of which ranks them: more is better."""
        return {}

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
