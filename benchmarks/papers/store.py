"""Results that survive an interruption: every finished cell is a line in the cache; Parquet beside the page."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from .. import DOCS, ROOT
from .experiment import Cell, Experiment, Row, Scale

PAGES = DOCS / "papers"
CACHE = ROOT / ".cache" / "papers"


def key(cell: Cell) -> str:
    """A cell's identity."""
    return json.dumps(cell, sort_keys=True)


class Store:
    """The finished cells of one experiment at one scale."""

    def __init__(self, experiment: Experiment, scale: Scale, folder: Path = CACHE) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{experiment.name}-{scale}.jsonl"
        self.rows: dict[str, Row] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                found = json.loads(line)
                self.rows[key(found["cell"])] = found

    def __contains__(self, cell: Cell) -> bool:
        return key(cell) in self.rows

    def add(self, cell: Cell, figures: dict[str, float], seconds: float) -> None:
        """Write one finished cell."""
        row = {"cell": cell, "figures": figures, "seconds": seconds}
        self.rows[key(cell)] = row
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def table(self, cells: list[Cell]) -> pl.DataFrame:
        """The finished ones of these cells, one row each."""
        found = [self.rows[key(c)] for c in cells if c in self]
        flat = [{**r["cell"], **r["figures"], "seconds": r["seconds"]} for r in found]
        return pl.DataFrame(flat, infer_schema_length=None)
