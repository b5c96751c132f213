"""Estimated label sets with a probability per class, and hits and false alarms of each worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8, I8, Mask
from ...core.estimate import Arrays, Axes, Estimate, WorkerSummary
from .answers import as_json


@dataclass(frozen=True, eq=False)
class SetPosterior(Estimate):
    """Probabilities of the classes of each task.

    Args:
        posterior: posterior[task, class], the probability that the class belongs to the task.
        rate: rate[class], the share of tasks with the class.
        classes: Names of the classes.
        asked: asked[task, class], whether the class was offered to any worker. If not, the posterior is the rate and
            the class is not in the set. None: all classes were offered everywhere.
        cut: Classes with at least this probability are in the set.
        sure: sure[task], the calibrated probability that the whole set is correct; None if not calibrated on gold.
    """

    kind: ClassVar[str] = "sets"
    vocabulary: ClassVar[str | None] = "classes"

    posterior: Annotated[F8, Axes("nk", "skills")]
    rate: Annotated[F8, Axes("k", "skills")]
    classes: pl.Series
    asked: Annotated[Mask, Axes("nk")] | None = None
    cut: float = 0.5
    sure: Annotated[F8, Axes("n", "skills")] | None = None

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> SetPosterior:
        """Restore from a run folder; `cut` is a parameter of the method."""
        cut = params.get("cut")
        estimate = super().of(arrays, names, params)
        return replace(estimate, cut=float(cut)) if isinstance(cut, int | float) else estimate

    @cached_property
    def member(self) -> Mask:
        """member[task, class]: whether the class is in the set of the task."""
        is_member = self.posterior >= self.cut - 1e-12
        return np.asarray(is_member if self.asked is None else is_member & self.asked)

    @cached_property
    def confidence(self) -> F8:
        """Probability that the whole set is correct; the product over the offered classes if not calibrated."""
        if self.sure is not None:
            return self.sure
        chance = np.where(self.member, self.posterior, 1 - self.posterior)
        return np.asarray((chance if self.asked is None else np.where(self.asked, chance, 1.0)).prod(axis=1))

    @property
    def mean_confidence(self) -> float:
        """Mean confidence over tasks: the share of completely correct sets that the method expects."""
        return float(self.confidence.mean()) if len(self) else float("nan")

    @property
    def sets(self) -> list[list[Any]]:
        """The set of each task as a list of names."""
        names = self.classes.to_list()
        return [[names[code] for code in np.flatnonzero(row)] for row in self.member]

    def table(self, n_labels: I8) -> dict[str, Any]:
        """Return labels (a JSON list), confidence, n_labels and p_<class> for each class."""
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
        """Return the classes, their rates, the mean size of a set and the mean confidence."""
        size = float(self.member.sum() / len(self)) if len(self) else float("nan")
        rates = {"classes": self.classes.to_list(), "rate": self.rate.tolist()}
        return {**rates, "mean_size": size, "mean_confidence": self.mean_confidence}

    def answer_columns(self) -> tuple[str, ...]:
        """Return the columns of an answer: labels and, if known, offered."""
        return ("labels",) if self.asked is None else ("labels", "offered")

    def to_check(self, tasks: pl.Series, picked: I8) -> pl.DataFrame:
        """Return a table with the columns task, labels (empty)."""
        return super().to_check(tasks, picked).select("task", "labels")

    def size(self) -> str:
        """Return the number of classes."""
        return f", {len(self.classes)} classes"

    def coder_options(self) -> dict[str, Any]:
        """Return the options of the coder: all classes, including those that no answer names."""
        return {"classes": self.classes}

    def summary(self) -> str:
        """Return the number of classes, the mean size of a set and the mean confidence."""
        size = self.member.sum() / max(len(self), 1)
        return f"{len(self.classes):,} classes, {size:.2f} per set, mean confidence {self.mean_confidence:.3f}"


@dataclass(frozen=True, eq=False)
class SetWorkers(WorkerSummary):
    """Quality of each worker over all classes.

    Args:
        recall: Share of the true classes that the worker names.
        precision: Share of the named classes that are true.
        f1: F1 of recall and precision.
        false_alarms: Share of the classes that are not true that the worker names.
        named: Mean number of classes in an answer.
        hits: hits[worker, class], the fitted probability of naming a true class, if the method fits it.
        alarms: alarms[worker, class], the fitted probability of naming a class that is not true.
    """

    recall: Annotated[F8, Axes("m", "skills")]
    precision: Annotated[F8, Axes("m", "skills")]
    f1: Annotated[F8, Axes("m", "skills")]
    false_alarms: Annotated[F8, Axes("m", "skills")]
    named: Annotated[F8, Axes("m")]
    hits: Annotated[F8, Axes("mk", "skills")] | None = None
    alarms: Annotated[F8, Axes("mk", "skills")] | None = None

    def table(self) -> dict[str, Any]:
        """Return f1, precision, recall, false_alarms and named."""
        return {name: getattr(self, name) for name in ("f1", "precision", "recall", "false_alarms", "named")}
