"""Options of reading: one record for Python, the command line and the readers of all formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .doubt import check_allowed
from .errors import ParameterError
from .intake.column import UnknownClasses
from .intake.repeats import Duplicates, check_duplicates

Multiple = Literal["error", "join", "drop", "set"]
Rejected = Literal["keep", "drop"]
ALL = "all"  # as a question: every question of the export
SETS = "sets"  # the kind of answers that hold several labels at once


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file of votes; each format uses the options that apply to it.

    Args:
        columns: Our column names (task, worker, label, time, weight, ...) mapped to those of the file.
        duplicates: What to do when a worker gave a task different labels: "error", "first", "last" or "keep".
        format: Name of the file's format; None detects it.
        question: Which question of an export to read, where it has several.
        multiple: What to do with an answer that holds several labels: refuse the file ("error"), join them into one
            class "a|b" ("join"), drop the row ("drop"), or read all answers as label sets ("set"). None reads sets,
            unless another kind of answers is expected.
        predictions: Whether predictions of models in an export count as votes.
        rejected: Whether assignments that the requester rejected are kept ("keep") or dropped ("drop").
        classes: All classes, where the votes may not contain every one of them.
        unknown_classes: What to do with labels outside `classes`: "error" or "drop".
        missing: Values that stand for a missing label, such as R's "NA".
        kind: Kind of the answers ("classes", "numbers", "sets", ...); None detects it.
        likely: Kind to assume where neither `kind` nor the columns determine it.
        order: Classes from the lowest to the highest, where they are ordered.
        offered: Choices that each task offered, for label sets: a mapping, a file or a frame with one row per task.
        worker_columns: Columns of the workers in a wide table: names, patterns such as "Coder*" or ranges such as
            "C1:C5"; the other columns are about the tasks.
        links: File or frame with two columns of linked tasks and an optional third column of weights.
        about_tasks: File or frame with one row per task (text, url, ...).
        about_workers: File or frame with one row per worker (group, family, cost, ...).
        allow: Names of doubts about the votes that do not count (see `crowdwise.core.doubt.DOUBTS`), or "all".
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    duplicates: Duplicates = "error"
    format: str | None = None
    question: str | None = None
    multiple: Multiple | None = None
    predictions: bool = False
    rejected: Rejected = "keep"
    classes: Any = None
    unknown_classes: UnknownClasses = "error"
    missing: Sequence[str] = ()
    kind: str | None = None
    likely: str | None = None
    order: Sequence[Any] | None = None
    offered: Any = None
    worker_columns: Sequence[str] = ()
    links: Any = None
    about_tasks: Any = None
    about_workers: Any = None
    allow: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.columns is None:
            object.__setattr__(self, "columns", {})
        check_duplicates(self.duplicates)
        if self.multiple not in (None, "error", "join", "drop", "set"):
            raise ParameterError(f"multiple must be error, join, drop or set, got {self.multiple!r}")
        if self.rejected not in ("keep", "drop"):
            raise ParameterError(f"rejected must be keep or drop, got {self.rejected!r}")
        check_allowed(self.allow)
        if isinstance(self.worker_columns, str):
            object.__setattr__(self, "worker_columns", tuple(self.worker_columns.split(",")))
        if self.worker_columns and self.format not in (None, "wide"):
            raise ParameterError(
                f"columns of workers (--workers) are for wide tables, not for the format {self.format}; leave one out"
            )
        if isinstance(self.missing, str):
            raise ParameterError(f"missing must be a list of values, got {self.missing!r}; write [{self.missing!r}]")

    @property
    def requested_kind(self) -> str | None:
        """The kind that the caller named, directly or by an option that only one kind has; None: the file decides."""
        if self.kind is None and (self.classes is not None or self.order is not None):
            return "classes"
        return SETS if self.kind is None and self.multiple == "set" else self.kind

    @property
    def expected_kind(self) -> str | None:
        """The requested kind, else the likely one."""
        return self.requested_kind or self.likely

    def allow_columns(self, where: str, *roles: str) -> None:
        """Refuse `columns` for roles other than these, which a format cannot rename."""
        refused = [role for role in self.columns if role not in roles]
        if refused:
            names = " and ".join([", ".join(roles[:-1]), roles[-1]] if len(roles) > 1 else roles)
            allowed = f"only {names} can be named" if roles else "no column can be named"
            raise ParameterError(f"{where}: in this format {allowed} with --columns, got {', '.join(refused)}")
