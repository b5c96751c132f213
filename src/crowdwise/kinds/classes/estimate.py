"""Posteriors over classes, and summaries of workers by skill and confusion matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I4, I8
from ...core.estimate import Arrays, Estimate, Rules, WorkerSummary
from ...core.result import Result
from ...stats.ties import break_ties
from .maths.skill import Skill, contradicts, rows_of


@dataclass(frozen=True, eq=False)
class ClassPosterior(Estimate):
    """posterior[task, class] with class_prior[class] and, for some methods, difficulty[task]; `seed` breaks ties.

    `order` holds the codes of the classes from the lowest to the highest, if they have an order.
    """

    kind: ClassVar[str] = "classes"
    rules: ClassVar[Rules] = {
        "posterior": ("nk", "f", "shares"),
        "class_prior": ("k", "f", "shares"),
        "difficulty": ("n", "f", "any"),
        "order": ("k", "i", "amounts"),
    }
    needed: ClassVar[tuple[str, ...]] = ("posterior", "class_prior")
    vocabulary: ClassVar[str | None] = "classes"

    posterior: F8
    class_prior: F8
    classes: pl.Series
    difficulty: F8 | None = None
    seed: int = 0
    order: I8 | None = None

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> ClassPosterior:
        """Restore the estimate from a run folder."""
        assert names is not None
        return cls(**{n: arrays[n] for n in cls.rules if n in arrays}, classes=names, seed=int(params.get("seed", 0)))

    def __len__(self) -> int:
        return len(self.posterior)

    @cached_property
    def labels(self) -> I4:
        """Code of the most probable class of each task; ties are broken by the method's seed."""
        return break_ties(self.posterior, self.seed)

    @cached_property
    def confidence(self) -> F8:
        """Probability of the most probable class."""
        return np.asarray(self.posterior.max(axis=1))

    @property
    def mean_confidence(self) -> float:
        """Mean confidence over tasks, which is the expected accuracy of the labels."""
        return float(self.confidence.mean()) if len(self.confidence) else float("nan")

    @cached_property
    def entropy(self) -> F8:
        """Entropy of each task's posterior in nats."""
        p = np.where(self.posterior > 0, self.posterior, 1.0)
        return np.asarray(np.abs((self.posterior * np.log(p)).sum(axis=1)))

    def table(self, n_labels: I8) -> dict[str, Any]:
        """Return the columns label, confidence, entropy, n_labels, (difficulty), p_<class>..."""
        columns: dict[str, Any] = {
            "label": self.classes.gather(self.labels),
            "confidence": self.confidence,
            "entropy": self.entropy,
            "n_labels": n_labels,
        }
        if self.difficulty is not None:
            columns["difficulty"] = self.difficulty
        for code, name in enumerate(self.classes.cast(pl.String).to_list()):
            columns[f"p_{name}"] = self.posterior[:, code]
        return columns

    without_labels: ClassVar[str] = "class prior"

    def facts(self) -> dict[str, Any]:
        """Return the classes, their prior, and the mean confidence."""
        prior = {"classes": self.classes.to_list(), "class_prior": self.class_prior.tolist()}
        return {**prior, "mean_confidence": self.mean_confidence}

    def size(self) -> str:
        """Return the number of classes as text."""
        return f", {len(self.classes)} classes"

    def coder_options(self) -> dict[str, Any]:
        """Return all classes, including unused ones, and their order."""
        ordered = {} if self.order is None else {"order": self.classes.gather(self.order).to_list()}
        return {"classes": self.classes, **ordered}

    def summary(self) -> str:
        """Return the number of classes and the mean confidence as text."""
        return f"{len(self.classes):,} classes, mean confidence {self.mean_confidence:.3f}"


class LazySkill:
    """Skills that are computed once, on first access, after which the data behind them is released.

    Pickling computes them.
    """

    def __init__(self, skill: Skill | Callable[[], Skill]) -> None:
        self._value: Skill | None = None
        self._compute: Callable[[], Skill] | None = None
        if isinstance(skill, Skill):
            self._value = _frozen(skill)
        else:
            self._compute = skill
        self._lock = Lock()

    @property
    def computed(self) -> bool:
        """Whether the skills have been computed."""
        return self._value is not None

    @property
    def value(self) -> Skill:
        """The skills."""
        if self._value is None:
            with self._lock:  # a second thread waits instead of computing the skills again
                if self._value is None and self._compute is not None:
                    self._value = _frozen(self._compute())
                    self._compute = None
        assert self._value is not None
        return self._value

    def __reduce__(self) -> tuple[Any, ...]:
        return LazySkill, (self.value,)


def _frozen(skill: Skill) -> Skill:
    for array in (skill.mean, skill.low, skill.high):
        array.setflags(write=False)
    return skill


@dataclass(frozen=True, eq=False)
class ClassWorkers(WorkerSummary):
    """skill[worker] with its 95 % interval, and for some methods confusion[worker, true, observed] with its (expected)
    counts. Skills may be computed on first access."""

    rules: ClassVar[Rules] = {
        "skill": ("m", "f", "skills"),
        "skill_low": ("m", "f", "skills"),
        "skill_high": ("m", "f", "skills"),
        "confusion": ("mkk", "f", "shares"),
        "counts": ("mkk", "f", "amounts"),
    }
    needed: ClassVar[tuple[str, ...]] = ("skill", "skill_low", "skill_high")

    _skill: LazySkill
    confusion: F8 | None = None
    counts: F8 | None = None

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> ClassWorkers:  # noqa: ARG003
        """Restore the summary from a run folder."""
        skill = Skill(arrays["skill"], arrays["skill_low"], arrays["skill_high"])
        return cls(LazySkill(skill), arrays.get("confusion"), arrays.get("counts"))

    @property
    def skill(self) -> F8:
        """Expected accuracy of each worker."""
        return self._skill.value.mean

    @property
    def skill_low(self) -> F8:
        """Lower end of its 95 % interval."""
        return self._skill.value.low

    @property
    def skill_high(self) -> F8:
        """Upper end of its 95 % interval."""
        return self._skill.value.high

    @cached_property
    def shown_confusion(self) -> F8 | None:
        """confusion[worker, true, observed] for display in tables, files and plots.

        These are the matrices of the model, unless they contradict the expected counts. A model with fewer parameters
        (mace, one_coin, zencrowd, pooled, confusion_vector) cannot represent, say, a worker who swaps two classes; then
        all matrices are estimated from the counts, with two pseudo-labels per row at the crowd's mean row.
        """
        if self.confusion is None or self.counts is None or not contradicts(self.confusion, self.counts).any():
            return self.confusion
        return rows_of(self.counts)

    def freeze(self) -> None:
        """Make the arrays read-only; skills are made read-only when they are computed."""
        for array in (self.confusion, self.counts):
            if array is not None:
                array.setflags(write=False)

    def table(self) -> dict[str, Any]:
        """Return the skill with its 95 % interval."""
        return {"skill": self.skill, "skill_low": self.skill_low, "skill_high": self.skill_high}


def class_result(
    *,
    posterior: F8,
    class_prior: F8,
    classes: pl.Series,
    difficulty: F8 | None = None,
    skill: Skill | Callable[[], Skill],
    confusion: F8 | None = None,
    counts: F8 | None = None,
    order: npt.NDArray[Any] | None = None,
    params: Mapping[str, Any],
    **rest: Any,
) -> Result:
    """Return a result of classes from its arrays; a function for `skill` is called on first access."""
    class_order = None if order is None else np.array(order, dtype=np.int64)
    estimate = ClassPosterior(posterior, class_prior, classes, difficulty, int(params.get("seed", 0)), class_order)
    return Result(
        estimate=estimate, worker_summary=ClassWorkers(LazySkill(skill), confusion, counts), params=params, **rest
    )
