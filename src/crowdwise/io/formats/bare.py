"""What exports of spans tell besides the spans: answers that mark nothing, and the texts."""

from __future__ import annotations

from typing import Any

import polars as pl

from ...core import kind as kinds

NAN = float("nan")


class Bare:
    """Answers that name nothing, until it is known what kind the others are of; and texts by task.

    Where answers are lists of marks, nothing is to be marked; elsewhere it is no answer.
    """

    def __init__(self) -> None:
        self.answers: list[tuple[str | None, str | None, float, float]] = []
        self.texts: dict[str, str] = {}

    def add(self, task: str | None, worker: str | None, time: float = NAN, duration: float = NAN) -> None:
        """An answer that names nothing."""
        self.answers.append((task, worker, time, duration))

    def settle(self, rows: Any, told: str | None, reason: str) -> None:
        """Add these answers to the rows as their kind has it, or drop them for this reason."""
        blank = None if told is None else kinds.get(told).blank
        for task, worker, time, duration in self.answers:
            if blank is None:
                rows.drop(reason)
            else:
                rows.add(task, worker, [blank], time=time, duration=duration, kind=told)
        self.answers = []

    def about(self) -> pl.DataFrame | None:
        """The texts as a table about tasks."""
        return pl.DataFrame({"task": list(self.texts), "text": list(self.texts.values())}) if self.texts else None
