"""Empty answers of exports, whose meaning depends on the kind of the others, and the texts of tasks."""

from __future__ import annotations

from typing import Any

import polars as pl

from ...core import kind as kinds

NAN = float("nan")


class EmptyAnswers:
    """Collects empty answers until the kind of the others is known, and the texts of tasks.

    Among lists of marks an empty answer means that nothing is to be marked; elsewhere it is a missing answer.
    """

    def __init__(self) -> None:
        self.answers: list[tuple[str | None, str | None, float, float]] = []
        self.texts: dict[str, str] = {}

    def add(self, task: str | None, worker: str | None, time: float = NAN, duration: float = NAN) -> None:
        """Add an empty answer."""
        self.answers.append((task, worker, time, duration))

    def resolve(self, rows: Any, kind: str | None, reason: str) -> None:
        """Add the empty answers to the rows in the form of their kind, or drop them for this reason."""
        blank = None if kind is None else kinds.get(kind).blank
        for task, worker, time, duration in self.answers:
            if blank is None:
                rows.drop(reason)
            else:
                rows.add(task, worker, [blank], time=time, duration=duration, kind=kind)
        self.answers = []

    def about(self) -> pl.DataFrame | None:
        """Return the texts as a table about tasks."""
        return pl.DataFrame({"task": list(self.texts), "text": list(self.texts.values())}) if self.texts else None
