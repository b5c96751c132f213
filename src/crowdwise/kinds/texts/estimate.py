"""Estimates that are texts, and workers as how far they are from the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.estimate import Arrays, Estimate, Rules, WorkerPicture

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TextEstimate(Estimate):
    """The text of each task, as a code into `texts`, and how sure it is (0 to 1): the share of the vote for its words,
    or how close it is to the other answers. Of a vote by words, word_sure has n_words[task] shares, a word each."""

    kind: ClassVar[str] = "texts"
    rules: ClassVar[Rules] = {
        "text": ("n", "i", "amounts"),
        "sure": ("n", "f", "skills"),
        "n_words": ("n", "i", "amounts"),
        "word_sure": ("*", "f", "skills"),
    }
    needed: ClassVar[tuple[str, ...]] = tuple(rules)
    vocabulary: ClassVar[str | None] = "texts"
    without_labels: ClassVar[str] = "empty text"

    text: I8
    sure: F8
    n_words: I8
    word_sure: F8
    texts: pl.Series

    def __post_init__(self) -> None:
        known = len(self.texts)
        if (len(self.text) and int(self.text.max()) >= known) or int(self.n_words.sum()) != len(self.word_sure):
            raise DataError("the saved result is damaged (its texts or words are not as many as it says)")

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> TextEstimate:  # noqa: ARG003
        """From a run folder."""
        assert names is not None
        return cls(**{name: arrays[name] for name in cls.rules}, texts=names)

    def __len__(self) -> int:
        return len(self.text)

    @property
    def outputs(self) -> list[str]:
        """The text of each task."""
        return self._written().to_list()

    @property
    def confidence(self) -> F8:
        """How sure each text is."""
        return self.sure

    def _written(self) -> pl.Series:
        return self.texts.cast(pl.String).gather(self.text.tolist()).rename("output")

    def table(self, n_labels: npt.NDArray[np.int64]) -> dict[str, Any]:
        """output, confidence, n_labels."""
        return {"output": self._written(), "confidence": self.sure, "n_labels": n_labels}

    def facts(self) -> dict[str, Any]:
        """How sure the texts are."""
        return {"mean_confidence": float(self.sure.mean()) if len(self.sure) else None}

    def answer_columns(self) -> tuple[str, ...]:
        """output."""
        return ("output",)

    def summary(self) -> str:
        """How many texts, and how sure they are."""
        n = len(self.text)
        return f"{n:,} texts" + (f", mean confidence {float(self.sure.mean()):.3f}" if n else "")


@dataclass(frozen=True, eq=False)
class TextWorkers(WorkerPicture):
    """error[worker], the mean distance from the others' answers to the same tasks (0 to 1), off, the same from the
    estimates, and weight, their say relative to the average worker's."""

    rules: ClassVar[Rules] = {
        "error": ("m", "f", "skills"),
        "off": ("m", "f", "skills"),
        "weight": ("m", "f", "amounts"),
    }
    needed: ClassVar[tuple[str, ...]] = ("error", "off", "weight")

    error: F8
    off: F8
    weight: F8

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> TextWorkers:  # noqa: ARG003
        """From a run folder."""
        return cls(**{name: arrays[name] for name in cls.rules})

    def table(self) -> dict[str, Any]:
        """error, off, weight."""
        return {name: pl.Series(getattr(self, name)).fill_nan(None) for name in self.rules}
