"""Rankings: items in an order, best first, with ties and gaps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder
from ...core.errors import DataError
from ...core.vocabulary import lookup, quote, sorted_vocabulary, widened
from ...core.votes import Votes, frozen
from ..comparisons.answers import plain_text
from .maths import RankRows

# ----------------------------------------------------------------
# Rankings in text: a>b>c, a>b=c, a>b>... (the rest after these, in no order), or JSON: ["a", ["b", "c"], "..."].

REST = "..."
# Groups of items that share a place, best first, and whether all others come after them.
Groups = tuple[list[list[str]], bool]


def parse(text: str) -> Groups | str:
    """The groups of a ranking, or what is wrong with it."""
    text = text.strip()
    if text.startswith("["):
        try:
            found = json.loads(text)
        except ValueError:
            return "is no JSON list"
        return _of_list(found)
    parts = [[item.strip() for item in place.split("=")] for place in text.split(">")]
    return _checked(parts)


def _of_list(found: Any) -> Groups | str:
    if not isinstance(found, list):
        return "is no list"
    parts = []
    for place in found:
        if isinstance(place, dict):
            place = place.get("value", place.get("id"))
        some = place if isinstance(place, list) else [place]
        if any(isinstance(item, dict | list | bool) or item is None for item in some):
            return "holds something that is no item's name"
        parts.append([str(item).strip() for item in some])
    return _checked(parts)


def _checked(parts: list[list[str]]) -> Groups | str:
    rest = bool(parts) and parts[-1] in ([REST], ["…"])
    groups = parts[:-1] if rest else parts
    flat = [item for group in groups for item in group]
    if any(not item for item in flat):
        return "has a place without an item"
    if REST in flat or "…" in flat:
        return f"has {REST} elsewhere than at its end"
    if len(set(flat)) < len(flat):
        return "holds an item twice"
    if not flat:
        return "holds no item"
    return groups, rest


def written(groups: list[list[str]], rest: bool, plain: bool) -> str:
    """A ranking in text again; as JSON where names hold the signs themselves."""
    if plain:
        return ">".join(["=".join(group) for group in groups] + [REST] * rest)
    out: list[Any] = [group[0] if len(group) == 1 else group for group in groups]
    return json.dumps(out + [REST] * rest, ensure_ascii=False)


def is_plain(names: list[str]) -> bool:
    """Whether no name holds a sign that means something in a ranking."""
    return not any(">" in name or "=" in name or name.startswith("[") or name in (REST, "…") for name in names)


def written_lists(rankings: Any) -> list[str | None]:
    """A user's column of rankings as text: lists become JSON."""
    out: list[str | None] = []
    for each in rankings:
        if each is None or isinstance(each, str):
            out.append(each)
        else:
            out.append(json.dumps([list(p) if isinstance(p, list | tuple) else _plain(p) for p in each]))
    return out


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def items_in(text: str, column: str) -> list[str]:
    """The items of a list that are to be put in order, from a cell: JSON, or items with | between."""
    try:
        found = json.loads(text) if text.lstrip().startswith("[") else text.split("|")
    except ValueError:
        raise DataError(
            f"the column {column} holds {text[:60]!r}; write a JSON list, or items with | between"
        ) from None
    return [str(each).strip() for each in found]


Mask = npt.NDArray[np.bool_]
I8 = npt.NDArray[np.int64]
SHORT = "a ranking of one item"


@dataclass(frozen=True, eq=False)
class Rankings(Answers):
    """Row r holds the items item[offset[r] .. offset[r + 1]], best first, as codes into `items`; level: the place
    that an item shares with those tied to it (0, 1, ...); rest[r]: all others of the task come after these."""

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
        """How many items each row ranks."""
        return np.diff(self.offset)

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The answers of these rows."""
        pick = np.flatnonzero(rows) if rows.dtype == bool else rows
        size = self.size[pick]
        offset = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        at = np.repeat(self.offset[pick] - offset[:-1], size) + np.arange(int(offset[-1]))
        return type(self)(offset, self.item[at], self.level[at], self.rest[pick], self.items)

    def join(self, other: Self) -> Self:
        """Both, over the items of both."""
        items, mine, theirs = widened(self.items, other.items)
        codes = [
            own if table is None or not len(table) else table[own]
            for own, table in ((self.item, mine), (other.item, theirs))
        ]
        return type(self)(
            np.concatenate([self.offset, self.offset[-1] + other.offset[1:]]),
            np.concatenate(codes),
            np.concatenate([self.level, other.level]),
            np.concatenate([self.rest, other.rest]),
            items,
        )

    def columns(self) -> dict[str, pl.Series]:
        """The rankings as text, a>b=c; as JSON where items' names hold these signs."""
        names = [str(name) for name in self.items.to_list()]
        plain = is_plain(names)
        return {"ranking": pl.Series("ranking", [written(*groups, plain) for groups in self.groups()], dtype=pl.String)}

    def groups(self) -> list[Groups]:
        """Row by row the items' names by place."""
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
        """A code for each distinct ranking: a tie is the same however it is written."""
        width = int(self.size.max(initial=0))
        table = np.full((len(self), 2 * width + 1), -1, dtype=np.int64)
        row = np.repeat(np.arange(len(self)), self.size)
        order = np.lexsort((self.item, self.level, row))
        place = np.arange(len(order)) - np.repeat(self.offset[:-1], self.size)
        table[row, place] = self.item[order]
        table[row, width + place] = self.level[order]
        table[:, -1] = self.rest
        if not len(table):
            return (np.empty(0, dtype=np.int64),)
        return (np.unique(table, axis=0, return_inverse=True)[1].ravel(),)


class RankingCoder(Coder):
    """A column of rankings, in text or as lists; an empty cell is no answer."""

    def __init__(self, columns: dict[str, Any], *, items: Any = None) -> None:
        if "ranking" not in columns:
            raise DataError("rankings need a column `ranking`, such as a>b>c")
        self.text = plain_text(columns.pop("ranking"), "ranking").cast(pl.String).str.strip_chars()
        self.given = None if items is None else sorted_vocabulary(items, "item").cast(pl.String)

    def __len__(self) -> int:
        return len(self.text)

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows without a ranking."""
        gone = (self.text.is_null() | (self.text == "").fill_null(False)).to_numpy()
        return gone if gone.any() else None

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Take these texts for no ranking."""
        hit = self.text.is_in(list(names)).fill_null(False)
        seen = set(self.text.filter(hit).to_list())
        self.text = self.text.set(hit, None)
        return seen

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:
        """Rankings of at least two items (or of one before the rest); what cannot be read is refused with its row."""
        at, groups, faults = self._read()
        bad = keep & np.array([bool(fault) for fault in faults] or [False])[at]
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            more = f" (and {int(bad.sum()) - 1:,} rows more)" if bad.sum() > 1 else ""
            raise DataError(
                f"row {row + 1}: the ranking {quote([self.text[row]])} {faults[at[row]]}{more}; write a>b>c, a>b=c for "
                "ties, or a JSON list"
            )
        long = np.array([g is not None and (sum(map(len, g[0])) > 1 or g[1]) for g in groups] or [False])[at]
        dropped[SHORT] = int((keep & ~long).sum())
        return np.asarray(long)

    def finish(self) -> Rankings:
        """The answers; what null rows get does not matter."""
        at, groups, _ = self._read()
        known = [group if group is not None else ([], False) for group in groups]
        every = pl.Series("item", [name for g, _ in known for place in g for name in place], dtype=pl.String)
        items = every.unique().sort() if self.given is None else self.given
        codes, there = lookup(items, every) if len(items) else (np.empty(0, np.int32), np.empty(0, bool))
        if not there.all():
            raise DataError(
                f"items {quote(every.filter(~pl.Series(there)).unique().sort())} are not among the given ones"
            )
        level = np.array([i for g, _ in known for i, place in enumerate(g) for _ in place], dtype=np.int32)
        size = np.array([sum(map(len, g)) for g, _ in known] or [0], dtype=np.int64)
        offset = np.concatenate([[0], np.cumsum(size)])
        rest = np.array([r for _, r in known] or [False], dtype=bool)
        return Rankings(offset, codes.astype(np.int32), level, rest, items.rename("item")).take(at)

    def _read(self) -> tuple[I8, list[Groups | None], list[str]]:
        """The distinct texts once: the code of each row, their groups, and what is wrong with them."""
        texts = self.text.fill_null("").unique().sort()
        at, _ = lookup(texts, self.text.fill_null(""))
        groups: list[Groups | None] = []
        faults: list[str] = []
        for text in texts.to_list():
            found = parse(text) if text else "is empty"
            groups.append(None if isinstance(found, str) else found)
            faults.append(found if isinstance(found, str) and text else "")
        return at.astype(np.int64), groups, faults


def claims(answers: pl.Series) -> str:
    """Why answers are rankings: all of them have items on both sides of a >."""
    if answers.dtype != pl.String:
        return ""
    plain = answers.drop_nulls().str.strip_chars()
    plain = plain.filter(plain != "")
    if not len(plain) or not bool(plain.str.contains(r"^[^<>]*[^<>\s\-=][^<>\-]*(>[^<>]*[^<>\s][^<>]*)+$").all()):
        return ""
    return f"items in an order, such as {str(plain[0])[:40]}"


def fits(column: pl.Series) -> bool:
    """Whether most cells can be read as rankings."""
    text = plain_text(column, "ranking").cast(pl.String).drop_nulls().head(200)
    read = [not isinstance(parse(each), str) for each in text.to_list() if each.strip()]
    return bool(read) and sum(read) >= 0.8 * len(read)


# ----------------------------------------------------------------
# How far two rankings are apart: the share of pairs of common items that stand the other way round.

F8 = npt.NDArray[np.float64]
_CELLS = 20_000_000


def distance(answers: Rankings, i: npt.NDArray[Any], j: npt.NDArray[Any]) -> F8:
    """Kendall's, 0 to 1: a pair tied in one of them counts half; without two common items one half."""
    width = int(answers.size.max(initial=1))
    item = np.full((len(answers), width), -1, dtype=np.int64)
    level = np.zeros((len(answers), width), dtype=np.float64)
    row = np.repeat(np.arange(len(answers)), answers.size)
    place = np.arange(len(row)) - np.repeat(answers.offset[:-1], answers.size)
    item[row, place], level[row, place] = answers.item, answers.level
    out = np.empty(len(i))
    step = max(1, _CELLS // width**2)
    for lo in range(0, len(i), step):
        a, b = i[lo : lo + step], j[lo : lo + step]
        same = (item[a][:, :, None] == item[b][:, None, :]) & (item[a] >= 0)[:, :, None]
        common = same.any(axis=2)
        theirs = np.where(common, np.take_along_axis(level[b], same.argmax(axis=2), axis=1), np.nan)
        mine = np.where(common, level[a], np.nan)
        one = np.sign(mine[:, :, None] - mine[:, None, :])
        two = np.sign(theirs[:, :, None] - theirs[:, None, :])
        n = common.sum(axis=1)
        pairs = n * (n - 1) / 2
        off = (np.nansum(np.abs(one - two), axis=(1, 2)) / 4).astype(np.float64)
        out[lo : lo + step] = np.where(pairs > 0, off / np.maximum(pairs, 1), 0.5)
    return out


# ---------------------------------------------------------------- Votes of rankings as the maths takes them


def rows_of(votes: Votes[Rankings]) -> tuple[RankRows, I8]:
    """The rows over entries (items of tasks), and the item of each entry; the rest of a list is spelt out."""
    said = votes.answers
    k = max(len(said.items), 1)
    row = np.repeat(np.arange(len(votes)), said.size)
    key = votes.task[row].astype(np.int64) * k + said.item
    entries = np.unique(key)
    begin = np.searchsorted(entries, np.arange(votes.n_tasks + 1) * k)
    row, entry, level = row, np.searchsorted(entries, key), said.level.astype(np.int64)
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
    """Rows that end in `...` get the other items of their task at one last level."""
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
