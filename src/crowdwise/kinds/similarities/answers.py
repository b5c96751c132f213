"""Same or different: what was said of two items."""

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
# Columns of answers about pairs: left, right, same; or a partition of several items, which is read as its pairs.

SIDES = {"left": "left item_a item1 item_1 first", "right": "right item_b item2 item_2 second"}
SAME = "same similar is_same match same_different"
LABELS = "label answer response"
PARTITION = "partition clusters grouping"
YES = ("1", "true", "yes", "same", "similar", "y", "t", "1.0")
NO = ("0", "false", "no", "different", "dissimilar", "n", "f", "0.0", "-1")
NOBODY = "everyone"


def told_by(header: Sequence[str]) -> Mapping[str, str] | None:
    """left, right and same (or a label); or a partition, also a label beside a list of items."""
    plain = {name.strip().lower().replace(" ", "_"): name for name in header}

    def find(names: str) -> str | None:
        return next((plain[name] for name in names.split() if name in plain), None)

    sides = {role: find(names) for role, names in SIDES.items()}
    same = find(SAME) or find(LABELS)
    if all(sides.values()) and same is not None and "head" not in plain:
        return {"left": str(sides["left"]), "right": str(sides["right"]), "same": same}
    whole = find(PARTITION) or (find(LABELS) if "items" in plain else None)
    if whole is None:
        return None
    return {"partition": whole, **({"items": plain["items"]} if "items" in plain else {})}


def fits(columns: dict[str, pl.Series]) -> bool:
    """Whether what stands in the columns can be meant: yes and no, or lists of lists."""
    if "partition" in columns:
        some = columns["partition"].drop_nulls().head(20).cast(pl.String).to_list()
        try:
            return bool(some) and all(_parts(text) for text in some)
        except ValueError:
            return False
    if "same" not in columns:
        return False
    said = columns["same"].drop_nulls().cast(pl.String).str.strip_chars().str.to_lowercase()
    return bool(len(said)) and bool(said.is_in([*YES, *NO, ""]).mean() > 0.8)  # type: ignore[operator]


def complete(columns: dict[str, Any]) -> tuple[tuple[str, ...], pl.DataFrame | None, bool]:
    """Partitions become pairs; tasks that nobody named are the pairs, and nameless answers are everyone's."""
    notes: tuple[str, ...] = ()
    again = False
    if "partition" in columns:
        notes, again = _expand(columns), True
    n = len(columns["left"])
    if "task" not in columns:
        left, right = (_text(columns[side]) for side in ("left", "right"))
        table = pl.DataFrame({"a": left, "b": right})
        columns["task"] = table.select(
            pl.min_horizontal("a", "b") + pl.lit(" | ") + pl.max_horizontal("a", "b")
        ).to_series().alias("task")  # fmt: skip
    if "worker" not in columns:
        columns["worker"] = pl.Series("worker", [NOBODY] * n, dtype=pl.String)
        notes, again = (*notes, f"nobody says who answered: all answers are those of {NOBODY!r}"), True
    if not again:
        notes += (more := repeats(columns, "pair"))
        again = bool(more)
    return notes, None, again


def repeats(columns: dict[str, Any], what: str) -> tuple[str, ...]:
    """A note where workers were asked the same again: a second look is another answer."""
    both = pl.DataFrame({name: _text(columns[name]) for name in ("task", "worker")})
    n = len(both) - both.n_unique()
    if not n:
        return ()
    return (
        f"{n:,} answers are to a {what} that the same worker had answered before; all count (or --duplicates first)",
    )


def _text(values: Any) -> pl.Series:
    series = values if isinstance(values, pl.Series) else to_polars({"item": values})["item"]
    return series.cast(pl.String).str.strip_chars()


def _expand(columns: dict[str, Any]) -> tuple[str, ...]:
    """Each partition as all pairs of its items, with what else stands in its row."""
    texts = _text(columns.pop("partition")).to_list()
    columns.pop("items", None)
    columns.pop("task", None)
    row, left, right, same = [], [], [], []
    used = 0
    for i, text in enumerate(texts):
        try:
            parts = _parts(text) if text else []
        except ValueError as error:
            raise DataError(
                f'row {i + 1}: {str(text)[:60]!r} is no partition ({error}); [["a", "b"], ["c"]] is one'
            ) from None
        group = {item: g for g, items in enumerate(parts) for item in items}
        used += bool(group)
        for a, b in combinations(sorted(group), 2):
            row.append(i)
            left.append(a)
            right.append(b)
            same.append("1" if group[a] == group[b] else "0")
    for name, values in list(columns.items()):
        columns[name] = values.gather(row) if isinstance(values, pl.Series) else np.asarray(values)[row]
    for name, found in (("left", left), ("right", right), ("same", same)):
        columns[name] = pl.Series(name, found, dtype=pl.String)
    return (f"{used:,} partitions are read as {len(row):,} pairs; answers of one partition hang together",)


def _parts(text: str) -> list[list[str]]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("no JSON") from None
    if not isinstance(given, list) or not all(isinstance(part, list) for part in given):
        raise ValueError("no list of lists")
    parts = [[str(item) for item in part] for part in given]
    items = [item for part in parts for item in part]
    if len(set(items)) < len(items):
        raise ValueError("an item stands in it twice")
    return parts


SELF = "an item beside itself"


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
        """Both, over the items of both."""
        items = union(self.items, other.items)
        mine, theirs = (lookup(items, each.items.cast(items.dtype))[0] for each in (self, other))
        sides = [np.concatenate([moved(a, mine), moved(b, theirs)]) for a, b in
                 ((self.left, other.left), (self.right, other.right))]  # fmt: skip
        return type(self)(sides[0], sides[1], np.concatenate([self.same, other.same]), items)

    def columns(self) -> dict[str, pl.Series]:
        """left, right, same."""
        return {
            "left": self.items.gather(self.left).rename("left"),
            "right": self.items.gather(self.right).rename("right"),
            "same": pl.Series("same", self.same.astype(np.int64)),
        }

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """The two items, whichever stood first, and what was said."""
        return np.minimum(self.left, self.right), np.maximum(self.left, self.right), self.same


def moved(codes: Codes, table: Codes) -> Codes:
    """Codes into another vocabulary."""
    return codes if not len(table) else table[codes]


class SimilarityCoder(Coder):
    """Columns left, right and same: 1, true, yes, same, or 0, false, no, different."""

    def __init__(self, columns: dict[str, Any], *, items: Any = None) -> None:
        missing = [name for name in ("left", "right", "same") if name not in columns]
        if missing:
            raise DataError(f"same or different needs the columns left, right and same; {missing[0]} is missing")
        one, two, self.said = (series_of(columns.pop(name), name) for name in ("left", "right", "same"))
        if len(one) != len(two) or len(self.said) != len(one):
            raise DataError("the columns left, right and same are not equally long")
        self.size, self.both = len(one), both_sides(one, two)
        self.given = None if items is None else sorted_vocabulary(items, "item")

    def __len__(self) -> int:
        return self.size

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows in which an item or the answer is missing."""
        text = self.said.cast(pl.String).str.strip_chars()
        gone = (text.is_null() | (text == "")).to_numpy()
        if self.both.null is not None:
            gone = gone | self.both.null[: self.size] | self.both.null[self.size :]
        return gone if gone.any() else None

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Take these values for no item and no answer."""
        text = self.said.cast(pl.String)
        hit = text.str.strip_chars().is_in(list(names)).fill_null(False)
        seen = set(text.filter(hit).str.strip_chars().to_list())
        self.said = text.set(hit, None)
        return seen | self.both.leave_out(names)

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:
        """Rows with two different items; an answer that is neither yes nor no is refused."""
        self._same(keep)
        alone = self.both.codes[: self.size] == self.both.codes[self.size :]
        dropped[SELF] = int((keep & alone).sum())
        return np.asarray(~alone)

    def finish(self) -> Similarities:
        """The answers."""
        items, codes = in_given(self.both, self.given)
        return Similarities(
            codes[: self.size], codes[self.size :], self._same(np.zeros(self.size, dtype=bool)), items.rename("item")
        )

    def _same(self, keep: Mask) -> npt.NDArray[np.int8]:
        text = self.said.cast(pl.String).str.strip_chars().str.to_lowercase()
        yes, no = (text.is_in(list(words)).fill_null(False).to_numpy() for words in (YES, NO))
        bad = keep & ~yes & ~no
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise DataError(
                f"row {row + 1}: {quote([self.said[row]])} in column 'same' is neither same (1, true, yes) nor "
                "different (0, false, no); correct it, or name it with --missing"
            )
        return yes.astype(np.int8)


def series_of(values: Any, name: str) -> pl.Series:
    """A column of the user's values."""
    found = values.rename(name) if isinstance(values, pl.Series) else to_polars({name: values})[name]
    if found.dtype == pl.Object:  # values of several types
        return pl.Series(name, [None if v is None else str(v) for v in found.to_list()], dtype=pl.String)
    return found


def both_sides(*sides: pl.Series) -> Column:
    """Columns of items under each other, as one column of codes."""
    same = all(side.dtype == sides[0].dtype for side in sides)
    return Column.of(pl.concat([(side if same else side.cast(pl.String)).rename("item") for side in sides]), "item")


def in_given(column: Column, given: pl.Series | None) -> tuple[pl.Series, Codes]:
    """The items and the codes, over the given items where there are any."""
    items, codes = column.vocabulary, column.codes.astype(np.int32)
    if given is None:
        return items, codes
    table, known = lookup(given, items.cast(given.dtype))
    if not known.all():
        raise DataError(f"items {quote(items.filter(~pl.Series(known)))} are not among the given ones")
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
    """Votes from equally long columns: `same` is 1 or 0, true or false, "same" or "different".

    Without `task` each pair of items is one; without `worker` all rows are answers of one, `everyone`.

    >>> similarity_votes(["a", "a"], ["b", "c"], [1, 0], worker=["ann", "bob"])
    Votes(2 pairs, 2 tasks, 2 workers)
    """
    named = {"task": task, "worker": worker}
    columns = {"left": left, "right": right, "same": same, **{n: v for n, v in named.items() if v is not None}}
    notes, _, again = complete(columns)
    columns |= numbers
    how: dict[str, Any] = {"duplicates": "keep" if again and duplicates == "error" else duplicates, "notes": notes}
    coder = partial(SimilarityCoder, items=items)
    return Votes._of(encode(columns, coder, tasks=tasks, workers=workers, missing=missing, **how))


def partition_votes(worker: Any, partition: Any, **numbers: Any) -> Votes[Similarities]:
    """Votes from partitions: each is a list of lists of items, or such a list as JSON text.

    >>> partition_votes(["ann"], [[["a", "b"], ["c"]]])
    Votes(3 pairs, 3 tasks, 1 workers)
    """
    import json

    texts = [
        each if isinstance(each, str) else json.dumps([[str(i) for i in part] for part in each]) for each in partition
    ]
    columns: dict[str, Any] = {"worker": pl.Series("worker", list(worker)), "partition": pl.Series(texts), **numbers}
    notes, _, _ = complete(columns)
    return Votes._of(encode(columns, SimilarityCoder, duplicates="keep", notes=notes))


# ---------------------------------------------------------------- How far two answers about a pair are apart

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


def distance(answers: Similarities, i: I8, j: I8) -> F8:
    """0 where both say the same, 1 where they do not."""
    return np.asarray(answers.same[i] != answers.same[j], dtype=np.float64)
