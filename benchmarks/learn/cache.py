"""Runs that a benchmark has already made, one JSON line each: an interrupted benchmark goes on where it was.

A line counts for ever: after a change of the method or the setting, delete the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .. import ROOT

FOLDER = ROOT / ".cache"


class Runs:
    """The rows of .cache/NAME.jsonl; the fields `key` say which run a row is."""

    def __init__(self, name: str, key: tuple[str, ...], folder: Path = FOLDER) -> None:
        self.path, self.key = folder / f"{name}.jsonl", key
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
        self._known = {self._of(row) for row in self.rows}

    def has(self, *key: Any) -> bool:
        """Whether this run is there."""
        return key in self._known

    def add(self, row: dict[str, Any]) -> None:
        """Keep a run, on disk at once."""
        self.path.parent.mkdir(exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        self.rows.append(row)
        self._known.add(self._of(row))

    def _of(self, row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.key)
