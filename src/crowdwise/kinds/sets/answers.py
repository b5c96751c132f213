"""Label sets as answers: each answer names any number of classes of a vocabulary."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder
from ...core.arrays import I8, Mask
from ...core.errors import DataError, ParameterError
from ...core.intake.coding import encode
from ...core.intake.column import code_text
from ...core.intake.columns import by_plain_name, first_named, pick
from ...core.intake.frames import to_polars
from ...core.vocabulary import Codes, as_series, lookup, quote, sorted_vocabulary, widened
from ...core.votes import Votes, frozen
from ...stats.ragged import ranges, starts
from .maths import masi, packed


@dataclass(frozen=True, eq=False)
class Sets(Answers):
    """The classes that each answer names.

    If workers could not choose from all classes, each answer has a menu of offered classes. A class that was not
    offered counts neither as named nor as denied.

    Args:
        start: The classes of row i are code[start[i]:start[i + 1]], ascending.
        code: Codes into `classes`.
        classes: Names of the classes; may include classes that no answer names.
        menu: menu[row], the index of the row's menu, if menus differ.
        menus: menus[menu, class], whether the class was offered.
    """

    kind: ClassVar[str] = "sets"

    start: I8
    code: Codes
    classes: pl.Series
    menu: Codes | None = None
    menus: Mask | None = None

    def __post_init__(self) -> None:
        for name in ("start", "code", "menu", "menus"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def sizes(self) -> I8:
        """Number of classes that each row names."""
        return np.diff(self.start)

    @property
    def row(self) -> I8:
        """Row of each entry of `code`."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def bits(self) -> npt.NDArray[np.uint64]:
        """The rows as bits, with 64 classes per word."""
        return packed(self.row, self.code, len(self), len(self.classes))

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Return the answers of these rows."""
        rows = np.asarray(rows)
        sizes = self.sizes[rows]
        menu = None if self.menu is None else self.menu[rows]
        code = self.code[ranges(self.start[:-1][rows], sizes)]
        return type(self)(starts(sizes), code, self.classes, menu, self.menus)

    def join(self, other: Self) -> Self:
        """Return the rows of both over the union of their classes; a side without menus offered all its classes."""
        classes, old, new = widened(self.classes, other.classes)
        sides = [(self, old), (other, new)]
        code = np.concatenate([_moved(side.code, table) for side, table in sides])
        start = np.concatenate([self.start, other.start[1:] + self.start[-1]])
        code = _sorted_within(start, code)
        if self.menu is None and other.menu is None:
            return type(self)(start, code, classes)
        menus = [_menus(side, table, len(classes)) for side, table in sides]
        menu = [side.menu if side.menu is not None else np.zeros(len(side), np.int32) for side, _ in sides]
        menu_codes = np.concatenate([menu[0], menu[1] + np.int32(len(menus[0]))])
        return type(self)(start, code, classes, menu_codes.astype(np.int32), np.concatenate(menus))

    def columns(self) -> dict[str, pl.Series]:
        """Return `labels` and, if menus differ, `offered`, as JSON lists."""
        columns = {"labels": as_json(self.start, self.code, self.classes, "labels")}
        if self.menu is not None and self.menus is not None:
            rows, codes = np.nonzero(self.menus)
            start = np.searchsorted(rows, np.arange(len(self.menus) + 1))
            columns["offered"] = as_json(start, codes.astype(np.int32), self.classes, "offered").gather(self.menu)
        return columns

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the words of 64 classes as keys."""
        return tuple(self.bits.T)

    def distance(self, i: I8, j: I8) -> npt.NDArray[np.float64]:
        """Return the MASI distance of rows i and j: 0 for equal sets, 1 for disjoint sets."""
        return masi(self.bits, i, j)


def as_json(start: I8, code: Codes, classes: pl.Series, name: str) -> pl.Series:
    """Return lists of classes as JSON."""
    names = classes.cast(pl.String).to_list()
    quoted = pl.Series([json.dumps(class_, ensure_ascii=False) for class_ in names], dtype=pl.String)
    sizes = np.diff(start)
    is_nonempty = sizes > 0
    table = pl.DataFrame({"row": np.repeat(np.arange(len(sizes)), sizes), "name": quoted.gather(code)})
    lists = table.group_by("row", maintain_order=True).agg(pl.col("name").str.join(", "))["name"]
    out = np.full(len(sizes), -1, dtype=np.int64)
    out[is_nonempty] = np.arange(int(is_nonempty.sum()))
    texts = pl.concat([("[" + lists + "]").cast(pl.String), pl.Series(["[]"])])
    return texts.gather(np.where(out < 0, len(texts) - 1, out)).rename(name)


def distance(answers: Sets, i: I8, j: I8) -> npt.NDArray[np.float64]:
    """Return the MASI distance of answers i and j."""
    return answers.distance(i, j)


def _moved(code: Codes, table: Codes | None) -> Codes:
    return code if table is None or not len(table) else table[code]


def _sorted_within(start: I8, code: Codes) -> Codes:
    """Return the codes sorted within each row."""
    row = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return np.asarray(code[np.lexsort((code, row))])


def _menus(sets: Sets, table: Codes | None, k: int) -> Mask:
    if sets.menus is None:
        return np.ones((1, k), dtype=bool)
    out = np.zeros((len(sets.menus), k), dtype=bool)
    out[:, np.arange(len(sets.classes)) if table is None or not len(table) else table] = sets.menus
    return out


# ----------------------------------------------------------------
# Parsing of label sets: JSON lists, `a|b`, Python lists and sets, list columns.

SEPARATOR = "|"
# Placeholder of a separator that is part of a name.
_ESCAPED = "\0"


class NameLists:
    """Distinct lists of names, and the index of each row's list; -1 means a missing answer, not an empty list."""

    def __init__(self, code: I8, lists: list[list[str]]) -> None:
        self.code, self.lists = code, lists

    def __len__(self) -> int:
        return len(self.code)

    @property
    def null(self) -> Mask | None:
        """Rows without an answer; None if there are none."""
        is_null = self.code < 0
        return is_null if is_null.any() else None

    def names(self) -> set[str]:
        """Return all names in the lists of the rows."""
        used = np.unique(self.code[self.code >= 0])
        return {name for i in used.tolist() for name in self.lists[i]}

    def without(self, names: Iterable[str]) -> set[str]:
        """Treat rows that consist of one of these names as missing answers; return the names that occurred."""
        removed = set(names)
        hit = [len(class_names) == 1 and class_names[0].strip() in removed for class_names in self.lists]
        if any(hit):
            used = self.code >= 0
            self.code = np.where(used & np.asarray([*hit, False])[self.code], -1, self.code)
        return {class_names[0].strip() for class_names, yes in zip(self.lists, hit, strict=True) if yes}

    def rows(self, codes: dict[str, int]) -> tuple[I8, npt.NDArray[np.int32]]:
        """Return start[row + 1] and the codes of the names, ascending within each row, without unknown names."""
        codes_of_list = [
            np.array(sorted({codes[n] for n in names if n in codes}), dtype=np.int32) for names in self.lists
        ]
        sizes = np.array([*(len(one) for one in codes_of_list), 0], dtype=np.int64)
        flat = np.concatenate([*codes_of_list, np.empty(0, np.int32)])
        row_sizes = sizes[self.code]
        return starts(row_sizes), np.asarray(flat[ranges(starts(sizes)[self.code], row_sizes)], dtype=np.int32)


def lists_of(values: Any, name: str) -> NameLists:
    """Return the lists of a column of label sets in any format."""
    if isinstance(values, pl.Series):
        series = values
    elif isinstance(values, np.ndarray) and values.dtype.kind != "O":
        series = pl.Series(name, values)
    else:
        return _from_python(list(values), name)
    if isinstance(series.dtype, pl.List | pl.Array):
        return _from_python(series.to_list(), name)
    if series.dtype == pl.Object or isinstance(series.dtype, pl.Struct):
        raise DataError(f"column {name!r} holds {series.dtype} values; lists of names, JSON or a|b are needed")
    return _from_texts(series.cast(pl.String), name)


def _from_texts(series: pl.Series, name: str) -> NameLists:
    codes, texts = code_text(series)
    lists: list[list[str]] = []
    table = np.full(len(texts) + 1, -1, dtype=np.int64)
    for i, text in enumerate(texts.to_list()):
        if text is not None and text.strip():
            table[i] = len(lists)
            lists.append(parsed(text, name))
    return NameLists(table[codes.astype(np.int64)], lists)


def _from_python(values: list[Any], name: str) -> NameLists:
    code_of: dict[Any, int] = {}
    lists: list[list[str]] = []
    code = np.full(len(values), -1, dtype=np.int64)
    for i, value in enumerate(values):
        if value is None or (isinstance(value, float) and np.isnan(value)):
            continue
        if isinstance(value, str):
            if not value.strip():
                continue
            names = parsed(value, name)
        elif isinstance(value, Iterable):
            names = [_name(element, value, name) for element in value]
        else:
            names = [_name(value, value, name)]
        key = frozenset(names)
        if key not in code_of:
            code_of[key] = len(lists)
            lists.append(sorted(key))
        code[i] = code_of[key]
    return NameLists(code, lists)


def parsed(text: str, name: str) -> list[str]:
    """Return the names in a JSON list or in a|b; a separator that is part of a name is doubled."""
    stripped = text.strip()
    if stripped.startswith("["):
        try:
            values = json.loads(stripped)
        except (ValueError, RecursionError):
            values = None
        if isinstance(values, list):
            return [_name(value, text, name) for value in values]
        raise DataError(f"{quote([text])} in column {name!r} starts like a JSON list but is not valid JSON")
    parts = stripped.replace(SEPARATOR * 2, _ESCAPED).split(SEPARATOR)
    return [part.strip().replace(_ESCAPED, SEPARATOR) for part in parts if part.strip()]


def _name(value: Any, within: Any, name: str) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str | int | float) and str(value).strip():
        return str(value)
    raise DataError(f"{quote([within])} in column {name!r} is not a list of names: {quote([value])} is not a name")


# ----------------------------------------------------------------
# Columns to votes.

# Names of the column of label sets in files, best first.
NAMES = "labels label_set tags"
UNKNOWN_CLASS = "class not in the given classes"


class SetCoder(Coder):
    """Read a column of label sets and, optionally, of offered classes; `classes` are all allowed classes."""

    def __init__(self, columns: dict[str, Any], *, classes: Any = None, unknown_classes: str = "error") -> None:
        if "labels" not in columns:
            raise DataError("label sets need a column `labels`; name it: --columns labels=NAME")
        if unknown_classes not in ("error", "drop"):
            raise ParameterError(f"unknown_classes must be error or drop, got {unknown_classes!r}")
        self.labels = lists_of(columns.pop("labels"), "labels")
        menus = columns.pop("offered", None)
        self.menus = None if menus is None else lists_of(menus, "offered")
        if self.menus is not None and len(self.menus) != len(self.labels):
            raise DataError(f"labels has {len(self.labels)} rows but offered has {len(self.menus)}")
        vocabulary = (
            None if classes is None else sorted_vocabulary(as_series(list(classes), "label").cast(pl.String), "label")
        )
        self.classes, self.policy = vocabulary, unknown_classes

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows without an answer; None if there are none. An empty list is an answer."""
        return self.labels.null

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Treat these texts as missing answers and return those that occurred."""
        return self.labels.without(names)

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:
        """Return which rows name only allowed classes; None if all do."""
        unknown = set() if self.classes is None else self.labels.names() - set(self.classes.to_list())
        if unknown and self.policy == "error":
            raise DataError(
                f"{len(unknown)} classes are not among the given ones: {quote(sorted(unknown))}; add them or drop "
                "their rows with unknown_classes='drop'"
            )
        if not unknown:
            return None
        bad = np.array([*(bool(unknown & set(class_names)) for class_names in self.labels.lists), False])
        ok = np.asarray(~bad[self.labels.code])
        dropped[UNKNOWN_CLASS] = int((keep & ~ok).sum())
        return ok

    def finish(self) -> Sets:
        """Return the sets as codes."""
        names = self.labels.names() if self.classes is None else set(self.classes.to_list())
        if self.menus is not None and self.classes is None:
            names |= self.menus.names()
        classes = pl.Series("label", sorted(names), dtype=pl.String)
        codes = {name: i for i, name in enumerate(classes.to_list())}
        start, code = self.labels.rows(codes)
        if self.menus is None:
            return Sets(start, code, classes)
        menus = np.zeros((len(self.menus.lists) + 1, len(classes)), dtype=bool)
        for i, class_names in enumerate(self.menus.lists):
            menus[i, [codes[name] for name in class_names if name in codes]] = True
        menus[-1] = True  # rows without a list of offered classes were offered all
        sets = Sets(start, code, classes, np.where(self.menus.code < 0, len(menus) - 1, self.menus.code), menus)
        self._refuse_what_was_not_offered(sets)
        return sets

    def _refuse_what_was_not_offered(self, sets: Sets) -> None:
        assert sets.menus is not None
        assert sets.menu is not None
        row = sets.row
        bad = np.flatnonzero(~sets.menus[sets.menu[row], sets.code])
        if len(bad):
            at, name = int(row[bad[0]]), sets.classes[int(sets.code[bad[0]])]
            raise DataError(
                f"row {at + 1} names {name!r}, which was not offered (and {len(bad) - 1:,} more); correct the column "
                "`offered`"
            )


def detect_columns(header: Sequence[str]) -> Mapping[str, str] | None:
    """Return the columns of label sets and of offered classes in a header, or None."""
    column = first_named(header, NAMES)
    if column is None:
        return None
    columns = by_plain_name(header)
    return {"labels": column} | ({"offered": columns["offered"]} if "offered" in columns else {})


def explain_detection(answers: pl.Series) -> str:
    """Return the reason to read the answers as label sets, or "" if they are not all JSON lists of names."""
    if answers.dtype != pl.String:
        return ""
    for text in answers.drop_nulls().unique(maintain_order=True).head(200).to_list():
        if not text.strip():
            continue
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            return ""
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            return ""
    return "lists of names in JSON" if len(answers.drop_nulls()) else ""


def accepts(column: pl.Series) -> bool:
    """Return whether a column holds label sets: lists, JSON lists, or names separated by bars."""
    if isinstance(column.dtype, pl.List):
        return True
    if column.dtype != pl.String:
        return False
    texts = column.str.strip_chars()
    return bool((texts.str.starts_with("[") | texts.str.contains("|", literal=True)).any())


def set_votes(
    task: Any,
    worker: Any,
    labels: Any,
    *,
    offered: Any = None,
    classes: Any = None,
    unknown_classes: str = "error",
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    missing: Sequence[Any] = (),
    **numbers: Any,
) -> Votes[Sets]:
    """Return votes from equally long columns.

    Args:
        task: The task of each answer.
        worker: The worker who gave each answer.
        labels: The classes of each answer: lists or sets of names, JSON lists, or texts like a|b.
        offered: The classes that could be chosen, as a column of lists or a mapping from tasks to lists; by default
            all. A class that was not offered counts neither as named nor as denied.
        classes: All allowed classes; by default those that occur.
        unknown_classes: What to do with answers that name other classes: "error" or "drop".
        duplicates: What to do when a worker answers a task twice: "error", "first", "last" or "keep".
        tasks: All tasks, if some have no answers.
        workers: All workers, if some gave no answers.
        missing: Texts that mean "no answer".
        **numbers: Further columns per answer, such as `weight` or `time`.

    Returns:
        The votes.
    >>> set_votes([1, 1, 2], ["ann", "bob", "ann"], [["news", "sport"], ["news"], []])
    Votes(3 label sets, 2 tasks, 2 workers)
    """
    columns: dict[str, Any] = {"task": task, "worker": worker, "labels": labels, **numbers}
    if isinstance(offered, Mapping):
        columns["offered"] = offered_to(as_series(task, "task"), offered)
    elif offered is not None:
        columns["offered"] = offered
    coder = partial(SetCoder, classes=classes, unknown_classes=unknown_classes)
    return Votes._of(encode(columns, coder, duplicates=duplicates, tasks=tasks, workers=workers, missing=missing))


def offered_to(task: pl.Series, offered: Mapping[Any, Any]) -> list[Any]:
    """Return the classes offered in each row, given those of each task."""
    by_name = {str(name): what for name, what in offered.items()}
    return [by_name.get(name) for name in task.cast(pl.String).to_list()]


def from_table(frame: pl.DataFrame) -> Votes[Sets]:
    """Convert a table task, worker, labels to votes."""
    roles = dict(detect_columns(frame.columns) or {"labels": "label"})
    picked, _ = pick(frame, roles, "the frame", (), ("task", "worker", *roles))
    return set_votes(picked.pop("task"), picked.pop("worker"), picked.pop("labels"), **picked)


# ----------------------------------------------------------------
# Truth: whole sets, or single classes of a task.

I1 = npt.NDArray[np.int8]
UNKNOWN = -1
_YES, _NO = ("1", "true", "yes", "1.0"), ("0", "false", "no", "0.0")


def set_truth(truth: Any, classes: pl.Series) -> tuple[pl.Series, pl.Series, I1]:
    """Return (tasks, classes, truth[task, class]): 1 in the set, 0 not in the set, -1 unknown.

    Classes that occur only in the truth come after the given ones.

    Args:
        truth: A mapping from tasks to lists, a table with the columns task, labels (whole sets), or a table with the
            columns task, label, value (1 or 0 for single classes).
        classes: Names of the classes.
    """
    if isinstance(truth, Mapping):
        frame = None
        tasks, lists = as_series(truth.keys(), "task"), lists_of(list(truth.values()), "labels")
    else:
        frame = to_polars(truth)
        if "task" not in frame.columns:
            raise DataError(f"the truth has no column 'task'; it has {', '.join(frame.columns)}")
        if {"label", "value"} <= set(frame.columns):
            return _single(frame, classes)
        column = next((name for name in ("labels", "label") if name in frame.columns), None)
        if column is None:
            raise DataError(f"the truth has no column 'labels'; it has {', '.join(frame.columns)}")
        tasks, lists = as_series(frame["task"], "task"), lists_of(frame[column], "labels")
    is_known = lists.code >= 0
    tasks, code = tasks.filter(pl.Series(is_known)), lists.code[is_known]
    names = _with(classes, lists.names())
    column_of = {name: j for j, name in enumerate(names.cast(pl.String).to_list())}
    table = np.zeros((len(lists.lists), len(names)), dtype=np.int8)
    for i, class_names in enumerate(lists.lists):
        table[i, [column_of[name] for name in class_names if name in column_of]] = 1
    return _once(tasks, names, table[code])


def _single(frame: pl.DataFrame, classes: pl.Series) -> tuple[pl.Series, pl.Series, I1]:
    """Return the truth of a table with the columns task, label, value."""
    frame = frame.select(pl.col("task", "label", "value")).drop_nulls()
    values = frame["value"].cast(pl.String).str.strip_chars().str.to_lowercase()
    bad = frame.filter(~values.is_in([*_YES, *_NO]))
    if len(bad):
        raise DataError(f"the truth of task {quote([bad['task'][0]])} is {quote([bad['value'][0]])}; use 1 or 0")
    label = frame["label"].cast(pl.String)
    names = _with(classes, set(label.to_list()))
    text = as_series(frame["task"], "task")
    tasks = text.unique().sort()
    at = tasks.search_sorted(text).to_numpy()
    order = pl.DataFrame({"name": names.cast(pl.String), "code": np.arange(len(names))})
    code = pl.DataFrame({"name": label}).join(order, on="name", how="left", maintain_order="left")["code"].to_numpy()
    truth = np.full((len(tasks), len(names)), UNKNOWN, dtype=np.int8)
    yes = values.is_in(list(_YES)).to_numpy()
    truth[at, code] = yes
    if (truth[at, code] != yes).any():
        row = int(np.flatnonzero(truth[at, code] != yes)[0])
        raise DataError(f"task {quote([text[row]])} has contradicting truths for {label[row]!r}; keep one of them")
    return tasks, names, truth


def _with(classes: pl.Series, names: set[str]) -> pl.Series:
    """Return the classes, followed by the names that are not among them."""
    known_names = classes.cast(pl.String)
    more = sorted(names - set(known_names.to_list()))
    return pl.concat([known_names, pl.Series(known_names.name, more, dtype=pl.String)]) if more else known_names


def _once(tasks: pl.Series, names: pl.Series, truth: I1) -> tuple[pl.Series, pl.Series, I1]:
    """Return each task once. Contradicting truths of a task raise a DataError."""
    if not tasks.is_duplicated().any():
        return tasks, names, truth
    unique_tasks = tasks.unique().sort()
    at = unique_tasks.search_sorted(tasks).to_numpy()
    first = np.empty(len(unique_tasks), dtype=np.int64)
    first[at[::-1]] = np.arange(len(tasks))[::-1]
    bad = np.flatnonzero((truth != truth[first[at]]).any(axis=1))
    if len(bad):
        raise DataError(f"task {quote([tasks[int(bad[0])]])} has contradicting true sets; keep one of them")
    return unique_tasks, names, truth[first]


def align_truth(table: tuple[pl.Series, pl.Series, I1], tasks: pl.Series, classes: pl.Series) -> I1:
    """Return truth[task, class] for these tasks and classes; -1 where it is unknown."""
    truth_tasks, names, truth = table
    at, has_task = lookup(tasks, truth_tasks)
    code, has_class = lookup(classes.cast(pl.String), names)
    out = np.full((len(tasks), len(classes)), UNKNOWN, dtype=np.int8)
    out[np.ix_(at[has_task], code[has_class])] = truth[np.ix_(np.flatnonzero(has_task), np.flatnonzero(has_class))]
    return out
