"""Estimated texts with their confidence, and the workers' distances from the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import polars as pl

from ...core.arrays import F8, I8
from ...core.errors import DataError
from ...core.estimate import Axes, Estimate, WorkerSummary


@dataclass(frozen=True, eq=False)
class TextEstimate(Estimate):
    """Estimated texts.

    Args:
        text: Text of each task as a code into `texts`.
        sure: Confidence of each text, 0 to 1: the mean share of the votes for its words, or its closeness to the other
            answers.
        n_words: Number of words of each task in `word_sure`; 0 where there was no vote on words.
        word_sure: Share of the votes for each word, task by task.
        texts: The distinct texts.
    """

    kind: ClassVar[str] = "texts"
    vocabulary: ClassVar[str | None] = "texts"
    without_labels: ClassVar[str] = "empty text"

    text: Annotated[I8, Axes("n", "amounts")]
    sure: Annotated[F8, Axes("n", "skills")]
    n_words: Annotated[I8, Axes("n", "amounts")]
    word_sure: Annotated[F8, Axes("*", "skills")]
    texts: pl.Series

    def __post_init__(self) -> None:
        n_texts = len(self.texts)
        if (len(self.text) and int(self.text.max()) >= n_texts) or int(self.n_words.sum()) != len(self.word_sure):
            raise DataError("the saved result is damaged (wrong number of texts or words)")

    @property
    def outputs(self) -> list[str]:
        """Text of each task."""
        return self._written().to_list()

    @property
    def confidence(self) -> F8:
        """Confidence of each text."""
        return self.sure

    def _written(self) -> pl.Series:
        return self.texts.cast(pl.String).gather(self.text.tolist()).rename("output")

    def table(self, n_labels: I8) -> dict[str, Any]:
        """Return the columns output, confidence and n_labels."""
        return {"output": self._written(), "confidence": self.sure, "n_labels": n_labels}

    def facts(self) -> dict[str, Any]:
        """Return the mean confidence."""
        return {"mean_confidence": float(self.sure.mean()) if len(self.sure) else None}

    def summary(self) -> str:
        """Describe the number of texts and their mean confidence."""
        n = len(self.text)
        return f"{n:,} texts" + (f", mean confidence {float(self.sure.mean()):.3f}" if n else "")


@dataclass(frozen=True, eq=False)
class TextWorkers(WorkerSummary):
    """Quality of the workers.

    Args:
        error: Mean distance (0 to 1) from the others' answers to the same tasks.
        off: Mean distance (0 to 1) from the estimates.
        weight: Weight relative to the average worker.
    """

    error: Annotated[F8, Axes("m", "skills")]
    off: Annotated[F8, Axes("m", "skills")]
    weight: Annotated[F8, Axes("m", "amounts")]
