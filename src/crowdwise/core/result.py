"""Result: what a method found. An estimate of every task, a picture of every worker, names; saving and loading."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from .estimate import Estimate, WorkerPicture
from .kind import Kind
from .model import Model
from .registry import get, resolve
from .votes import Votes

if TYPE_CHECKING:
    from types import ModuleType

F8 = npt.NDArray[np.float64]
_NOTHING = object()  # what None is not: an attribute may be None


@dataclass(frozen=True, kw_only=True)
class Course:
    """How a fit went: `trace` is the objective of each iteration; it never falls within a `stage` (of none: one stage).
    `extra` holds what else a method has to tell."""

    trace: F8 = field(default_factory=lambda: np.empty(0))
    stage: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_iter: int = 0
    converged: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)

    def course(self) -> dict[str, Any]:
        """The same by name, a stage for every entry of the trace."""
        told = {each.name: getattr(self, each.name) for each in fields(Course)}
        return told | {"stage": self.stage if len(self.stage) else np.zeros(len(self.trace), dtype=np.int64)}


@dataclass(frozen=True, eq=False, repr=False)
class Result(Course):
    """What one fit found, for any kind of answer.

    What `estimate` (of the tasks) and `picture` (of the workers) hold is an attribute of the result too: for classes
    posterior, labels, confidence, class_prior; skill, confusion; for numbers mean, low, high; bias, spread.
    `gold[task]` marks the tasks whose truth the fit was given (None: it was given none); nothing that judges the result
    counts them. `trace` is the objective of each iteration; it never falls within a `stage`.

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
    picture: WorkerPicture
    labels_per_task: npt.NDArray[np.int64]
    labels_per_worker: npt.NDArray[np.int64]
    gold: npt.NDArray[np.bool_] | None = None
    versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.estimate.freeze()
        self.picture.freeze()
        for value in [*vars(self).values(), *self.extra.values()]:
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __getattr__(self, name: str) -> Any:
        """What the estimate or the workers' picture has of this name."""
        if not name.startswith("_") and name not in Result.__dataclass_fields__:
            for part in (self.estimate, self.picture):
                found = getattr(part, name, _NOTHING)
                if found is not _NOTHING:
                    return found
            raise AttributeError(f"a result of {self.kind.people} has no {name!r}")
        raise AttributeError(name)

    def __dir__(self) -> list[str]:
        """Attributes of the result, and those that the estimate and the workers' picture lend it."""
        lent = {name for part in self._lenders() for name in dir(part) if not name.startswith("_")}
        return sorted({*super().__dir__(), *Result.__dataclass_fields__, *lent})

    def _lenders(self) -> tuple[Any, ...]:
        """Whose attributes are attributes of the result."""
        return self.estimate, self.picture

    def __repr__(self) -> str:
        return (
            f"Result({self.method}: {len(self.tasks):,} tasks, {len(self.workers):,} workers, "
            f"{self.estimate.summary()})"
        )

    def _repr_html_(self) -> str:
        shown: str = self.kind.hooks.result_html(self)
        return shown

    @property
    def kind(self) -> Kind:
        """What kind of answers the tasks have."""
        return get(self.estimate.kind)

    @property
    def plot(self) -> Any:
        """Plots on matplotlib. Of classes `.workers()`, `.confusion(worker)`, `.calibration(truth)`, `.contested()`; of
        numbers `.workers()`, `.estimates(truth)`; of orders `.leaderboard()`, of triplets `.map()`, of same or
        different `.clusters()`, of spans `.tags()`, of boxes and outlines `.picture(task)`; of all `.workers()`."""
        return self.kind.hooks.plots(self)

    @property
    def expected_accuracy(self) -> tuple[float, float, float] | None:
        """(mean, low, high): share of right labels, gold apart, with a 90 % interval; None where nobody learnt it.

        With gold it is measured; without, the default method has it from many crowds with known truth. The mean
        confidence of other methods is their own claim, mostly too high.
        """
        found = self.extra.get("expected_accuracy")
        return None if found is None else (float(found["mean"]), float(found["low"]), float(found["high"]))

    @cached_property
    def model(self) -> Model[Any] | None:
        """What the fit has learnt, ready to judge other votes; None where the method keeps nothing that could."""
        return self.kind.hooks.model(self)

    # ---------------------------------------------------------------- tables
    def to_table(self) -> pl.DataFrame:
        """One row a task: task, what is believed of it, the number of its answers; `can_ship` where that was decided
        (`scoring.trust.at_error`), null where nobody knows."""
        table = pl.DataFrame({"task": self.tasks, **self.estimate.table(self.labels_per_task)})
        ships = self.extra.get("can_ship")
        return table if ships is None else table.with_columns(can_ship=pl.Series(ships).fill_nan(None).cast(pl.Boolean))

    def worker_table(self) -> pl.DataFrame:
        """One row a worker: worker, n_labels, and their picture (for classes skill with its 95 % interval)."""
        return pl.DataFrame({"worker": self.workers, "n_labels": self.labels_per_worker, **self.picture.table()})

    def confusion_table(self) -> pl.DataFrame:
        """One row a cell: worker, true, observed, p, n (expected number of labels); empty without a confusion.

        p agrees with n: it is `confusion`, the model's own, or, where that contradicts the counts by more than sampling
        error (a model with too few parameters to represent them), it is estimated from the counts (`shown_confusion`).
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

    # Whether the tasks lie in parts on disk.
    in_parts: ClassVar[bool] = False

    @property
    def n_tasks(self) -> int:
        """How many tasks there are."""
        return len(self.tasks)

    def scan(self) -> pl.LazyFrame:
        """`to_table`, to be asked for what is wanted of it: of a result in parts it is read as it is asked."""
        return self.to_table().lazy()

    def for_tasks(self, tasks: Any) -> Result:  # noqa: ARG002
        """The result as far as these tasks go: itself, unless its tasks lie in parts on disk."""
        return self

    # ---------------------------------------------------------------- new tasks, saving, loading
    def infer(self, annotations: Votes[Any], *, unknown_workers: Literal["error", "average"] = "error") -> Result:
        """What the same workers' answers say of new tasks, with everything learnt held fixed.

        `unknown_workers="average"` treats workers never seen before as the crowd's average worker.
        """
        found: Result = self.kind.hooks.infer(self, annotations, unknown_workers)
        return found

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write result.json, arrays.npz and the vocabularies; never over existing files without `force`."""
        resolve("crowdwise.io.result_files:save")(self, Path(folder), force=force)

    @staticmethod
    def load(folder: str | Path) -> Result:
        """Read what `save` (or `crowdwise aggregate -o`) wrote."""
        found: Result = resolve("crowdwise.io.result_files:load")(Path(folder))
        return found

    if TYPE_CHECKING:
        # What results of classes have through __getattr__.
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
    """What a result was made with."""
    package: ModuleType = sys.modules["crowdwise"]
    return {
        "crowdwise": package.__version__,
        "numpy": np.__version__,
        "python": ".".join(map(str, sys.version_info[:3])),
    }
