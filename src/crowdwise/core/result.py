"""Result: the estimates of a fit for every task and every worker, with saving and loading."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from .arrays import F8
from .errors import DataError, ParameterError
from .estimate import Estimate, WorkerSummary
from .kind import Kind
from .model import Model
from .registry import get, resolve
from .vocabulary import Codes, lookup, quote
from .votes import Votes

if TYPE_CHECKING:
    from types import ModuleType

# What to do with workers who were not in the fit: raise, or treat them as the average worker.
UnknownWorkers = Literal["error", "average"]
E = TypeVar("E", bound=Estimate)
_MISSING = object()  # distinct from None, which an attribute may be


@dataclass(frozen=True, kw_only=True)
class FitTrace:
    """The course of a fit.

    Attributes:
        trace: Objective of each iteration; it never decreases within a stage.
        stage: Stage of each iteration (empty: a single stage).
        n_iter: Number of iterations.
        converged: Whether the fit converged.
        extra: Further outputs of the method, by name.
    """

    trace: F8 = field(default_factory=lambda: np.empty(0))
    stage: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_iter: int = 0
    converged: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)

    def trace_fields(self) -> dict[str, Any]:
        """Return these fields by name, with a stage for every entry of the trace."""
        values = {f.name: getattr(self, f.name) for f in fields(FitTrace)}
        return values | {"stage": self.stage if len(self.stage) else np.zeros(len(self.trace), dtype=np.int64)}


@dataclass(frozen=True, eq=False, repr=False)
class Result(FitTrace):
    """The result of a fit, for any kind of answer.

    The attributes of `estimate` and `worker_summary` are also attributes of the result: for classes posterior, labels,
    confidence, class_prior, skill, confusion; for numbers mean, low, high, bias, spread.

    Attributes:
        method: Name of the method.
        params: Its hyperparameters.
        tasks: The tasks, in the order of all task arrays.
        workers: The workers, in the order of all worker arrays.
        estimate: Estimates of the tasks.
        worker_summary: Estimates of the workers.
        labels_per_task: Number of answers of each task.
        labels_per_worker: Number of answers of each worker.
        gold: Marks the tasks whose truth was given to the fit (None: no gold); scores of the result leave them out.
        versions: Versions of the packages that computed the result.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2], ["ann", "bob", "ann"], ["cat", "cat", "dog"])
    >>> cw.MajorityVote().fit(votes).to_table()["label"].to_list()
    ['cat', 'dog']
    """

    method: str
    params: Mapping[str, Any]
    tasks: pl.Series
    workers: pl.Series
    estimate: Estimate
    worker_summary: WorkerSummary
    labels_per_task: npt.NDArray[np.int64]
    labels_per_worker: npt.NDArray[np.int64]
    gold: npt.NDArray[np.bool_] | None = None
    versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.estimate.freeze()
        self.worker_summary.freeze()
        for value in [*vars(self).values(), *self.extra.values()]:
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __getattr__(self, name: str) -> Any:
        """Look the attribute up in the estimate and the worker summary."""
        if not name.startswith("_") and name not in Result.__dataclass_fields__:
            for part in (self.estimate, self.worker_summary):
                value = getattr(part, name, _MISSING)
                if value is not _MISSING:
                    return value
            raise AttributeError(f"a result of {self.kind.display_name} has no {name!r}")
        raise AttributeError(name)

    def __dir__(self) -> list[str]:
        """List the attributes of the result, its estimate and its worker summary."""
        attributes = {name for part in self._attribute_sources() for name in dir(part) if not name.startswith("_")}
        return sorted({*super().__dir__(), *Result.__dataclass_fields__, *attributes})

    def _attribute_sources(self) -> tuple[Any, ...]:
        """Return the objects whose attributes the result forwards."""
        return self.estimate, self.worker_summary

    def __repr__(self) -> str:
        return (
            f"Result({self.method}: {len(self.tasks):,} tasks, {len(self.workers):,} workers, "
            f"{self.estimate.summary()})"
        )

    def _repr_html_(self) -> str:
        html: str = self.kind.hooks.result_html(self)
        return html

    @property
    def kind(self) -> Kind:
        """The kind of the answers."""
        return get(self.estimate.kind)

    def estimate_as(self, estimate_type: type[E]) -> E:
        """Return the estimate, which must be of this type."""
        assert isinstance(self.estimate, estimate_type)
        return self.estimate

    @property
    def plot(self) -> Any:
        """Plots on matplotlib: of classes `.workers()`, `.confusion(worker)`, `.calibration(truth)`, `.contested()`; of
        numbers `.workers()`, `.estimates(truth)`; of orders `.leaderboard()`, of triplets `.map()`, of same or
        different `.clusters()`, of spans `.tags()`, of boxes and outlines `.picture(task)`; of all `.workers()`."""
        return self.kind.hooks.plots(self)

    @property
    def expected_accuracy(self) -> tuple[float, float, float] | None:
        """(mean, low, high): expected share of right labels without gold, and its 90 % interval; None if not estimated.

        With gold it is measured; without, the default method estimates it from many crowds with known truth. The mean
        confidence of other methods is uncalibrated and mostly too high.
        """
        accuracy = self.extra.get("expected_accuracy")
        return None if accuracy is None else (float(accuracy["mean"]), float(accuracy["low"]), float(accuracy["high"]))

    @cached_property
    def model(self) -> Model[Any] | None:
        """The fitted model, which scores other votes; None if the method has none."""
        return self.kind.hooks.model(self)

    # ---------------------------------------------------------------- tables
    def to_table(self) -> pl.DataFrame:
        """Return one row per task: task, its estimate, the number of its answers, and `can_ship` where it was decided
        (`scoring.trust.at_error`; null if unknown)."""
        table = pl.DataFrame({"task": self.tasks, **self.estimate.table(self.labels_per_task)})
        ships = self.extra.get("can_ship")
        return table if ships is None else table.with_columns(can_ship=pl.Series(ships).fill_nan(None).cast(pl.Boolean))

    def worker_table(self) -> pl.DataFrame:
        """Return one row per worker: worker, n_labels, and the estimates (for classes skill with its 95 % interval)."""
        return pl.DataFrame({"worker": self.workers, "n_labels": self.labels_per_worker, **self.worker_summary.table()})

    def confusion_table(self) -> pl.DataFrame:
        """Return the confusion matrices, one row per cell: worker, true, observed, p, n (expected number of labels).

        The table is empty if the method estimates none. p is the model's `confusion`, unless it contradicts the counts
        by more than sampling error (a model with too few parameters to represent them); then it is estimated from the
        counts (`shown_confusion`).
        """
        m, k = len(self.workers), len(self.classes)
        shown = self.shown_confusion
        if shown is None:
            m = 0
        cells = np.indices((m, k, k)).reshape(3, -1)
        flat = np.empty(0) if shown is None else shown.ravel()
        n = np.full(len(flat), np.nan) if self.counts is None else self.counts.ravel()[: len(flat)]
        return pl.DataFrame(
            {
                "worker": self.workers.gather(cells[0]),
                "true": self.classes.gather(cells[1]),
                "observed": self.classes.gather(cells[2]),
                "p": flat,
                "n": n,
            }
        )

    def class_table(self) -> pl.DataFrame:
        """Return one row per class (results of classes only): class, n_labelled, n_expected, the expected precision and
        recall of its labels, and the class that it is most often taken for. The figures are as good as the confidence:
        they come from the posterior."""
        return self.kind.hooks.class_table(self)

    def soft_labels(self, tasks: Any = None) -> Any:
        """Return the posterior as targets for training a classifier (results of classes only).

        Args:
            tasks: Names of tasks, in the order of your features; all tasks of the result by default.

        Returns:
            `SoftLabels`: `p[task, class]` for losses that take probabilities, `names` and `weight` for hard labels with
            sample weights, and `expand()` for estimators that take only these.
        """
        return self.kind.hooks.soft_labels(self, tasks)

    def to_dataset(self, data: Any = None) -> Any:
        """Return a `datasets.Dataset` of Hugging Face: task, label (a ClassLabel), label_dist, confidence, n_votes.

        Args:
            data: Table with a column `task` and further columns (text, ...), which are added; only its tasks are
                returned, in its order.
        """
        return resolve("crowdwise.io.export.hf_dataset:to_dataset")(self, data)

    # Whether the tasks lie in partitions on disk.
    in_parts: ClassVar[bool] = False

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.tasks)

    def scan(self) -> pl.LazyFrame:
        """Return `to_table` as a lazy frame; a partitioned result is read as the query needs it."""
        return self.to_table().lazy()

    def for_tasks(self, tasks: Any) -> Result:  # noqa: ARG002
        """Return the result for these tasks: itself, unless its tasks lie in partitions on disk."""
        return self

    # ---------------------------------------------------------------- new tasks, saving, loading
    def infer(self, annotations: Votes[Any], *, unknown_workers: UnknownWorkers = "error") -> Result:
        """Estimate the labels of new tasks from answers of the same workers, with the fitted parameters held fixed.

        Args:
            annotations: Votes on the new tasks.
            unknown_workers: What to do with workers who were not in the fit: "error", or "average" to treat them as the
                average worker.
        """
        result: Result = self.kind.hooks.infer(self, annotations, unknown_workers)
        return result

    def worker_codes(self, workers: pl.Series, unknown: UnknownWorkers) -> tuple[Codes, npt.NDArray[np.bool_]]:
        """Return the codes of other votes' workers in this fit, and which of them were in it."""
        codes, is_known = lookup(self.workers, workers)
        self.check_workers(workers, is_known, unknown)
        return codes, is_known

    def check_workers(self, workers: pl.Series, is_known: npt.NDArray[np.bool_], unknown: UnknownWorkers) -> None:
        """Raise if some workers were not in the fit and are not to be treated as the average worker."""
        if unknown not in ("error", "average"):
            raise ParameterError(f"unknown_workers must be 'error' or 'average', got {unknown!r}")
        if unknown == "error" and not is_known.all():
            new = workers.filter(~pl.Series(is_known))
            raise DataError(
                f"{len(new)} workers were not there when {self.method} was fitted: {quote(new)}; "
                "pass unknown_workers='average' to treat them as the average worker"
            )

    def worker_values(self, values: F8, codes: Codes, is_known: npt.NDArray[np.bool_], empty: float = 0.5) -> F8:
        """Return the rows of values[worker, ...] of other votes' workers.

        Workers who were not in the fit get the average, weighted by numbers of answers; `empty` if the fit had none.
        """
        if not len(values):
            return np.full((len(codes), *values.shape[1:]), empty)
        average = np.average(values, axis=0, weights=np.maximum(self.labels_per_worker, 1e-9))
        return np.where(is_known.reshape(-1, *[1] * (values.ndim - 1)), values[codes], average)

    def for_votes(self, votes: Votes[Any], estimate: Estimate, worker_summary: WorkerSummary, **changes: Any) -> Result:
        """Return the result of inference on other votes: this fit with their tasks, workers and estimates."""
        return replace(
            self,
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=estimate,
            worker_summary=worker_summary,
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            **{"gold": None, "extra": {}, **changes},
        )

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write result.json, arrays.npz and the vocabularies; existing files are replaced only with `force`."""
        resolve("crowdwise.io.result_files:save")(self, Path(folder), force=force)

    @staticmethod
    def load(folder: str | Path) -> Result:
        """Load what `save` (or `crowdwise aggregate -o`) wrote."""
        result: Result = resolve("crowdwise.io.result_files:load")(Path(folder))
        return result

    if TYPE_CHECKING:
        # Attributes that results of classes have through __getattr__.
        def facts(self) -> dict[str, Any]: ...  # noqa: D102
        @property
        def posterior(self) -> F8: ...  # noqa: D102
        @property
        def class_prior(self) -> F8: ...  # noqa: D102
        @property
        def classes(self) -> pl.Series: ...  # noqa: D102
        @property
        def difficulty(self) -> F8 | None: ...  # noqa: D102
        @property
        def labels(self) -> npt.NDArray[np.int32]: ...  # noqa: D102
        @property
        def confidence(self) -> F8: ...  # noqa: D102
        @property
        def mean_confidence(self) -> float: ...  # noqa: D102
        @property
        def entropy(self) -> F8: ...  # noqa: D102
        @property
        def skill(self) -> F8: ...  # noqa: D102
        @property
        def skill_low(self) -> F8: ...  # noqa: D102
        @property
        def skill_high(self) -> F8: ...  # noqa: D102
        @property
        def confusion(self) -> F8 | None: ...  # noqa: D102
        @property
        def shown_confusion(self) -> F8 | None: ...  # noqa: D102
        @property
        def counts(self) -> F8 | None: ...  # noqa: D102


def versions() -> dict[str, str]:
    """Return the versions that a result was computed with."""
    package: ModuleType = sys.modules["crowdwise"]
    return {
        "crowdwise": package.__version__,
        "numpy": np.__version__,
        "python": ".".join(map(str, sys.version_info[:3])),
    }
