"""Same-or-different answers about pairs of items."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I8, Mask
from ...core.errors import DataError
from ...core.intake.coding import encode
from ...core.intake.columns import by_plain_name
from ...core.intake.frames import to_polars
from ...core.item_answers import EVERYONE, ItemAnswers, ItemCoder, item_votes
from ...core.vocabulary import Codes, quote
from ...core.votes import Votes

# ----------------------------------------------------------------
# Columns: left, right, same; or a partition of several items, which is read as its pairs.

SIDES = {"left": "left item_a item1 item_1 first", "right": "right item_b item2 item_2 second"}
SAME = "same similar is_same match same_different"
LABELS = "label answer response"
PARTITION = "partition clusters grouping"
YES = ("1", "true", "yes", "same", "similar", "y", "t", "1.0")
NO = ("0", "false", "no", "different", "dissimilar", "n", "f", "0.0", "-1")


def detect_columns(header: Sequence[str]) -> Mapping[str, str] | None:
    """Find the columns left, right and same (or a label); or a partition, or a label beside a list of items."""
    by_name = by_plain_name(header)

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
        columns["worker"] = pl.Series("worker", [EVERYONE] * n, dtype=pl.String)
        notes += (f"no column names the worker; all rows are answers of one worker, {EVERYONE!r}",)
        repeated = True
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


@dataclass(frozen=True, eq=False)
class Similarities(ItemAnswers):
    """left[row] and right[row] as codes into `items`; same[row] is 1 or 0."""

    kind: ClassVar[str] = "similarities"
    SIDES: ClassVar[tuple[str, ...]] = ("left", "right")
    OUTCOME: ClassVar[str] = "same"

    left: Codes
    right: Codes
    same: npt.NDArray[np.int8]
    items: pl.Series

    def columns(self) -> dict[str, pl.Series]:
        """Return the columns left, right, same."""
        return {**self.item_columns(), "same": pl.Series("same", self.same.astype(np.int64))}

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """The two items in a fixed order, and the answer."""
        return np.minimum(self.left, self.right), np.maximum(self.left, self.right), self.same


class SimilarityCoder(ItemCoder):
    """Read the columns left, right and same (1, true, yes, same, or 0, false, no, different)."""

    def __init__(self, columns: dict[str, Any], *, items: Any = None) -> None:
        missing = [name for name in ("left", "right", "same") if name not in columns]
        if missing:
            raise DataError(f"same-or-different answers need the columns left, right and same; {missing[0]} is missing")
        one, two, same = (series_of(columns.pop(name), name) for name in ("left", "right", "same"))
        if len(one) != len(two) or len(same) != len(one):
            raise DataError("the columns left, right and same do not have the same length")
        super().__init__((one, two), same, items)

    def finish(self) -> Similarities:
        """Return the answers."""
        items, (left, right) = self.coded_items()
        return Similarities(left, right, self.read_outcome(np.zeros(self.size, dtype=bool)), items)

    def read_outcome(self, keep: Mask) -> npt.NDArray[np.int8]:
        """Return 1 for same and 0 for different; raise where one of the rows in `keep` is neither."""
        assert self.outcome is not None
        text = self.outcome_text.str.to_lowercase()
        yes, no = (text.is_in(list(words)).fill_null(False).to_numpy() for words in (YES, NO))
        is_bad = keep & ~yes & ~no
        if is_bad.any():
            row = int(np.flatnonzero(is_bad)[0])
            raise DataError(
                f"row {row + 1}: {quote([self.outcome[row]])} in column 'same' is neither same (1, true, yes) nor "
                "different (0, false, no); correct it, or name it with --missing"
            )
        return yes.astype(np.int8)


def series_of(values: Any, name: str) -> pl.Series:
    """Convert a column of a user's values."""
    series = values.rename(name) if isinstance(values, pl.Series) else to_polars({name: values})[name]
    if series.dtype == pl.Object:  # values of several types
        return pl.Series(name, [None if v is None else str(v) for v in series.to_list()], dtype=pl.String)
    return series


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
    columns, optional = {"left": left, "right": right, "same": same}, {"task": task, "worker": worker}
    return item_votes(
        columns, optional, fill_columns, SimilarityCoder, items=items, numbers=numbers, duplicates=duplicates,
        tasks=tasks, workers=workers, missing=missing,
    )  # fmt: skip


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


def distance(answers: Similarities, i: I8, j: I8) -> F8:
    """0 for equal answers, 1 for different ones."""
    return np.asarray(answers.same[i] != answers.same[j], dtype=np.float64)
