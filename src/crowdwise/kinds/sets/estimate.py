"""Beliefs over sets of classes, one probability for each class, and workers as their hits and false alarms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.estimate import Arrays, Estimate, Rules, WorkerPicture
from .answers import as_json

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SetPosterior(Estimate):
    """posterior[task, class]: how likely each class belongs to the task, each by itself; rate[class] over all tasks.

    asked[task, class] says whether anybody was offered the class there: where nobody was, the posterior is the rate,
    and the class is in no set. A class is in the set from `cut` on. sure[task] is the chance that the whole set is
    right, where gold has calibrated it; else it is the product of the classes' chances.
    """

    kind: ClassVar[str] = "sets"
    rules: ClassVar[Rules] = {
        "posterior": ("nk", "f", "skills"),
        "rate": ("k", "f", "skills"),
        "asked": ("nk", "b", "any"),
        "sure": ("n", "f", "skills"),
    }
    needed: ClassVar[tuple[str, ...]] = ("posterior", "rate")
    vocabulary: ClassVar[str | None] = "classes"

    posterior: F8
    rate: F8
    classes: pl.Series
    asked: Mask | None = None
    cut: float = 0.5
    sure: F8 | None = None

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> SetPosterior:
        """From a run folder."""
        assert names is not None
        cut = params.get("cut", 0.5)
        own = {name: arrays[name] for name in cls.rules if name in arrays}
        return cls(**own, classes=names, cut=float(cut) if isinstance(cut, int | float) else 0.5)

    def __len__(self) -> int:
        return len(self.posterior)

    @cached_property
    def member(self) -> Mask:
        """member[task, class]: whether the class is in the task's set."""
        found = self.posterior >= self.cut - 1e-12
        return np.asarray(found if self.asked is None else found & self.asked)

    @cached_property
    def confidence(self) -> F8:
        """Probability that the whole set is right, as far as classes were offered."""
        if self.sure is not None:
            return self.sure
        own = np.where(self.member, self.posterior, 1 - self.posterior)
        return np.asarray((own if self.asked is None else np.where(self.asked, own, 1.0)).prod(axis=1))

    @property
    def mean_confidence(self) -> float:
        """Mean confidence over tasks: the share of wholly right sets that the method expects of itself."""
        return float(self.confidence.mean()) if len(self) else float("nan")

    @property
    def sets(self) -> list[list[Any]]:
        """The set of each task, by name."""
        names = self.classes.to_list()
        return [[names[code] for code in np.flatnonzero(row)] for row in self.member]

    def table(self, n_labels: npt.NDArray[np.int64]) -> dict[str, Any]:
        """labels (a JSON list), confidence, n_labels, p_<class>..."""
        row, code = np.nonzero(self.member)
        start = np.searchsorted(row, np.arange(len(self) + 1))
        columns: dict[str, Any] = {
            "labels": as_json(start, code.astype(np.int32), self.classes, "labels"),
            "confidence": self.confidence,
            "n_labels": n_labels,
        }
        for j, name in enumerate(self.classes.cast(pl.String).to_list()):
            columns[f"p_{name}"] = self.posterior[:, j]
        return columns

    without_labels: ClassVar[str] = "rate of each class"

    def facts(self) -> dict[str, Any]:
        """Classes, their rates, the mean size of a set and the mean confidence."""
        size = float(self.member.sum() / len(self)) if len(self) else float("nan")
        rates = {"classes": self.classes.to_list(), "rate": self.rate.tolist()}
        return {**rates, "mean_size": size, "mean_confidence": self.mean_confidence}

    def answer_columns(self) -> tuple[str, ...]:
        """labels; what was offered stands beside it, where it is known."""
        return ("labels",) if self.asked is None else ("labels", "offered")

    def to_check(self, tasks: pl.Series, picked: npt.NDArray[np.int64]) -> pl.DataFrame:
        """task, labels (empty)."""
        return super().to_check(tasks, picked).select("task", "labels")

    def size(self) -> str:
        """The number of classes."""
        return f", {len(self.classes)} classes"

    def coder_options(self) -> dict[str, Any]:
        """All classes, those that nobody said included."""
        return {"classes": self.classes}

    def summary(self) -> str:
        """Number of classes, mean size and mean confidence."""
        size = self.member.sum() / max(len(self), 1)
        return f"{len(self.classes):,} classes, {size:.2f} in a set, mean confidence {self.mean_confidence:.3f}"


@dataclass(frozen=True, eq=False)
class SetWorkers(WorkerPicture):
    """Over all classes: recall (share of what is true that they name), precision (share of what they name that is
    true), f1 of the two, false_alarms (share of what is not true that they name), named (classes in an answer).

    hits[worker, class] and alarms[worker, class] are what the method learnt of each class, where it learns that.
    """

    rules: ClassVar[Rules] = {
        "recall": ("m", "f", "skills"),
        "precision": ("m", "f", "skills"),
        "f1": ("m", "f", "skills"),
        "false_alarms": ("m", "f", "skills"),
        "named": ("m", "f", "any"),
        "hits": ("mk", "f", "skills"),
        "alarms": ("mk", "f", "skills"),
    }
    needed: ClassVar[tuple[str, ...]] = ("recall", "precision", "f1", "false_alarms", "named")

    recall: F8
    precision: F8
    f1: F8
    false_alarms: F8
    named: F8
    hits: F8 | None = None
    alarms: F8 | None = None

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> SetWorkers:  # noqa: ARG003
        """From a run folder."""
        return cls(**{n: arrays[n] for n in cls.rules if n in arrays})

    def table(self) -> dict[str, Any]:
        """f1, precision, recall, false_alarms, named."""
        return {name: getattr(self, name) for name in ("f1", "precision", "recall", "false_alarms", "named")}
