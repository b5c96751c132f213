"""Studied: what a study of the workers gives, whatever kind of answers they gave."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import polars as pl

from ..core.result import Result
from ..core.votes import Votes
from ..scoring.scored import Table
from .agreement import agreement_table
from .coefficient import Coefficient
from .flags import NAMES, Flag, false_alarms_in_words, flag_table
from .wording import between, number, some_of, strength

# What a study says: tables, and sentences between them.
Block = Table | str


@dataclass(frozen=True, eq=False)
class Studied(ABC):
    """`quality` is a table with a row a worker (or a worker and part of the answers), `agreement` the crowd's
    coefficients, `flags` what to know about single workers, the most serious first.

    A kind writes `worker_tables` and, where it has more to tell, extends `files`, `to_dict` and `more`. `meanings` are
    its flags in words.
    """

    meanings: ClassVar[Mapping[str, str]] = NAMES
    votes: Votes[Any] = field(repr=False)
    result: Result = field(repr=False)
    quality: pl.DataFrame
    agreement: list[Coefficient]
    flags: list[Flag]

    @abstractmethod
    def worker_tables(self, ends: int) -> list[Table]:
        """All workers, or so many of the best and of the worst of many."""

    def more(self, shown: int) -> list[Block]:  # noqa: ARG002
        """What else there is to say after the flags."""
        return []

    def closing(self) -> str:
        """How many workers are flagged, and of how many too little is known."""
        told = [flag for flag in self.flags if flag.name != "unknown"]
        unknown = len(self.flags) - len(told)
        n = len({flag.worker for flag in told})
        start = "1 worker is flagged" if n == 1 else f"{n} workers are flagged"
        return start + self.closing_more() + f"; of {unknown} too little is known" * (unknown > 0)

    def closing_more(self) -> str:
        """What is counted besides flags."""
        return ""

    def files(self) -> dict[str, pl.DataFrame]:
        """The tables by the names of their files."""
        return {
            "quality.csv": self.quality,
            "agreement.csv": agreement_table(self.agreement),
            "flags.csv": flag_table(self.flags),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "method": self.result.method,
            "agreement": [c.to_dict() for c in self.agreement],
            "flags": [flag.to_dict() for flag in self.flags],
            "workers": self.quality.to_dicts(),
        }

    def blocks(self, shown: int, ends: int) -> list[Block]:
        """For a terminal: at most `shown` rows of each list, `ends` of the best and of the worst workers."""
        rows = [[c.name, number(c.value), between(c.low, c.high), c.reason or c.note or ""] for c in self.agreement]
        return [
            Table("Agreement", ["", "value", "95 % interval", ""], rows),
            *self.worker_tables(ends),
            *self._flag_blocks(shown),
            *self.more(shown),
            self.closing(),
        ]

    def _flag_blocks(self, shown: int) -> list[Block]:
        flags = [flag for flag in self.flags if flag.name != "unknown"]
        if not flags:
            return []
        rows = [[str(f.worker), f.name, strength(f.probability, f.p_value), f.evidence] for f in flags[:shown]]
        title = f"Flags{some_of(shown, len(flags))}"
        out: list[Block] = [Table(title, ["worker", "flag", "strength", "evidence"], rows)]
        rates = [(name, false_alarms_in_words(name, of)) for name, of in sorted({(f.name, f.of) for f in flags})]
        told = [f"{name} {rate}" for name, rate in rates if rate]
        return out + [f"false alarms, as measured in simulated crowds: {'; '.join(told)}"] * bool(told)
