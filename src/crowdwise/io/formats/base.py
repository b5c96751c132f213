"""The protocol of a format (`sniff`, `read`), and the rows that its reader collects."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core import kind as kinds
from ...core.errors import DataError
from ...core.options import SETS, ReadOptions
from ...core.vocabulary import quote
from ..detect_kind import kind_from_answers
from ..sources import Source

NAN = float("nan")
SKIPPED = "skipped by the worker"
NO_ANSWER = "no answer to the question"
SEVERAL = "several labels at once"
TRUTH = "ground truth, kept as gold"
REJECTED = "rejected by the requester"
SURE, LIKELY = 3, 2
TASK_COLUMNS = ("text", "url")  # columns about the tasks


@dataclass(frozen=True)
class FormatMatch:
    """How certain it is that a file has a format, and why."""

    certainty: int
    why: str


@dataclass(frozen=True)
class FileHead:
    """The beginning of a file: its first JSON objects, or its header and first rows, or the names of its members.

    `inner` is the first object of an archive's first JSONL file, `document` that of its first JSON file, if they can be
    read.
    """

    kind: Literal["objects", "table", "archive", "xml", "other"]
    objects: list[dict[str, Any]] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    inner: dict[str, Any] | None = None
    document: dict[str, Any] | None = None
    fault: str = ""


@dataclass(frozen=True)
class TaskItem:
    """A task of the file: its name among the votes, its id in the file, and the data that were shown."""

    name: str
    id: Any
    data: dict[str, Any]


@dataclass(frozen=True)
class Control:
    """Label Studio's control of a question.

    `from_name` is the question, `to_name` the object that it is about, `kind` the type of control. `joined` states
    whether a label may be several joined choices (see `ReadOptions.multiple`), `lists` whether it is a JSON list.
    """

    from_name: str
    to_name: str = "text"
    kind: str = "choices"
    joined: bool = False
    lists: bool = False


@dataclass
class ParsedFile:
    """The parsed content of a file.

    Attributes:
        columns: Columns for `encode`; an export's answers are in the column `label`, whatever their kind.
        dropped: Number of rows that the format dropped, per reason.
        notes: Notes for the user.
        question: The question that was read.
        gold: Gold labels (task, label).
        workers: Workers and whether they are human or models (worker, source).
        tasks: All tasks, also those without rows.
        all_workers: All workers, also those without rows.
        decimal_comma: Whether 3,5 may be a number.
        items: Iterates over the file again for the data of its tasks, if the format has them.
        control: The question as Label Studio names it.
        kind: Kind of the answers.
        certain: Whether the file itself states the kind.
        about_tasks: Further columns about the tasks (task, ...).
        repeats_allowed: Whether a worker may answer a task several times, since the workers are not known.
    """

    columns: dict[str, Any]
    dropped: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    question: str | None = None
    gold: pl.DataFrame | None = None
    workers: pl.DataFrame | None = None
    tasks: pl.Series | None = None
    all_workers: pl.Series | None = None
    decimal_comma: bool = False
    items: Callable[[], Iterator[TaskItem]] | None = None
    control: Control | None = None
    kind: str = "classes"
    certain: bool = False
    about_tasks: pl.DataFrame | None = None
    repeats_allowed: bool = False


class Format(Protocol):
    """The interface of a format's module."""

    def sniff(self, head: FileHead) -> FormatMatch | None:
        """Return a match if the beginning of a file looks like this format."""

    def read(self, source: Source, where: str, options: ReadOptions) -> ParsedFile:
        """Read the whole file."""


class RowBuilder:
    """Collects rows as integer codes, so that a file of any size takes a few numbers per row.

    `kind` is the kind of all answers, if the format has only one. `texts` are those of tasks, for the table about them.
    """

    def __init__(self, kind: str | None = None) -> None:
        self._kind = kind
        self._kinds: set[str | None] = set()
        self._names: dict[str, dict[str | None, int]] = {"task": {}, "worker": {}, "label": {}}
        self._codes = {name: array("i") for name in self._names}
        self._numbers = {name: array("d") for name in ("time", "duration", "confidence")}
        self._several = array("b")
        self._lists: dict[str | None, list[str]] = {}
        self._example = ""
        self._empty: list[tuple[str | None, str | None, float, float]] = []
        self.texts: dict[str, str] = {}
        self.dropped: dict[str, int] = {}
        self.gold: dict[str, str] = {}
        self.gold_sets: dict[str, list[str]] = {}  # of tasks with several true labels, where answers are read as sets
        self.sources: dict[str, str] = {}
        self._facts: dict[int, Mapping[str, Any]] = {}  # columns about rows, by row
        self._unusable: dict[str | None, int] = {}

    def __len__(self) -> int:
        return len(self._several)

    def add(
        self,
        task: str | None,
        worker: str | None,
        labels: Sequence[str],
        *,
        time: float = NAN,
        duration: float = NAN,
        confidence: float = NAN,
        kind: str | None = None,
        facts: Mapping[str, Any] | None = None,
        source: str | None = None,
    ) -> None:
        """Add one answer; several labels are resolved by the policy, an empty list is a missing label.

        `kind` is the kind of the answer, if the file states it (a star rating, a choice); `facts` are columns about
        the row; `source` states whether the worker is human or a model.
        """
        if worker and source is not None:
            self.sources[worker] = source
        if facts:
            self._facts[len(self)] = facts
        if labels:
            self._kinds.add(kind or self._kind)
        label: str | None = labels[0] if labels else None
        if len(labels) > 1:
            label = "|".join(sorted(choice.replace("|", "||") for choice in labels))
            self._lists.setdefault(label, list(labels))
            self._example = self._example or f"task {quote([task])}, worker {quote([worker])}: {quote(labels)}"
        for name, value in (("task", task), ("worker", worker), ("label", label)):
            names = self._names[name]
            self._codes[name].append(names.setdefault(value, len(names)))
        for name, number in (("time", time), ("duration", duration), ("confidence", confidence)):
            self._numbers[name].append(number)
        self._several.append(len(labels) > 1)

    def add_empty(self, task: str | None, worker: str | None, time: float = NAN, duration: float = NAN) -> None:
        """Add an empty answer: a list of nothing if the others are lists of marks or labels, else a missing answer."""
        self._empty.append((task, worker, time, duration))

    def _resolve_empty(self, sets: bool) -> None:
        """Add the empty answers in the form of the kind of the others, or drop them."""
        kind = self._only_kind()
        if sets:
            self._lists[""] = []
            for task, worker, time, duration in self._empty:
                self.add(task, worker, [""], time=time, duration=duration, kind=kind)
                self._several[-1] = True  # not one label called "", but a list of none
            self._empty = []
            return
        blank = None if kind is None else kinds.get(kind).blank
        for task, worker, time, duration in self._empty:
            if blank is None:
                self.drop(NO_ANSWER)
            else:
                self.add(task, worker, [blank], time=time, duration=duration, kind=kind)
        self._empty = []

    def _only_kind(self) -> str | None:
        return next(iter(self._kinds)) if len(self._kinds) == 1 else None

    def drop(self, reason: str, n: int = 1, worker: str | None = None) -> None:
        """Count dropped rows; `worker` is counted as having given unusable answers."""
        self.dropped[reason] = self.dropped.get(reason, 0) + n
        self._unusable[worker] = self._unusable.get(worker, 0) + n

    def mention(self, task: str | None) -> None:
        """Add a task that is to appear in the results even without labels."""
        if task is not None:
            self._names["task"].setdefault(task, len(self._names["task"]))

    def truth(self, task: str | None, label: str, at: str) -> None:
        """Store the gold label of a task."""
        if task is not None and self.gold.setdefault(task, label) != label:
            raise DataError(
                f"{at}: task {quote([task])} has two different gold labels, {quote([self.gold[task], label])}; "
                "keep one of them"
            )

    def rename_workers(self, names: Mapping[str, str]) -> None:
        """Rename workers; two that get the same name are merged."""
        self._empty = [
            (task, worker and names.get(worker, worker), time, duration) for task, worker, time, duration in self._empty
        ]
        self.sources = {names.get(worker, worker): source for worker, source in self.sources.items()}
        old = self._names["worker"]
        new: dict[str | None, int] = {}
        table = np.array(
            [new.setdefault(names.get(w, w) if w is not None else None, len(new)) for w in old], dtype=np.int32
        )
        self._names["worker"] = new
        if len(table):
            self._codes["worker"] = array("i", table[np.asarray(self._codes["worker"])].tobytes())

    def kind(self, question: str | None) -> tuple[str, bool, tuple[str, ...]]:
        """Return the kind of the answers, whether the file itself states it, and notes."""
        only_kind = self._only_kind()
        if only_kind is not None:
            return only_kind, True, ()
        labels = pl.Series(list(self._names["label"]), dtype=pl.String).drop_nulls()
        kind, notes = kind_from_answers(question, labels)
        return kind, False, notes

    def finish(
        self, where: str, options: ReadOptions, question: str | None = None, notes: tuple[str, ...] = ()
    ) -> ParsedFile:
        """Return the content, after applying the policy for several labels."""
        n = sum(self._several)
        sets = SETS in (options.expected_kind, options.multiple) or (
            n > 0 and options.multiple is None and options.expected_kind is None
        )
        if n and not sets and options.multiple not in ("join", "drop"):
            raise DataError(
                f"{where}: {n:,} answers hold several labels at once (first: {self._example}); use --multiple join "
                "to make each combination a class, --multiple drop, or --kind sets to read label sets"
            )
        n_empty = len(self._empty)
        self._resolve_empty(sets)
        kind, certain, why = self.kind(question)
        several = np.asarray(self._several, dtype=bool)
        if sets and options.expected_kind is None:
            why = (f"{n:,} answers hold several labels at once, so all are read as label sets; see --multiple",)
        if sets and n_empty:
            notes += (f"{n_empty:,} answers in which no label is ticked are read as the empty set",)
        keep = ~several if n and options.multiple == "drop" else slice(None)
        if n and options.multiple == "drop":
            self.drop(SEVERAL, n)
        named = [task for task in self._names["task"] if task is not None and task.strip()]
        return ParsedFile(
            columns=self._columns(keep, several if sets else None),
            dropped=self.dropped,
            notes=notes + why if options.expected_kind is None else notes,
            question=question,
            kind=SETS if sets else kind,
            certain=sets or certain,
            gold=self._truths(sets),
            workers=_about_workers(self.sources, self._unusable),
            tasks=pl.Series("task", named, dtype=pl.String),
            about_tasks=pl.DataFrame({"task": list(self.texts), "text": list(self.texts.values())})
            if self.texts
            else None,
        )

    def _columns(self, keep: Any, several: Any) -> dict[str, Any]:
        """Return the columns of the rows to keep; answers are lists if `several` is given (more than one label)."""
        columns: dict[str, Any] = {}
        for name, names in self._names.items():
            codes = np.asarray(self._codes[name], dtype=np.int32)[keep]
            columns[name] = pl.Series(name, list(names), dtype=pl.String).gather(codes)
        if several is not None:
            codes = np.asarray(self._codes["label"])[keep]
            columns["label"] = _lists(list(self._names["label"]), self._lists, codes, several[keep])
        for name, numbers in self._numbers.items():
            values = np.asarray(numbers)[keep]
            if np.isfinite(values).any():
                columns[name] = values
        return columns | _about_rows(self._facts, np.arange(len(self))[keep])

    def _truths(self, sets: bool) -> pl.DataFrame | None:
        gold = self.gold
        if sets:
            gold = {task: _as_list([label]) for task, label in gold.items()}
            gold |= {task: _as_list(labels) for task, labels in self.gold_sets.items()}
        return pl.DataFrame({"task": list(gold), "label": list(gold.values())}) if gold else None


def _about_rows(facts: Mapping[int, Mapping[str, Any]], indices: npt.NDArray[np.int64]) -> dict[str, pl.DataFrame]:
    """Return the column `about_rows` with the facts of each kept row; empty if there are no facts."""
    if not facts:
        return {}
    names = dict.fromkeys(name for row in facts.values() for name in row)
    rows = [facts.get(i, {}) for i in indices.tolist()]
    table = {name: pl.Series([row.get(name) for row in rows], strict=False) for name in names}
    return {"about_rows": pl.DataFrame(table)}


def _about_workers(sources: Mapping[str, str], lost: Mapping[str | None, int]) -> pl.DataFrame | None:
    """Return worker, source (human or model) and, if there are any, the number of unusable answers; None if empty."""
    unusable = {worker: n for worker, n in lost.items() if worker}
    workers = list(dict.fromkeys([*sources, *unusable]))
    columns: dict[str, Any] = {"worker": workers}
    if sources:
        columns["source"] = [sources.get(worker) for worker in workers]
    if unusable:
        columns["unusable"] = [unusable.get(worker, 0) for worker in workers]
    return pl.DataFrame(columns) if workers else None


def _as_list(labels: Sequence[str]) -> str:
    """Return the labels as a JSON list."""
    return json.dumps(list(labels), ensure_ascii=False)


def _lists(
    names: Sequence[str | None], several: Mapping[str | None, Sequence[str]], codes: npt.NDArray[Any], many: Any
) -> pl.Series:
    """Return every answer as a JSON list: of names[code], or several[names[code]] where `many` is true.

    A single label may be called `a|b` while another answer holds the two labels a and b.
    """
    single = [None if name is None else _as_list([name]) for name in names]
    more = [_as_list(several.get(name, [])) for name in names]
    index = codes.astype(np.int64) + np.where(many, len(names), 0)
    return pl.Series("label", [*single, *more], dtype=pl.String).gather(index)
