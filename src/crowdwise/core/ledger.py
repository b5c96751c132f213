"""The ledger: how many rows were read, used and dropped, and why.

rows_in = rows_used + sum(dropped.values()), always; the constructor checks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

BLANK = "blank row"
NULL_TASK = "no task"
NULL_WORKER = "no worker"
NULL_LABEL = "no label"
EXACT_REPEAT = "exact repeat of task, worker and label"
CONTRADICTION = "contradicted by another row of the same task and worker"


@dataclass(frozen=True)
class Ledger:
    """Accounts for every row.

    Args:
        rows_in: Rows that were read.
        rows_used: Rows that became votes.
        dropped: Number of dropped rows per reason.
        notes: Notes for the user.
        question: Which question of an export was read.

    >>> Ledger(rows_in=5, rows_used=4, dropped={"no label": 1}).rows_dropped
    1
    """

    rows_in: int
    rows_used: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    question: str | None = None

    def __post_init__(self) -> None:
        dropped = {reason: int(n) for reason, n in self.dropped.items() if n}
        object.__setattr__(self, "dropped", MappingProxyType(dropped))
        if self.rows_in != self.rows_used + self.rows_dropped:
            raise AssertionError(f"ledger out of balance: {self.rows_in} in, {self.rows_used} used, {dropped} dropped")

    def __reduce__(self) -> tuple[Any, ...]:
        """Support copying and pickling, which a mapping proxy does not."""
        return Ledger, (self.rows_in, self.rows_used, dict(self.dropped), self.notes, self.question)

    @property
    def rows_dropped(self) -> int:
        """Total number of dropped rows."""
        return sum(self.dropped.values())

    def __add__(self, other: Ledger) -> Ledger:
        reasons = dict.fromkeys([*self.dropped, *other.dropped])
        return Ledger(
            rows_in=self.rows_in + other.rows_in,
            rows_used=self.rows_used + other.rows_used,
            dropped={r: self.dropped.get(r, 0) + other.dropped.get(r, 0) for r in reasons},
            notes=tuple(dict.fromkeys(self.notes + other.notes)),
            question=self.question if self.question == other.question else None,
        )

    def then(self, later: Ledger) -> Ledger:
        """Return the ledger of both steps, where `later` read the rows that were used here."""
        reasons = dict.fromkeys([*self.dropped, *later.dropped])
        return Ledger(
            rows_in=self.rows_in + later.rows_in - self.rows_used,
            rows_used=later.rows_used,
            dropped={r: self.dropped.get(r, 0) + later.dropped.get(r, 0) for r in reasons},
            notes=self.notes,
            question=self.question,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as written to ledger.json."""
        return {
            "rows_in": self.rows_in,
            "rows_used": self.rows_used,
            "rows_dropped": self.rows_dropped,
            "dropped": dict(self.dropped),
            "notes": list(self.notes),
            **({} if self.question is None else {"question": self.question}),
        }
