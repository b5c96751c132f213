"""Rankings: items in an order, best first, with ties and gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder
from ...core.errors import DataError
from ...core.vocabulary import lookup, quote, sorted_vocabulary, widened
from ...core.votes import frozen
from ..comparisons.columns import plain_text
from .parsing import Groups, is_plain, parse, written

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
