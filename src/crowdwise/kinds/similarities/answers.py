"""Same-or-different answers about pairs of items."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder, Mask
from ...core.errors import DataError
from ...core.intake.coding import encode
from ...core.intake.column import Column
from ...core.intake.frames import to_polars
from ...core.vocabulary import Codes, lookup, quote, sorted_vocabulary, union
from ...core.votes import Votes, frozen

# ----------------------------------------------------------------
# Columns: left, right, same; or a partition of several items, which is read as its pairs.

SIDES = {"left": "left item_a item1 item_1 first", "right": "right item_b item2 item_2 second"}
SAME = "same similar is_same match same_different"
LABELS = "label answer response"
PARTITION = "partition clusters grouping"
YES = ("1", "true", "yes", "same", "similar", "y", "t", "1.0")
NO = ("0", "false", "no", "different", "dissimilar", "n", "f", "0.0", "-1")
NOBODY = "everyone"


def detect_columns(header: Sequence[str]) -> Mapping[str, str] | None:
    """Find the columns left, right and same (or a label); or a partition, or a label beside a list of items."""
    by_name = {name.strip().lower().replace(" ", "_"): name for name in header}

    def find(names: str) -> str | None:
        return next((by_name[name] for name in names.split() if name in by_name), None)

    sides = {role: find(names) for role, names in SIDES.items()}
    same = find(SAME) or find(LABELS)
    if all(sides.values()) and same is not None and "head" not in by_name:
        return {"left": str(sides["left"]), "right": str(sides["right"]), "same": same}
    partition = find(PARTITION) or (find(LABELS) if "items" in by_name else None)
    if partition is None:
        return None
    return {"partition": partition, **({"items": by_name["items"]} if "items" in by_name else {})}


def accepts(columns: dict[str, pl.Series]) -> bool:
    """Whether the columns hold such answers: yes and no, or lists of lists."""
    if "partition" in columns:
        partitions = columns["partition"].drop_nulls().head(20).cast(pl.String).to_list()
        try:
            return bool(partitions) and all(_parts(text) for text in partitions)
        except ValueError:
            return False
    if "same" not in columns:
        return False
    answers = columns["same"].drop_nulls().cast(pl.String).str.strip_chars().str.to_lowercase()
    return bool(len(answers)) and bool(answers.is_in([*YES, *NO, ""]).mean() > 0.8)  # type: ignore[operator]


def fill_columns(columns: dict[str, Any]) -> tuple[tuple[str, ...], pl.DataFrame | None, bool]:
    """Expand partitions into pairs and fill in missing columns: each pair is a task, and all answers are of one worker.

    Returns:
        Notes for the ledger, no table about the tasks, and whether a worker may answer a task more than once.
    """
    notes: tuple[str, ...] = ()
    repeated = False
    if "partition" in columns:
        notes, repeated = _expand(columns), True
    n = len(columns["left"])
    if "task" not in columns:
        left, right = (_text(columns[side]) for side in ("left", "right"))
        table = pl.DataFrame({"a": left, "b": right})
        columns["task"] = table.select(
            pl.min_horizontal("a", "b") + pl.lit(" | ") + pl.max_horizontal("a", "b")
        ).to_series().alias("task")  # fmt: skip
    if "worker" not in columns:
        columns["worker"] = pl.Series("worker", [NOBODY] * n, dtype=pl.String)
        notes, repeated = (*notes, f"no column names the worker; all rows are answers of one worker, {NOBODY!r}"), True
    if not repeated:
        notes += (repeat_notes := repeats(columns, "pair"))
        repeated = bool(repeat_notes)
    return notes, None, repeated


def repeats(columns: dict[str, Any], what: str) -> tuple[str, ...]:
    """Return a note where workers answered the same task more than once."""
    answers = pl.DataFrame({name: _text(columns[name]) for name in ("task", "worker")})
    n = len(answers) - answers.n_unique()
    if not n:
        return ()
    return (
        f"{n:,} answers are to a {what} that the same worker answered before; all count (or use --duplicates first)",
    )


def _text(values: Any) -> pl.Series:
    series = values if isinstance(values, pl.Series) else to_polars({"item": values})["item"]
    return series.cast(pl.String).str.strip_chars()


def _expand(columns: dict[str, Any]) -> tuple[str, ...]:
    """Expand each partition into all pairs of its items, with the other columns of its row."""
    texts = _text(columns.pop("partition")).to_list()
    columns.pop("items", None)
    columns.pop("task", None)
    row, left, right, same = [], [], [], []
    used = 0
    for i, text in enumerate(texts):
        try:
            groups = _parts(text) if text else []
        except ValueError as error:
            raise DataError(
                f'row {i + 1}: {str(text)[:60]!r} is not a partition ({error}), such as [["a", "b"], ["c"]]'
            ) from None
        group_of = {item: g for g, items in enumerate(groups) for item in items}
        used += bool(group_of)
        for a, b in combinations(sorted(group_of), 2):
            row.append(i)
            left.append(a)
            right.append(b)
            same.append("1" if group_of[a] == group_of[b] else "0")
    for name, values in list(columns.items()):
        columns[name] = values.gather(row) if isinstance(values, pl.Series) else np.asarray(values)[row]
    for name, cells in (("left", left), ("right", right), ("same", same)):
        columns[name] = pl.Series(name, cells, dtype=pl.String)
    return (f"{used:,} partitions are read as {len(row):,} pairs; answers of one partition are not independent",)


def _parts(text: str) -> list[list[str]]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    if not isinstance(given, list) or not all(isinstance(part, list) for part in given):
        raise ValueError("not a list of lists")
    groups = [[str(item) for item in part] for part in given]
    items = [item for part in groups for item in part]
    if len(set(items)) < len(items):
        raise ValueError("it contains an item twice")
    return groups


SELF = "an item compared with itself"


@dataclass(frozen=True, eq=False)
class Similarities(Answers):
    """left[row] and right[row] as codes into `items`; same[row] is 1 or 0."""

    kind: ClassVar[str] = "similarities"

    left: Codes
    right: Codes
    same: npt.NDArray[np.int8]
    items: pl.Series

    def __post_init__(self) -> None:
        for name in ("left", "right", "same"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.left)

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The answers of these rows."""
        return type(self)(self.left[rows], self.right[rows], self.same[rows], self.items)

    def join(self, other: Self) -> Self:
        """Concatenate two sets of answers, over the items of both."""
        items = union(self.items, other.items)
        self_codes, other_codes = (lookup(items, side.items.cast(items.dtype))[0] for side in (self, other))
        sides = [np.concatenate([recoded(a, self_codes), recoded(b, other_codes)]) for a, b in
                 ((self.left, other.left), (self.right, other.right))]  # fmt: skip
        return type(self)(sides[0], sides[1], np.concatenate([self.same, other.same]), items)

    def columns(self) -> dict[str, pl.Series]:
        """Return the columns left, right, same."""
        return {
            "left": self.items.gather(self.left).rename("left"),
            "right": self.items.gather(self.right).rename("right"),
            "same": pl.Series("same", self.same.astype(np.int64)),
        }

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """The two items in a fixed order, and the answer."""
        return np.minimum(self.left, self.right), np.maximum(self.left, self.right), self.same


def recoded(codes: Codes, table: Codes) -> Codes:
    """Translate codes into another vocabulary."""
    return codes if not len(table) else table[codes]


class SimilarityCoder(Coder):
    """Read the columns left, right and same (1, true, yes, same, or 0, false, no, different)."""

    def __init__(self, columns: dict[str, Any], *, items: Any = None) -> None:
        missing = [name for name in ("left", "right", "same") if name not in columns]
        if missing:
            raise DataError(f"same-or-different answers need the columns left, right and same; {missing[0]} is missing")
        one, two, self.said = (series_of(columns.pop(name), name) for name in ("left", "right", "same"))
        if len(one) != len(two) or len(self.said) != len(one):
            raise DataError("the columns left, right and same do not have the same length")
        self.size, self.both = len(one), both_sides(one, two)
        self.given = None if items is None else sorted_vocabulary(items, "item")

    def __len__(self) -> int:
        return self.size

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows in which an item or the answer is missing."""
        text = self.said.cast(pl.String).str.strip_chars()
        is_missing = (text.is_null() | (text == "")).to_numpy()
        if self.both.null is not None:
            is_missing = is_missing | self.both.null[: self.size] | self.both.null[self.size :]
        return is_missing if is_missing.any() else None

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Treat these values as missing items and answers."""
        text = self.said.cast(pl.String)
        is_left_out = text.str.strip_chars().is_in(list(names)).fill_null(False)
        left_out = set(text.filter(is_left_out).str.strip_chars().to_list())
        self.said = text.set(is_left_out, None)
        return left_out | self.both.leave_out(names)

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:
        """Mark rows with two different items; raise where an answer is neither yes nor no."""
        self._same(keep)
        is_self = self.both.codes[: self.size] == self.both.codes[self.size :]
        dropped[SELF] = int((keep & is_self).sum())
        return np.asarray(~is_self)

    def finish(self) -> Similarities:
        """Return the answers."""
        items, codes = in_given(self.both, self.given)
        return Similarities(
            codes[: self.size], codes[self.size :], self._same(np.zeros(self.size, dtype=bool)), items.rename("item")
        )

    def _same(self, keep: Mask) -> npt.NDArray[np.int8]:
        text = self.said.cast(pl.String).str.strip_chars().str.to_lowercase()
        yes, no = (text.is_in(list(words)).fill_null(False).to_numpy() for words in (YES, NO))
        is_bad = keep & ~yes & ~no
        if is_bad.any():
            row = int(np.flatnonzero(is_bad)[0])
            raise DataError(
                f"row {row + 1}: {quote([self.said[row]])} in column 'same' is neither same (1, true, yes) nor "
                "different (0, false, no); correct it, or name it with --missing"
            )
        return yes.astype(np.int8)


def series_of(values: Any, name: str) -> pl.Series:
    """Convert a column of a user's values."""
    series = values.rename(name) if isinstance(values, pl.Series) else to_polars({name: values})[name]
    if series.dtype == pl.Object:  # values of several types
        return pl.Series(name, [None if v is None else str(v) for v in series.to_list()], dtype=pl.String)
    return series


def both_sides(*sides: pl.Series) -> Column:
    """Stack columns of items into one column of codes."""
    same = all(side.dtype == sides[0].dtype for side in sides)
    return Column.of(pl.concat([(side if same else side.cast(pl.String)).rename("item") for side in sides]), "item")


def in_given(column: Column, given: pl.Series | None) -> tuple[pl.Series, Codes]:
    """Return the items and the codes, over the given items if there are any."""
    items, codes = column.vocabulary, column.codes.astype(np.int32)
    if given is None:
        return items, codes
    table, is_given = lookup(given, items.cast(given.dtype))
    if not is_given.all():
        raise DataError(f"items {quote(items.filter(~pl.Series(is_given)))} are not among the given ones")
    return given, (table[codes] if len(table) else codes)


def similarity_votes(
    left: Any,
    right: Any,
    same: Any,
    *,
    worker: Any = None,
    task: Any = None,
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    items: Any = None,
    missing: Sequence[Any] = (),
    **numbers: Any,
) -> Votes[Similarities]:
    """Build votes from equally long columns.

    Args:
        left: The first item of each row.
        right: The second item of each row.
        same: 1 or 0, true or false, "same" or "different".
        worker: The worker of each row (default: one worker, "everyone").
        task: The task of each row (default: each pair of items is a task).
        duplicates: What to do where a worker answered a task more than once.
        tasks: All tasks, where some have no rows.
        workers: All workers, where some have no rows.
        items: All items, where some have no rows.
        missing: Values that stand for a missing entry.
        **numbers: Further columns, such as weight.

    >>> similarity_votes(["a", "a"], ["b", "c"], [1, 0], worker=["ann", "bob"])
    Votes(2 pairs, 2 tasks, 2 workers)
    """
    optional = {"task": task, "worker": worker}
    columns = {"left": left, "right": right, "same": same, **{n: v for n, v in optional.items() if v is not None}}
    notes, _, repeated = fill_columns(columns)
    columns |= numbers
    options: dict[str, Any] = {
        "duplicates": "keep" if repeated and duplicates == "error" else duplicates,
        "notes": notes,
    }
    coder = partial(SimilarityCoder, items=items)
    return Votes._of(encode(columns, coder, tasks=tasks, workers=workers, missing=missing, **options))


def partition_votes(worker: Any, partition: Any, **numbers: Any) -> Votes[Similarities]:
    """Build votes from partitions of items.

    Args:
        worker: The worker of each partition.
        partition: Partitions: lists of lists of items, or such a list as JSON text.
        **numbers: Further columns, such as weight.

    >>> partition_votes(["ann"], [[["a", "b"], ["c"]]])
    Votes(3 pairs, 3 tasks, 1 workers)
    """
    texts = [
        groups if isinstance(groups, str) else json.dumps([[str(i) for i in part] for part in groups])
        for groups in partition
    ]
    columns: dict[str, Any] = {"worker": pl.Series("worker", list(worker)), "partition": pl.Series(texts), **numbers}
    notes, _, _ = fill_columns(columns)
    return Votes._of(encode(columns, SimilarityCoder, duplicates="keep", notes=notes))


# ---------------------------------------------------------------- Distance of two answers

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


def distance(answers: Similarities, i: I8, j: I8) -> F8:
    """0 for equal answers, 1 for different ones."""
    return np.asarray(answers.same[i] != answers.same[j], dtype=np.float64)
