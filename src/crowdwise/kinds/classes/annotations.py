"""Votes whose answers are classes (`Annotations`), and their kind."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ...core.arrays import F8, I4
from ...core.errors import DataError, LedgerWarning
from ...core.faults import caller_level
from ...core.intake.coding import encode
from ...core.intake.column import UnknownClasses
from ...core.intake.columns import pick
from ...core.intake.frames import to_polars
from ...core.intake.matrix import melt, snorkel_classes
from ...core.intake.repeats import Duplicates
from ...core.kind import Kind
from ...core.ledger import Ledger
from ...core.side_tables import SideTable
from ...core.vocabulary import Codes, recode, sorted_vocabulary, union
from ...core.votes import Votes
from ..hooks import CommonHooks
from .answers import ClassCoder, Classes

if TYPE_CHECKING:
    from ...active.plan import Plan
    from ...core.doubt import InputDoubt
    from ...core.estimate import Estimate, WorkerSummary
    from ...core.method import Method
    from ...core.model import Model
    from ...core.result import Result
    from ...evaluation.guarantee.verdicts import Verdicts
    from ...evaluation.scores import Table
    from ...evaluation.statement import Statement
    from ...judges.study import Judges
    from ...report.sheet import Sheet
    from ...workers.flags import Coefficient, Flag
    from ...workers.studied import Studied


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Annotations(Votes[Classes]):
    """(task, worker, label) rows as codes into sorted vocabularies; rows are sorted by task, then worker.

    >>> votes = Annotations.from_arrays(["t1", "t1", "t2"], ["ann", "bob", "ann"], ["cat", "dog", "cat"])
    >>> votes
    Annotations(3 annotations, 2 tasks, 2 workers, 2 classes)
    >>> votes.classes.to_list()
    ['cat', 'dog']
    """

    def __init__(
        self,
        task: Codes,
        worker: Codes,
        label: Codes | None = None,
        tasks: Any = None,
        workers: Any = None,
        classes: Any = None,
        weight: F8 | None = None,
        time: F8 | None = None,
        duration: F8 | None = None,
        confidence: F8 | None = None,
        ledger: Ledger | None = None,
        about_tasks: SideTable = None,
        about_workers: SideTable = None,
        links: SideTable = None,
        answers: Classes | None = None,
        about_rows: SideTable = None,
    ) -> None:
        """Use codes and vocabularies as they are; `label` and `classes` replace those of `answers`."""
        if answers is None:
            answers = Classes(label, classes)  # type: ignore[arg-type]
        elif label is not None or classes is not None:
            same = classes is None
            answers = Classes(
                answers.label if label is None else label,
                answers.classes if same else classes,
                answers.order if same else None,
            )
        values = {"task": task, "worker": worker, "answers": answers, "tasks": tasks, "workers": workers}
        values |= {"weight": weight, "time": time, "duration": duration, "confidence": confidence}
        values |= {"ledger": Ledger(0, 0) if ledger is None else ledger}
        values |= {"about_tasks": about_tasks, "about_workers": about_workers, "links": links, "about_rows": about_rows}
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

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
        order: Sequence[Any] | None = None,
    ) -> Annotations:
        """Create annotations from three columns of equal length.

        Args:
            task: Task of each row.
            worker: Worker of each row.
            label: Label of each row.
            weight: Weight of each row.
            time: Time of each row.
            duration: Seconds spent on each row.
            confidence: Confidence stated by the worker, 0 to 1.
            tasks: All tasks, if there are some without rows.
            workers: All workers, if there are some without rows.
            classes: All classes, if some do not occur.
            duplicates: What to do when a worker gave a task different labels: "error", "first", "last" or "keep".
            unknown_classes: What to do with labels outside `classes`: "error" or "drop".
            missing: Labels that stand for a missing one, as None does.
            order: Classes from the lowest to the highest, if they are ordered.
        """
        columns = {"task": task, "worker": worker, "label": label, "weight": weight, "time": time}
        columns |= {"duration": duration, "confidence": confidence}
        coder = partial(ClassCoder, classes=classes, unknown_classes=unknown_classes, order=order)
        names = {"tasks": tasks, "workers": workers, "missing": missing}
        return cls._of(encode(columns, coder, duplicates=duplicates, **names))

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
        """Create annotations from a table of pandas, polars, pyarrow, duckdb, or any exporter of Arrow streams.

        Args:
            frame: The table.
            columns: The names task, worker, label, time, ... mapped to those of the table, if they differ.
            classes: As for `from_arrays`.
            duplicates: As for `from_arrays`.
            unknown_classes: As for `from_arrays`.
            missing: As for `from_arrays`.
        """
        table, notes = pick(to_polars(frame), columns, "the frame", missing)
        coder = partial(ClassCoder, classes=classes, unknown_classes=unknown_classes)
        return cls._of(encode(table, coder, duplicates=duplicates, notes=notes, missing=missing))

    @classmethod
    def from_matrix(
        cls, matrix: Any, *, tasks: Any = None, workers: Any = None, classes: Any = None, missing: Any = None
    ) -> Annotations:
        """Create annotations from a wide table with one row per task and one column per worker.

        Args:
            matrix: Labels; None and NaN are empty cells.
            tasks: Names of the rows.
            workers: Names of the columns.
            classes: All classes, if some do not occur.
            missing: Value, or list of values, of further empty cells.
        """
        task, worker, label, all_tasks, all_workers, notes = melt(matrix, tasks, workers, missing)
        columns = {"task": task, "worker": worker, "label": label}
        coder = partial(ClassCoder, classes=classes)
        return cls._of(encode(columns, coder, tasks=all_tasks, workers=all_workers, notes=notes))

    @classmethod
    def from_snorkel(cls, matrix: Any, *, cardinality: int | None = None) -> Annotations:
        """Create annotations from Snorkel's label matrix (tasks × functions, -1 = abstain, 0..cardinality-1)."""
        matrix = np.asarray(matrix)
        return cls.from_matrix(matrix, classes=snorkel_classes(matrix, cardinality), missing=-1)

    # ---------------------------------------------------------------- properties of votes with classes
    def __repr__(self) -> str:
        return (
            f"Annotations({len(self):,} annotations, {self.n_tasks:,} tasks, "
            f"{self.n_workers:,} workers, {self.n_classes:,} classes)"
        )

    @property
    def label(self) -> Codes:
        """Class code of each row."""
        return self.answers.label

    @property
    def classes(self) -> pl.Series:
        """All classes, including unused ones."""
        return self.answers.classes

    @property
    def n_classes(self) -> int:
        """Number of classes, including unused ones."""
        return len(self.answers.classes)

    @cached_property
    def cell(self) -> I4:
        """worker * n_classes + label of every row, the index of its entries in confusion tables."""
        if self.n_workers * self.n_classes >= 2**31:
            raise DataError(f"{self.n_workers:,} workers × {self.n_classes:,} classes are too many for one model")
        return self.worker * np.int32(self.n_classes) + self.label

    @cached_property
    def votes(self) -> F8:
        """votes[task, class]: the number (with weights: the total weight) of the labels of each class."""
        return self.count_votes()

    def count_votes(self) -> F8:
        """Return `votes` as a new array."""
        out = np.empty((self.n_tasks, self.n_classes))
        # In blocks of tasks, so that numpy's copies are small and the counts stay in the cache.
        for lo in range(0, self.n_tasks, 65_536):
            hi = min(lo + 65_536, self.n_tasks)
            rows = slice(self.task_offsets[lo], self.task_offsets[hi])
            flat = (self.task[rows] - np.int32(lo)).astype(np.int64) * self.n_classes + self.label[rows]
            weight = None if self.weight is None else self.weight[rows]
            counts = np.bincount(flat, weights=weight, minlength=(hi - lo) * self.n_classes)
            out[lo:hi] = counts.reshape(hi - lo, self.n_classes)
        return out

    def with_classes(self, classes: Sequence[Any] | pl.Series) -> Annotations:
        """Return the same rows with further classes; without new classes, the order is kept."""
        wider = union(self.classes, sorted_vocabulary(classes, "label"))
        if len(wider) == len(self.classes):
            return self
        return self.with_labels(recode(self.label, self.classes, wider), wider)

    def with_labels(self, label: Codes, classes: pl.Series | None = None) -> Annotations:
        """Return the same tasks and workers with other labels, and optionally other classes."""
        return replace(self, answers=Classes(label, self.classes if classes is None else classes))


def as_annotations(votes: Any) -> Annotations:
    """Return annotations as they are and tables with columns task, worker, label as annotations; raise otherwise."""
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
    annotations = Annotations.from_frame(votes)
    messages = [f"{n:,} rows are left out: {reason}" for reason, n in annotations.ledger.dropped.items()]
    messages += [message for message in annotations.ledger.notes if "missing value" in message]
    for message in messages:
        warnings.warn(f"the frame: {message}", LedgerWarning, stacklevel=caller_level())
    return annotations


class ClassHooks(CommonHooks):
    """Hooks of class labels."""

    display_name = "class labels"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import ClassPosterior, ClassWorkers

        return ClassPosterior, ClassWorkers

    def class_table(self, result: Result) -> pl.DataFrame:
        from .scoring.class_quality import class_table

        return class_table(result)

    def soft_labels(self, result: Result, tasks: Any = None) -> Any:
        from .soft_labels import soft_labels

        return soft_labels(result, tasks)

    def doubts(self, votes: Votes[Any]) -> list[InputDoubt]:
        from .doubts import doubts

        return doubts(votes)  # type: ignore[arg-type]

    def coerce(self, votes: Any) -> Votes[Any]:
        return votes if isinstance(votes, Votes) else as_annotations(votes)

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:
        from .scoring.summaries import describe

        return describe(as_annotations(votes))

    def votes_html(self, votes: Votes[Any]) -> str:
        from ...plots.notebook import annotations_html

        return annotations_html(as_annotations(votes))

    def result_html(self, result: Result) -> str:
        from ...plots import html

        return html(result)

    def plots(self, result: Result) -> Any:
        from ...plots import Plots

        return Plots(result)

    def model(self, result: Result) -> Model[Any] | None:
        from .methods.infer import model_of

        return model_of(result)

    def infer(self, result: Result, votes: Votes[Any], unknown_workers: Any) -> Result:
        from .methods.infer import infer

        return infer(result, as_annotations(votes), unknown_workers)

    def evaluate(self, result: Result | pl.DataFrame, truth: Any, **options: Any) -> Any:
        from .scoring.evaluate import evaluate_classes

        return self.call(evaluate_classes, result, truth, **options)

    def compare(self, votes: Votes[Any], methods: Sequence[str] | None = None, **options: Any) -> Any:
        from .scoring.compare import compare_classes

        return self.call(compare_classes, votes, methods, **options)

    def calibrate(self, result: Result, votes: Votes[Any], gold: Any = None, *, prior: Any = None) -> Result:
        from .scoring.calibrate import calibrate

        return calibrate(result, as_annotations(votes), gold, prior=prior)

    def statement(self, result: Result, error: float) -> Statement:
        from ...evaluation.statement import trust

        return trust(result, error)

    def sentences(self, votes: Votes[Any], result: Result) -> list[str]:
        from .scoring.summaries import sentences

        return sentences(as_annotations(votes), result)

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from ...workers.tables import worker_rows

        return worker_rows(result, limit)

    def show(self, result: Result) -> tuple[str, list[Table]]:
        from .scoring.summaries import show_classes

        return show_classes(result)

    def inspect(self, facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:
        from .scoring.summaries import inspect_classes

        return inspect_classes(facts, limit)

    def study(self, votes: Votes[Any], result: Result, **options: Any) -> Studied:
        from .workers.study import study_classes

        return self.call(study_classes, votes, result, **options)

    def agreement(self, votes: Votes[Any], **options: Any) -> list[Coefficient]:
        from .workers.agreement import agreement

        return self.call(agreement, votes, **options)

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        from .workers.study import flag_classes

        return flag_classes(as_annotations(votes), result)

    def alpha(self, votes: Votes[Any]) -> float | None:
        from .workers.agreement import krippendorff_alpha
        from .workers.study import agreement_options

        annotations = as_annotations(votes)
        return krippendorff_alpha(annotations, **agreement_options(annotations, None, None))

    def check_grades(self, votes: Votes[Any], **options: Any) -> None:
        from .workers.agreement import check_grades

        self.call(check_grades, votes, **options)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page.page import class_page

        return self.call(class_page, votes, result, **options)

    def plan(self, votes: Votes[Any], **options: Any) -> Plan:
        from ...active.plan import plan_classes

        return self.call(plan_classes, votes, **options)

    def default_method(self, votes: Votes[Any], gold: Any) -> str:
        from .methods.judges import class_default

        return class_default(as_annotations(votes), gold)

    def verdicts(self, result: Result) -> Verdicts:
        from ...evaluation.guarantee.verdicts import class_verdicts

        return class_verdicts(result)

    def one_worker(self) -> Method:
        from .methods.voting import MajorityVote

        return MajorityVote()

    def judges(self, votes: Votes[Any], gold: Any = None, **options: Any) -> Judges:
        from ...judges.study import judges

        return self.call(judges, votes, gold, **options)


KIND = Kind(
    name="classes",
    hooks=ClassHooks(),
    columns={"label": "label response answer annotation vote judgment judgement category verdict choice"},
    coder=ClassCoder,
    default="adaptive",
    answers_word="annotations",
    votes=Annotations,
)
