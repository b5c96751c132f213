"""Rankings as answers: items in order, best first, with ties and omissions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, TextColumnCoder
from ...core.arrays import F8, I8, Mask
from ...core.errors import DataError
from ...core.intake.coding import encode
from ...core.intake.columns import first_named
from ...core.vocabulary import lookup, quote, sorted_vocabulary, widened
from ...core.votes import Votes, frozen
from ...stats.ragged import ranges, spread, starts
from ..comparisons.answers import plain_text
from .maths import RankRows

# ----------------------------------------------------------------
# Rankings as text: a>b>c, a>b=c, a>b>... (all others after these, in no order), or JSON: ["a", ["b", "c"], "..."].

REST = "..."
# Groups of tied items, best first, and whether all other items come after them.
Groups = tuple[list[list[str]], bool]


def parse(text: str) -> Groups | str:
    """Return the groups of a ranking, or a text that says what is wrong with it."""
    text = text.strip()
    if text.startswith("["):
        try:
            entries = json.loads(text)
        except ValueError:
            return "is not a JSON list"
        return _of_list(entries)
    places = [[item.strip() for item in place.split("=")] for place in text.split(">")]
    return _checked(places)


def _of_list(entries: Any) -> Groups | str:
    if not isinstance(entries, list):
        return "is not a list"
    places = []
    for place in entries:
        if isinstance(place, dict):
            place = place.get("value", place.get("id"))
        names = place if isinstance(place, list) else [place]
        if any(isinstance(item, dict | list | bool) or item is None for item in names):
            return "contains something that is not an item name"
        places.append([str(item).strip() for item in names])
    return _checked(places)


def _checked(places: list[list[str]]) -> Groups | str:
    has_rest = bool(places) and places[-1] in ([REST], ["…"])
    groups = places[:-1] if has_rest else places
    flat = [item for group in groups for item in group]
    if any(not item for item in flat):
        return "has a place without an item"
    if REST in flat or "…" in flat:
        return f"has {REST} before its end"
    if len(set(flat)) < len(flat):
        return "contains an item twice"
    if not flat:
        return "contains no item"
    return groups, has_rest


def written(groups: list[list[str]], has_rest: bool, plain: bool) -> str:
    """Write a ranking as text, or as JSON where names contain > or =."""
    if plain:
        return ">".join(["=".join(group) for group in groups] + [REST] * has_rest)
    out: list[Any] = [group[0] if len(group) == 1 else group for group in groups]
    return json.dumps(out + [REST] * has_rest, ensure_ascii=False)


def is_plain(names: list[str]) -> bool:
    """Whether no name contains a character with a meaning in rankings."""
    return not any(">" in name or "=" in name or name.startswith("[") or name in (REST, "…") for name in names)


def written_lists(rankings: Any) -> list[str | None]:
    """Convert a column of rankings to text: lists become JSON."""
    out: list[str | None] = []
    for ranking in rankings:
        if ranking is None or isinstance(ranking, str):
            out.append(ranking)
        else:
            out.append(json.dumps([list(p) if isinstance(p, list | tuple) else _plain(p) for p in ranking]))
    return out


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def items_in(text: str, column: str) -> list[str]:
    """Read the items of a list from a cell: JSON, or items separated by |."""
    try:
        names = json.loads(text) if text.lstrip().startswith("[") else text.split("|")
    except ValueError:
        raise DataError(
            f"the column {column} contains {text[:60]!r}; write a JSON list, or items separated by |"
        ) from None
    return [str(name).strip() for name in names]


SHORT = "a ranking of one item"


@dataclass(frozen=True, eq=False)
class Rankings(Answers):
    """Rankings as arrays.

    Row r has the items item[offset[r] .. offset[r + 1]], best first, as codes into `items`. `level` is the position of
    an item, shared by tied items (0, 1, ...). `rest[r]` marks rankings that are followed by all other items.
    """

    kind: ClassVar[str] = "rankings"

    offset: I8
    item: npt.NDArray[np.int32]
    level: npt.NDArray[np.int32]
    rest: Mask
    items: pl.Series

    def __post_init__(self) -> None:
        for name in ("offset", "item", "level", "rest"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.rest)

    @property
    def size(self) -> I8:
        """Number of items that each row ranks."""
        return np.diff(self.offset)

    @property
    def row_and_place(self) -> tuple[I8, I8]:
        """The row of each ranked item, and its index in the row."""
        return spread(np.zeros(len(self), dtype=np.int64), self.size)

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The answers of these rows."""
        picked = np.flatnonzero(rows) if rows.dtype == bool else rows
        size = self.size[picked]
        at = ranges(self.offset[picked], size)
        return type(self)(starts(size), self.item[at], self.level[at], self.rest[picked], self.items)

    def join(self, other: Self) -> Self:
        """Concatenate two sets of answers, over the items of both."""
        items, self_codes, other_codes = widened(self.items, other.items)
        codes = [
            codes_of_side if table is None or not len(table) else table[codes_of_side]
            for codes_of_side, table in ((self.item, self_codes), (other.item, other_codes))
        ]
        return type(self)(
            np.concatenate([self.offset, self.offset[-1] + other.offset[1:]]),
            np.concatenate(codes),
            np.concatenate([self.level, other.level]),
            np.concatenate([self.rest, other.rest]),
            items,
        )

    def columns(self) -> dict[str, pl.Series]:
        """Return the column ranking: text such as a>b=c, or JSON where names contain > or =."""
        names = [str(name) for name in self.items.to_list()]
        plain = is_plain(names)
        return {"ranking": pl.Series("ranking", [written(*groups, plain) for groups in self.groups()], dtype=pl.String)}

    def groups(self) -> list[Groups]:
        """Groups of tied item names of each row."""
        names = [str(name) for name in self.items.to_list()]
        offset, item, level, rest = (x.tolist() for x in (self.offset, self.item, self.level, self.rest))
        out: list[Groups] = []
        for r in range(len(self)):
            places: list[list[str]] = []
            for at in range(offset[r], offset[r + 1]):
                if at == offset[r] or level[at] != level[at - 1]:
                    places.append([])
                places[-1].append(names[item[at]])
            out.append((places, rest[r]))
        return out

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """A code for each distinct ranking; the order of tied items does not matter."""
        width = int(self.size.max(initial=0))
        table = np.full((len(self), 2 * width + 1), -1, dtype=np.int64)
        row, place = self.row_and_place
        order = np.lexsort((self.item, self.level, row))
        table[row, place] = self.item[order]
        table[row, width + place] = self.level[order]
        table[:, -1] = self.rest
        if not len(table):
            return (np.empty(0, dtype=np.int64),)
        return (np.unique(table, axis=0, return_inverse=True)[1].ravel(),)


class RankingCoder(TextColumnCoder):
    """Read a column of rankings, as text or lists; an empty cell is a missing answer."""

    def __init__(self, columns: dict[str, Any], *, items: Any = None) -> None:
        if "ranking" not in columns:
            raise DataError("rankings need a column `ranking`, such as a>b>c")
        super().__init__(plain_text(columns.pop("ranking"), "ranking").cast(pl.String).str.strip_chars())
        self.given = None if items is None else sorted_vocabulary(items, "item").cast(pl.String)

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:
        """Mark rankings of at least two items (or of one before all others); raise where one cannot be read."""
        at, groups, faults = self._read()
        is_bad = keep & np.array([bool(fault) for fault in faults] or [False])[at]
        if is_bad.any():
            row = int(np.flatnonzero(is_bad)[0])
            others = f" (and {int(is_bad.sum()) - 1:,} more rows)" if is_bad.sum() > 1 else ""
            raise DataError(
                f"row {row + 1}: the ranking {quote([self.texts[row]])} {faults[at[row]]}{others}; write a>b>c, a>b=c "
                "for ties, or a JSON list"
            )
        is_long = np.array([g is not None and (sum(map(len, g[0])) > 1 or g[1]) for g in groups] or [False])[at]
        dropped[SHORT] = int((keep & ~is_long).sum())
        return np.asarray(is_long)

    def finish(self) -> Rankings:
        """Return the answers; the values of missing rows are arbitrary."""
        at, groups, _ = self._read()
        readable = [group if group is not None else ([], False) for group in groups]
        names = pl.Series("item", [name for g, _ in readable for place in g for name in place], dtype=pl.String)
        items = names.unique().sort() if self.given is None else self.given
        codes, is_given = lookup(items, names) if len(items) else (np.empty(0, np.int32), np.empty(0, bool))
        if not is_given.all():
            raise DataError(
                f"items {quote(names.filter(~pl.Series(is_given)).unique().sort())} are not among the given ones"
            )
        level = np.array([i for g, _ in readable for i, place in enumerate(g) for _ in place], dtype=np.int32)
        size = np.array([sum(map(len, g)) for g, _ in readable] or [0], dtype=np.int64)
        rest = np.array([r for _, r in readable] or [False], dtype=bool)
        return Rankings(starts(size), codes.astype(np.int32), level, rest, items.rename("item")).take(at)

    def _read(self) -> tuple[I8, list[Groups | None], list[str]]:
        """Parse the distinct texts: the text code of each row, their groups, and what is wrong with them."""
        texts = self.texts.fill_null("").unique().sort()
        at, _ = lookup(texts, self.texts.fill_null(""))
        groups: list[Groups | None] = []
        faults: list[str] = []
        for text in texts.to_list():
            ranking = parse(text) if text else "is empty"
            groups.append(None if isinstance(ranking, str) else ranking)
            faults.append(ranking if isinstance(ranking, str) and text else "")
        return at.astype(np.int64), groups, faults


def explain_detection(answers: pl.Series) -> str:
    """Explain why answers are rankings (all have items on both sides of a >); empty if they are not."""
    if answers.dtype != pl.String:
        return ""
    texts = answers.drop_nulls().str.strip_chars()
    texts = texts.filter(texts != "")
    if not len(texts) or not bool(texts.str.contains(r"^[^<>]*[^<>\s\-=][^<>\-]*(>[^<>]*[^<>\s][^<>]*)+$").all()):
        return ""
    return f"items in an order, such as {str(texts[0])[:40]}"


def accepts(column: pl.Series) -> bool:
    """Whether most cells can be read as rankings."""
    text = plain_text(column, "ranking").cast(pl.String).drop_nulls().head(200)
    can_be_read = [not isinstance(parse(cell), str) for cell in text.to_list() if cell.strip()]
    return bool(can_be_read) and sum(can_be_read) >= 0.8 * len(can_be_read)


# ----------------------------------------------------------------
# Distance of two rankings: the share of pairs of common items in the opposite order.

_CELLS = 20_000_000


def distance(answers: Rankings, i: npt.NDArray[Any], j: npt.NDArray[Any]) -> F8:
    """Kendall's distance, 0 to 1. A pair tied in one ranking counts half; one half without two common items."""
    width = int(answers.size.max(initial=1))
    item = np.full((len(answers), width), -1, dtype=np.int64)
    level = np.zeros((len(answers), width), dtype=np.float64)
    row, place = answers.row_and_place
    item[row, place], level[row, place] = answers.item, answers.level
    out = np.empty(len(i))
    step = max(1, _CELLS // width**2)
    for lo in range(0, len(i), step):
        a, b = i[lo : lo + step], j[lo : lo + step]
        same = (item[a][:, :, None] == item[b][:, None, :]) & (item[a] >= 0)[:, :, None]
        common = same.any(axis=2)
        level_j = np.where(common, np.take_along_axis(level[b], same.argmax(axis=2), axis=1), np.nan)
        level_i = np.where(common, level[a], np.nan)
        order_i = np.sign(level_i[:, :, None] - level_i[:, None, :])
        order_j = np.sign(level_j[:, :, None] - level_j[:, None, :])
        n = common.sum(axis=1)
        pairs = n * (n - 1) / 2
        differing = (np.nansum(np.abs(order_i - order_j), axis=(1, 2)) / 4).astype(np.float64)
        out[lo : lo + step] = np.where(pairs > 0, differing / np.maximum(pairs, 1), 0.5)
    return out


# ---------------------------------------------------------------- Votes from columns

NAMES = ("ranking", "order", "ranks", "preference_order")


def detect_columns(header: Sequence[str]) -> Mapping[str, str] | None:
    """Find a column with a name such as ranking."""
    column = first_named(header, " ".join(NAMES))
    return None if column is None else {"ranking": column}


def ranking_votes(
    task: Any,
    worker: Any,
    ranking: Any,
    *,
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    items: Any = None,
    missing: Sequence[Any] = (),
    **numbers: Any,
) -> Votes[Rankings]:
    """Build votes from equally long columns.

    Args:
        task: The task of each row.
        worker: The worker of each row.
        ranking: Text (a>b=c, a>b>...) or a list of items, best first; tied items are a list within it.
        duplicates: What to do where a worker answered a task more than once.
        tasks: All tasks, where some have no rows.
        workers: All workers, where some have no rows.
        items: All items, where some have no rows.
        missing: Values that stand for a missing entry.
        **numbers: Further columns, such as weight.

    >>> ranking_votes([1, 1], ["ann", "bob"], ["a>b>c", ["c", ["a", "b"]]])
    Votes(2 rankings, 1 tasks, 2 workers)
    """
    columns = {"task": task, "worker": worker, "ranking": written_lists(ranking), **numbers}
    options: dict[str, Any] = {"duplicates": duplicates, "tasks": tasks, "workers": workers, "missing": missing}
    return Votes._of(encode(columns, partial(RankingCoder, items=items), **options))


# ---------------------------------------------------------------- Votes of rankings as arrays


def rows_of(votes: Votes[Rankings]) -> tuple[RankRows, I8]:
    """Return the votes as arrays over entries (items of tasks), and the item of each entry. `...` is expanded."""
    answers = votes.answers
    k = max(len(answers.items), 1)
    row = np.repeat(np.arange(len(votes)), answers.size)
    key = votes.task[row].astype(np.int64) * k + answers.item
    entries = np.unique(key)
    begin = np.searchsorted(entries, np.arange(votes.n_tasks + 1) * k)
    row, entry, level = row, np.searchsorted(entries, key), answers.level.astype(np.int64)
    row, entry, level, rest = _with_rest(votes, row, entry, level, begin)
    size = np.bincount(row, minlength=len(votes))
    order = np.lexsort((entry, level, row))
    row, entry, level = row[order], entry[order], level[order]
    width = int(size.max(initial=1))
    place = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
    table = np.full((len(votes), width), -1, dtype=np.int64)
    levels = np.zeros((len(votes), width), dtype=np.int64)
    table[row, place], levels[row, place] = entry, level
    last = np.take_along_axis(levels, np.maximum(size - 1, 0)[:, None], axis=1)
    levels = np.where(np.arange(width) < size[:, None], levels, last)
    worker = votes.worker.astype(np.int64)
    rows = RankRows(
        table, levels, size, rest, votes.task.astype(np.int64), worker, votes.weight, begin, votes.n_workers
    )
    return rows, entries % k


def _with_rest(
    votes: Votes[Rankings], row: I8, entry: I8, level: I8, begin: I8
) -> tuple[I8, I8, I8, npt.NDArray[np.bool_]]:
    """Append the other items of the task, all at one last level, to rankings that end in `...`."""
    rest = votes.answers.rest.copy()
    more_rows, more_entries, more_levels = [], [], []
    for r in np.flatnonzero(rest).tolist():
        t = int(votes.task[r])
        others = np.setdiff1d(np.arange(begin[t], begin[t + 1]), entry[row == r])
        if not len(others):
            rest[r] = False
            continue
        more_rows.append(np.full(len(others), r))
        more_entries.append(others)
        more_levels.append(np.full(len(others), int(level[row == r].max(initial=-1)) + 1))
    if not more_rows:
        return row, entry, level, rest
    return (
        np.concatenate([row, *more_rows]),
        np.concatenate([entry, *more_entries]),
        np.concatenate([level, *more_levels]),
        rest,
    )
