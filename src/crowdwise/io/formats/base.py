"""What a format is (`sniff`, `read`), what a user may ask of it, and the rows that it finds."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import polars as pl

from ...core.errors import DataError, ParameterError
from ...core.vocabulary import quote
from ..kind_of_columns import told_by_answers
from ..lists import as_list, lists
from ..sources import Source
from .bare import Bare
from .judges.about import about_rows, about_workers

Multiple = Literal["error", "join", "drop", "set"]
SETS = "sets"  # the kind of answers that hold several labels at once
Rejected = Literal["keep", "drop"]
NAN = float("nan")
SKIPPED = "skipped by the worker"
NO_ANSWER = "no answer to the question"
SEVERAL = "several labels at once"
TRUTH = "ground truth, kept as gold"
REJECTED = "rejected by the requester"
SURE, LIKELY = 3, 2
OF_TASKS = ("text", "url")  # columns that tell of the tasks


@dataclass(frozen=True)
class Ask:
    """What the user says about a file: each format uses what applies to it.

    `question` picks one of several; `multiple` says what to do with a worker's several labels for one task: refuse
    the file, join them to one class ("a|b"), drop the row, or read all answers as sets (None: as sets, unless another
    kind is meant); `predictions` takes a model's predictions as a worker of their own; `rejected="drop"` leaves out
    assignments that the requester rejected; `missing` are values that stand for nothing; `kind` is the kind of answers
    that is meant (None: the file tells).
    """

    question: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    multiple: Multiple | None = None
    predictions: bool = False
    rejected: Rejected = "keep"
    missing: Sequence[str] = ()
    kind: str | None = None

    def __post_init__(self) -> None:
        if self.multiple not in (None, "error", "join", "drop", "set"):
            raise ParameterError(f"multiple must be error, join, drop or set, got {self.multiple!r}")
        if self.rejected not in ("keep", "drop"):
            raise ParameterError(f"rejected must be keep or drop, got {self.rejected!r}")
        if isinstance(self.missing, str):
            raise ParameterError(f"missing must be a list of values, got {self.missing!r}; write [{self.missing!r}]")

    def only(self, where: str, *roles: str) -> None:
        """Refuse --columns for what this format does not let be named."""
        strange = [role for role in self.columns if role not in roles]
        if strange:
            listed = " and ".join([", ".join(roles[:-1]), roles[-1]] if len(roles) > 1 else roles)
            may = f"only {listed} can be named" if roles else "no column can be named"
            raise ParameterError(f"{where}: in this format {may} with --columns, got {', '.join(strange)}")


@dataclass(frozen=True)
class Guess:
    """How sure a format is that a file is its own, and why."""

    sure: int
    why: str


@dataclass(frozen=True)
class Head:
    """The beginning of a file: its first JSON objects, or its header and first rows, or the names of its members;
    `inner` is the first object of an archive's first JSONL file, where it can be read."""

    kind: Literal["objects", "table", "archive", "xml", "other"]
    objects: list[dict[str, Any]] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    inner: dict[str, Any] | None = None
    fault: str = ""


@dataclass(frozen=True)
class Item:
    """A task as the file has it: its name among ours, its id there, and the data that were shown."""

    name: str
    id: Any
    data: dict[str, Any]


@dataclass(frozen=True)
class Control:
    """Label Studio's name for a question, for the object that it is about, and for its kind of answer; `joined`:
    whether a label may be several choices (see `Ask.multiple`), `lists`: whether it is a JSON list of them."""

    from_name: str
    to_name: str = "text"
    kind: str = "choices"
    joined: bool = False
    lists: bool = False


@dataclass
class Found:
    """What a format found: columns for `encode`, what it dropped, and what else the file knows.

    `gold` has the columns task, label; `workers` has worker, source (human or model). `tasks` and `all_workers` may
    name more than the rows mention. `items` goes through the file once more for its tasks, where a format has more of
    them than a name; `control` is the question in Label Studio's words. `kind` is the kind of the answers, and
    `certain` whether the file says so itself; whatever it is, an export's answers stand in the column `label`.
    `about_tasks` has the column task, and what else is to be kept of them.
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
    items: Callable[[], Iterator[Item]] | None = None
    control: Control | None = None
    kind: str = "classes"
    certain: bool = False
    about_tasks: pl.DataFrame | None = None
    again: bool = False  # nobody knows who answered, so the one nameless worker may answer a task often


class Format(Protocol):
    """A module of this room."""

    def sniff(self, head: Head) -> Guess | None:
        """Whether the file looks like this format, from its beginning."""

    def read(self, source: Source, where: str, ask: Ask) -> Found:
        """All of it."""


class Rows:
    """Rows as they are found, coded at once: a file of any size costs a few numbers a row; `kind` is the kind of all
    answers, where the format has only one."""

    def __init__(self, kind: str | None = None) -> None:
        self._kind = kind
        self._kinds: set[str | None] = set()
        self._names: dict[str, dict[str | None, int]] = {"task": {}, "worker": {}, "label": {}}
        self._codes = {name: array("i") for name in self._names}
        self._numbers = {name: array("d") for name in ("time", "duration", "confidence")}
        self._several = array("b")
        self._lists: dict[str | None, list[str]] = {}
        self._example = ""
        self.bare = Bare()
        self.dropped: dict[str, int] = {}
        self.gold: dict[str, str] = {}
        self.gold_sets: dict[str, list[str]] = {}  # of tasks with several true labels, where answers are read as sets
        self.sources: dict[str, str] = {}
        self._facts: dict[int, Mapping[str, Any]] = {}  # what single rows say of themselves, by row
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
    ) -> None:
        """One answer; several labels in it are for the policy, none at all is a row without a label. `kind` is the kind
        of this answer where the file tells (a star rating, a choice); `facts` is what the row says of its occasion."""
        if facts:
            self._facts[len(self)] = facts
        if labels:
            self._kinds.add(kind or self._kind)
        label: str | None = labels[0] if labels else None
        if len(labels) > 1:
            label = "|".join(sorted(each.replace("|", "||") for each in labels))
            self._lists.setdefault(label, list(labels))
            self._example = self._example or f"task {quote([task])}, worker {quote([worker])}: {quote(labels)}"
        for name, value in (("task", task), ("worker", worker), ("label", label)):
            names = self._names[name]
            self._codes[name].append(names.setdefault(value, len(names)))
        for name, number in (("time", time), ("duration", duration), ("confidence", confidence)):
            self._numbers[name].append(number)
        self._several.append(len(labels) > 1)

    def drop(self, reason: str, n: int = 1, who: str | None = None) -> None:
        """Rows that are counted and not used; `who` gave an answer that is none."""
        self.dropped[reason] = self.dropped.get(reason, 0) + n
        self._unusable[who] = self._unusable.get(who, 0) + n

    def mention(self, task: str | None) -> None:
        """A task that is to appear in the results, with labels or without."""
        if task is not None:
            self._names["task"].setdefault(task, len(self._names["task"]))

    def truth(self, task: str | None, label: str, at: str) -> None:
        """What a task is known to be."""
        if task is not None and self.gold.setdefault(task, label) != label:
            raise DataError(
                f"{at}: task {quote([task])} has two different gold labels, {quote([self.gold[task], label])}; "
                "keep one of them"
            )

    def rename_workers(self, names: Mapping[str, str]) -> None:
        """Workers under other names; two that get the same name are one."""
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
        """The kind of the answers, whether the file itself says so, and notes."""
        told = next(iter(self._kinds)) if len(self._kinds) == 1 else None
        if told is not None:
            return told, True, ()
        labels = pl.Series(list(self._names["label"]), dtype=pl.String).drop_nulls()
        kind, notes = told_by_answers(question, labels)
        return kind, False, notes

    def found(self, where: str, ask: Ask, question: str | None = None, notes: tuple[str, ...] = ()) -> Found:
        """Everything, with the policy for several labels carried out."""
        self.bare.settle(self, next(iter(self._kinds)) if len(self._kinds) == 1 else None, NO_ANSWER)
        kind, certain, why = self.kind(question)
        several = np.asarray(self._several, dtype=bool)
        n = int(several.sum())
        sets = SETS in (ask.kind, ask.multiple) or (n > 0 and ask.multiple is None and ask.kind is None)
        if n and not sets and ask.multiple not in ("join", "drop"):
            raise DataError(
                f"{where}: {n:,} answers hold several labels at once (first: {self._example}); say --multiple join "
                "to make each combination a class, --multiple drop, or --kind sets to read label sets"
            )
        if sets and ask.kind is None:
            why = (f"{n:,} answers hold several labels at once, so all are read as label sets; see --multiple",)
        keep = ~several if n and ask.multiple == "drop" else slice(None)
        if n and ask.multiple == "drop":
            self.drop(SEVERAL, n)
        named = [task for task in self._names["task"] if task is not None and task.strip()]
        return Found(
            columns=self._columns(keep, several if sets else None),
            dropped=self.dropped,
            notes=notes + why if ask.kind is None else notes,
            question=question,
            kind=SETS if sets else kind,
            certain=sets or certain,
            gold=self._truths(sets),
            workers=about_workers(self.sources, self._unusable),
            tasks=pl.Series("task", named, dtype=pl.String),
            about_tasks=self.bare.about(),
        )

    def _columns(self, keep: Any, several: Any) -> dict[str, Any]:
        """Names and numbers of the rows to keep; answers as lists where `several` says which hold more than one."""
        columns: dict[str, Any] = {}
        for name, names in self._names.items():
            codes = np.asarray(self._codes[name], dtype=np.int32)[keep]
            columns[name] = pl.Series(name, list(names), dtype=pl.String).gather(codes)
        if several is not None:
            codes = np.asarray(self._codes["label"])[keep]
            columns["label"] = lists(list(self._names["label"]), self._lists, codes, several[keep])
        for name, numbers in self._numbers.items():
            values = np.asarray(numbers)[keep]
            if np.isfinite(values).any():
                columns[name] = values
        return columns | about_rows(self._facts, np.arange(len(self))[keep])

    def _truths(self, sets: bool) -> pl.DataFrame | None:
        gold = self.gold
        if sets:
            gold = {task: as_list([label]) for task, label in gold.items()}
            gold |= {task: as_list(labels) for task, labels in self.gold_sets.items()}
        return pl.DataFrame({"task": list(gold), "label": list(gold.values())}) if gold else None
