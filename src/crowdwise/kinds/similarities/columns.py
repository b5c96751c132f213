"""Columns of answers about pairs: left, right, same; or a partition of several items, which is read as its pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import DataError
from ...core.intake.frames import to_polars

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
