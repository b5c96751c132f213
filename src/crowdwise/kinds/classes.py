"""Annotations: the one data type. Integer codes, three sorted vocabularies, a ledger, and cached index views."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError, LedgerWarning, ParameterError
from ..core.intake.coding import NUMBERS, Coded, Duplicates, UnknownClasses, encode
from ..core.ledger import Ledger
from ..core.vocabulary import Codes, codes_of, recode, sorted_vocabulary, union
from ..maths.order import offsets


@dataclass(frozen=True, eq=False, repr=False)
class Annotations:
    """(task, worker, label) rows as codes into sorted vocabularies; rows are sorted by task, then worker.

    >>> votes = Annotations.from_arrays(["t1", "t1", "t2"], ["ann", "bob", "ann"], ["cat", "dog", "cat"])
    >>> votes
    Annotations(3 annotations, 2 tasks, 2 workers, 2 classes)
    >>> votes.classes.to_list()
    ['cat', 'dog']
    """

    task: Codes
    worker: Codes
    label: Codes
    tasks: pl.Series
    workers: pl.Series
    classes: pl.Series
    weight: npt.NDArray[np.float64] | None = None
    time: npt.NDArray[np.float64] | None = None
    duration: npt.NDArray[np.float64] | None = None
    confidence: npt.NDArray[np.float64] | None = None
    ledger: Ledger = field(default_factory=lambda: Ledger(0, 0))

    def __post_init__(self) -> None:
        for name in ("task", "worker", "label", *self.numbers):
            array: npt.NDArray[Any] = getattr(self, name)
            if len(array) != len(self.task):
                raise DataError(
                    f"{name} has {len(array)} rows but task has {len(self.task)}; they must be equally long"
                )
            view = array.view()  # what the caller gave stays writable for them
            view.setflags(write=False)
            object.__setattr__(self, name, view)

    # ---------------------------------------------------------------- constructors
    @classmethod
    def from_arrays(
        cls,
        task: Any,
        worker: Any,
        label: Any,
        *,
        weight: Any = None,
        time: Any = None,
        duration: Any = None,
        confidence: Any = None,
        tasks: Any = None,
        workers: Any = None,
        classes: Any = None,
        duplicates: Duplicates = "error",
        unknown_classes: UnknownClasses = "error",
        missing: Sequence[Any] = (),
    ) -> Annotations:
        """From three equally long columns; `tasks`, `workers`, `classes` may name more than the rows mention.

        Values in `missing` stand for nothing, as None does.
        """
        columns = {"task": task, "worker": worker, "label": label, "weight": weight, "time": time}
        columns |= {"duration": duration, "confidence": confidence}
        known = {"tasks": tasks, "workers": workers, "classes": classes, "missing": missing}
        return cls._of(encode(columns, duplicates=duplicates, unknown_classes=unknown_classes, **known))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        columns: dict[str, str] | None = None,
        classes: Any = None,
        duplicates: Duplicates = "error",
        unknown_classes: UnknownClasses = "error",
        missing: Sequence[Any] = (),
    ) -> Annotations:
        """From a table of pandas, polars, pyarrow, duckdb, or anything else that exports an Arrow stream."""
        from ..core.intake.columns import pick
        from ..core.intake.frames import to_polars

        table, notes = pick(to_polars(frame), columns, "the frame", missing)
        known = {"classes": classes, "notes": notes, "missing": missing}
        return cls._of(encode(table, duplicates=duplicates, unknown_classes=unknown_classes, **known))

    @classmethod
    def from_matrix(
        cls, matrix: Any, *, tasks: Any = None, workers: Any = None, classes: Any = None, missing: Any = None
    ) -> Annotations:
        """From a wide table, one row a task and one column a worker; None, NaN and `missing` are empty cells.

        `missing` is a value or a list of values.
        """
        from ..io.wide import melt

        task, worker, label, all_tasks, all_workers, notes = melt(matrix, tasks, workers, missing)
        columns = {"task": task, "worker": worker, "label": label}
        return cls._of(encode(columns, tasks=all_tasks, workers=all_workers, classes=classes, notes=notes))

    @classmethod
    def from_snorkel(cls, matrix: Any, *, cardinality: int | None = None) -> Annotations:
        """From Snorkel's label matrix L (tasks × labelling functions, -1 = abstain, classes 0..cardinality-1)."""
        from ..io.wide import snorkel_classes

        matrix = np.asarray(matrix)
        return cls.from_matrix(matrix, classes=snorkel_classes(matrix, cardinality), missing=-1)

    @classmethod
    def _of(cls, coded: Coded) -> Annotations:
        return cls(**{name: getattr(coded, name) for name in Coded.__dataclass_fields__})

    # ---------------------------------------------------------------- sizes and views
    def __len__(self) -> int:
        return len(self.task)

    def _repr_html_(self) -> str:
        from ..core.notebook import annotations_html

        return annotations_html(self)

    def __repr__(self) -> str:
        return (
            f"Annotations({len(self):,} annotations, {self.n_tasks:,} tasks, "
            f"{self.n_workers:,} workers, {self.n_classes:,} classes)"
        )

    @property
    def numbers(self) -> dict[str, npt.NDArray[np.float64]]:
        """What the rows carry besides their label: weight, time, duration (both in seconds), confidence."""
        return {name: getattr(self, name) for name in NUMBERS if getattr(self, name) is not None}

    @property
    def n_tasks(self) -> int:
        """Number of tasks, those without labels included."""
        return len(self.tasks)

    @property
    def n_workers(self) -> int:
        """Number of workers, those without labels included."""
        return len(self.workers)

    @property
    def n_classes(self) -> int:
        """Number of classes, those never observed included."""
        return len(self.classes)

    @cached_property
    def task_offsets(self) -> npt.NDArray[np.int64]:
        """Rows of task i are task_offsets[i] .. task_offsets[i + 1]."""
        return offsets(self.task, self.n_tasks)

    @cached_property
    def worker_order(self) -> npt.NDArray[np.int64]:
        """Row numbers sorted by worker, then task."""
        return np.argsort(self.worker, kind="stable")

    @cached_property
    def worker_offsets(self) -> npt.NDArray[np.int64]:
        """Rows of worker w are worker_order[worker_offsets[w] .. worker_offsets[w + 1]]."""
        return offsets(self.worker, self.n_workers)

    @cached_property
    def cell(self) -> npt.NDArray[np.int32]:
        """worker * n_classes + label of every row: where its confusion entries live."""
        if self.n_workers * self.n_classes >= 2**31:
            raise DataError(f"{self.n_workers:,} workers × {self.n_classes:,} classes are too many for one model")
        return self.worker * np.int32(self.n_classes) + self.label

    @cached_property
    def labels_per_task(self) -> npt.NDArray[np.int64]:
        """Number of rows of each task."""
        return np.diff(self.task_offsets)

    @cached_property
    def labels_per_worker(self) -> npt.NDArray[np.int64]:
        """Number of rows of each worker."""
        return np.diff(self.worker_offsets)

    @cached_property
    def votes(self) -> npt.NDArray[np.float64]:
        """votes[task, class]: how often (with weights: how heavily) each class was said of each task."""
        return self.count_votes()

    def count_votes(self) -> npt.NDArray[np.float64]:
        """`votes`, counted anew: for who means to overwrite them."""
        out = np.empty((self.n_tasks, self.n_classes))
        # A block of tasks at a time: numpy's copies stay small, and the counts in the cache.
        for lo in range(0, self.n_tasks, 65_536):
            hi = min(lo + 65_536, self.n_tasks)
            rows = slice(self.task_offsets[lo], self.task_offsets[hi])
            flat = (self.task[rows] - np.int32(lo)).astype(np.int64) * self.n_classes + self.label[rows]
            weight = None if self.weight is None else self.weight[rows]
            counts = np.bincount(flat, weights=weight, minlength=(hi - lo) * self.n_classes)
            out[lo:hi] = counts.reshape(hi - lo, self.n_classes)
        return out

    @property
    def single_label(self) -> bool:
        """Whether no task has more than one label: then nothing can be learnt about the workers."""
        return len(self) > 0 and int(self.labels_per_task.max()) <= 1

    # ---------------------------------------------------------------- verbs, each returns a new object
    def take(self, rows: npt.NDArray[Any]) -> Annotations:
        """The rows of a mask or of ascending row numbers, with the same vocabularies."""
        pick = np.flatnonzero(rows) if rows.dtype == bool else rows
        numbers: dict[str, Any] = {name: values[pick] for name, values in self.numbers.items()}
        return replace(
            self,
            task=self.task[pick],
            worker=self.worker[pick],
            label=self.label[pick],
            ledger=Ledger(len(pick), len(pick)),
            **numbers,
        )

    def select(self, *, tasks: Iterable[Any] | None = None, workers: Iterable[Any] | None = None) -> Annotations:
        """Only these tasks and workers, by name; the vocabularies shrink with them, the classes stay."""
        keep = np.ones(len(self), dtype=bool)
        vocabularies: dict[str, Any] = {"tasks": self.tasks, "workers": self.workers}
        for name, wanted, codes in (("tasks", tasks, self.task), ("workers", workers, self.worker)):
            if wanted is None:
                continue
            member = np.zeros(len(vocabularies[name]), dtype=bool)
            member[codes_of(vocabularies[name], wanted, name)] = True
            keep &= member[codes]
            vocabularies[name] = vocabularies[name].filter(pl.Series(member))
        part = self.take(keep)
        return replace(
            part,
            task=recode(part.task, self.tasks, vocabularies["tasks"]),
            worker=recode(part.worker, self.workers, vocabularies["workers"]),
            **vocabularies,
        )

    def split(
        self, fraction: float, *, by: Literal["annotation", "task"] = "annotation", seed: int = 0
    ) -> tuple[Annotations, Annotations]:
        """(kept, held out): a random `fraction` of the annotations, or of the tasks, is held out."""
        if not 0 <= fraction <= 1:
            raise ParameterError(f"fraction must be between 0 and 1, got {fraction}")
        if by not in ("annotation", "task"):
            raise ParameterError(f"by must be 'annotation' or 'task', got {by!r}")
        rng = np.random.default_rng(seed)
        n = len(self) if by == "annotation" else self.n_tasks
        out = np.zeros(n, dtype=bool)
        out[rng.permutation(n)[: round(fraction * n)]] = True
        rows = out if by == "annotation" else out[self.task]
        return self.take(~rows), self.take(rows)

    def shards(self, n: int) -> list[Annotations]:
        """At most n runs of consecutive tasks with about equally many rows; workers and classes are shared."""
        if n < 1:
            raise ParameterError(f"the number of shards must be at least 1, got {n}")
        cuts = np.searchsorted(self.task_offsets, np.linspace(0, len(self), n + 1)[1:-1])
        edges = np.unique(np.concatenate([[0], cuts, [self.n_tasks]]))
        return [self._run(int(lo), int(hi)) for lo, hi in pairwise(edges)] or [self]

    def _run(self, lo: int, hi: int) -> Annotations:
        part = self.take(np.arange(self.task_offsets[lo], self.task_offsets[hi]))
        return replace(part, task=part.task - np.int32(lo), tasks=self.tasks[lo:hi])

    def append(self, other: Annotations, *, duplicates: Duplicates = "error") -> Annotations:
        """Both sets of rows over the union of the vocabularies. Rows of a side without weights weigh 1; of a side
        without times, durations or confidences they have none."""
        both = pl.concat([self.to_frame(), other.to_frame()], how="diagonal_relaxed")
        if "weight" in both:
            both = both.with_columns(pl.col("weight").fill_null(1.0))
        names = [n for n in NUMBERS if n in both]
        coded = encode(
            {name: both[name] for name in ("task", "worker", "label", *names)},
            tasks=union(self.tasks, other.tasks),
            workers=union(self.workers, other.workers),
            classes=union(self.classes, other.classes),
            duplicates=duplicates,
        )
        return replace(self._of(coded), ledger=(self.ledger + other.ledger).then(coded.ledger))

    def with_classes(self, classes: Sequence[Any] | pl.Series) -> Annotations:
        """The same rows where `classes` may be true too; the classes there are stay."""
        wider = union(self.classes, sorted_vocabulary(classes, "label"))
        return replace(self, label=recode(self.label, self.classes, wider), classes=wider)

    def to_frame(self) -> pl.DataFrame:
        """The rows with the user's own ids again."""
        frame = pl.DataFrame(
            {
                "task": self.tasks.gather(self.task),
                "worker": self.workers.gather(self.worker),
                "label": self.classes.gather(self.label),
            }
        )
        return frame.with_columns(**{n: pl.Series(v) for n, v in self.numbers.items()})

    def describe(self) -> dict[str, Any]:
        """What is in the data, as plain values: sizes, overlap, graph, agreement, ledger."""
        from .describe import describe

        return describe(self)


def as_annotations(votes: Any) -> Annotations:
    """Annotations as they are, a table task, worker, label as annotations; what else there is, is said how to read."""
    if isinstance(votes, Annotations):
        return votes
    if isinstance(votes, str | Path):
        raise DataError(f"annotations are needed, got the path {str(votes)!r}; read the file first: cw.read(path)")
    if isinstance(votes, np.ndarray | list | tuple):
        kind = type(votes).__name__
        raise DataError(
            f"annotations are needed, got a {kind}; a matrix with a row a task and a column a worker goes through "
            "cw.Annotations.from_matrix(matrix), three columns through cw.Annotations.from_arrays(task, worker, label)"
        )
    found = Annotations.from_frame(votes)
    told = [f"{n:,} rows are left out: {reason}" for reason, n in found.ledger.dropped.items()]
    told += [note for note in found.ledger.notes if "missing value" in note]
    for note in told:
        warnings.warn(f"the frame: {note}", LedgerWarning, stacklevel=3)
    return found
