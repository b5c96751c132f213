"""Estimates that are probabilities, and workers as signals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.estimate import Arrays, Estimate, Rules, WorkerPicture

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProbabilityEstimate(Estimate):
    """probability[task] that the task is true."""

    kind: ClassVar[str] = "probabilities"
    rules: ClassVar[Rules] = {"probability": ("n", "f", "skills")}
    needed: ClassVar[tuple[str, ...]] = ("probability",)

    probability: F8

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> ProbabilityEstimate:  # noqa: ARG003
        """From a run folder."""
        return cls(arrays["probability"])

    def __len__(self) -> int:
        return len(self.probability)

    def table(self, n_labels: npt.NDArray[np.int64]) -> dict[str, Any]:
        """probability, likely (whether it is above 1/2), n_labels."""
        return {"probability": self.probability, "likely": self.probability > 0.5, "n_labels": n_labels}

    def answer_columns(self) -> tuple[str, ...]:
        """probability."""
        return ("probability",)

    def to_check(self, tasks: pl.Series, picked: npt.NDArray[np.int64]) -> pl.DataFrame:
        """task, label (empty; 1 or 0)."""
        return super().to_check(tasks, picked).rename({"probability": "label"})

    def facts(self) -> dict[str, Any]:
        """The mean probability, and how many tasks are likely."""
        if not len(self):
            return {"mean_probability": None, "likely": 0}
        return {"mean_probability": float(self.probability.mean()), "likely": int((self.probability > 0.5).sum())}

    def summary(self) -> str:
        """How many tasks are likely, and how sure that is."""
        if not len(self):
            return "no probabilities"
        sure = np.maximum(self.probability, 1 - self.probability).mean()
        return f"{int((self.probability > 0.5).sum()):,} of {len(self):,} tasks are likely, {sure:.3f} sure on average"


@dataclass(frozen=True, eq=False)
class ProbabilityWorkers(WorkerPicture):
    """In log odds: shift[worker] (where they stand when they know nothing), gap (how far the truth moves them), spread
    (sd of what is left); weight, their say relative to the average worker's."""

    rules: ClassVar[Rules] = {
        "shift": ("m", "f", "finite"),
        "gap": ("m", "f", "finite"),
        "spread": ("m", "f", "amounts"),
        "weight": ("m", "f", "finite"),  # below 0: their answers point the other way
    }
    needed: ClassVar[tuple[str, ...]] = ("shift", "gap", "spread", "weight")

    shift: F8
    gap: F8
    spread: F8
    weight: F8

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> ProbabilityWorkers:  # noqa: ARG003
        """From a run folder."""
        return cls(**{name: arrays[name] for name in cls.rules})

    def table(self) -> dict[str, Any]:
        """shift, gap, spread, weight."""
        return {name: getattr(self, name) for name in self.rules}
