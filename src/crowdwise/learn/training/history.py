"""History: what training did, epoch by epoch, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl


@dataclass
class History:
    """One row an epoch: epoch, loss, each term by name, and `score` where a criterion was watched."""

    rows: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int | None = None
    stopped_early: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> list[float]:
        return [row.get(name, float("nan")) for row in self.rows]

    def to_table(self) -> pl.DataFrame:
        """The rows as a table."""
        table = pl.DataFrame(self.rows, infer_schema_length=None)
        return table.with_columns(pl.col("epoch").cast(pl.Int64)) if self.rows else table

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"rows": self.rows, "best_epoch": self.best_epoch, "stopped_early": self.stopped_early}

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> History:
        """From `to_dict`."""
        return cls(list(found["rows"]), found["best_epoch"], bool(found["stopped_early"]))
