"""Boxes as answers: every worker's boxes on a picture, with a class each where they have one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder, Mask
from ...core.intake.coding import encode
from ...core.vocabulary import union
from ...core.votes import Votes, frozen
from ...maths.boxes.ragged import spread, starts
from . import text as cells

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

NAMES = "boxes bboxes bounding_boxes box bbox rectangles"


@dataclass(frozen=True, eq=False)
class Boxes(Answers):
    """size[row] boxes a row, one row after the other: corner[box, x1 y1 x2 y2] and tag[box], a code into `tags`.

    A row without boxes is an answer too: its worker saw nothing. Boxes without a class have the class "".
    """

    kind: ClassVar[str] = "boxes"

    size: I8
    corner: F8
    tag: I8
    tags: pl.Series

    def __post_init__(self) -> None:
        for name in ("size", "corner", "tag"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.size)

    @cached_property
    def start(self) -> I8:
        """Where each row's boxes begin, and where the last row's end."""
        return starts(self.size)

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The boxes of these rows."""
        rows = np.arange(len(self))[rows]
        _, box = spread(self.start[rows], self.size[rows])
        return type(self)(self.size[rows], self.corner[box], self.tag[box], self.tags)

    def join(self, other: Self) -> Self:
        """Both, over the union of their classes."""
        tags = union(self.tags, other.tags)
        place = {name: i for i, name in enumerate(tags.to_list())}
        mine, theirs = (np.array([place[n] for n in a.tags.to_list()], dtype=np.int64)[a.tag] for a in (self, other))
        return type(self)(
            np.concatenate([self.size, other.size]),
            np.concatenate([self.corner, other.corner]),
            np.concatenate([mine, theirs]),
            tags,
        )

    def columns(self) -> dict[str, pl.Series]:
        """The boxes as JSON."""
        names = self.tags.to_list()
        tags = [names[code] for code in self.tag.tolist()]
        texts = [cells.write(self.corner[a:b], tags[a:b]) for a, b in zip(self.start, self.start[1:], strict=False)]
        return {"boxes": pl.Series("boxes", texts, dtype=pl.String)}

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """The same boxes in another order are the same answer."""
        row = np.repeat(np.arange(len(self)), self.size)
        order = np.lexsort((self.tag, *self.corner.T[::-1], row))
        ordered = type(self)(self.size, self.corner[order], self.tag[order], self.tags)
        return (ordered.columns()["boxes"].rank("dense").to_numpy(),)


class BoxCoder(Coder):
    """A column of boxes as JSON text; an empty cell is no answer, `[]` is one."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.texts = _texts(columns.pop("boxes"))
        self.turned = self.flat = 0

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows without a text."""
        gone = (self.texts.is_null() | (self.texts.str.strip_chars() == "")).fill_null(True).to_numpy()
        return gone if gone.any() else None

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Take these texts for no answer."""
        plain = self.texts.str.strip_chars()
        hit = plain.is_in(list(names)).fill_null(False)
        self.texts = self.texts.set(hit, None)
        return set(plain.filter(hit).unique().to_list())

    def finish(self) -> Boxes:
        """All boxes; corners the other way round are turned, boxes without area left out; both are counted."""
        found: list[list[tuple[list[float], str]]] = []
        for row, text in enumerate(self.texts.to_list()):
            try:
                found.append([] if text is None or not text.strip() else cells.parse(text))
            except ValueError as error:
                raise cells.refuse(row, text, "boxes", str(error)) from None
        size = np.array([len(each) for each in found], dtype=np.int64)
        flatly = [box for each in found for box in each]
        corner, turned, flat = cells.tidy(np.array([box for box, _ in flatly], dtype=np.float64).reshape(-1, 4))
        self.turned, self.flat = int((turned & ~flat).sum()), int(flat.sum())
        row_of = np.repeat(np.arange(len(size)), size)
        size = size - np.bincount(row_of[flat], minlength=len(size))
        names = [tag for (_, tag), gone in zip(flatly, flat.tolist(), strict=True) if not gone]
        tags = sorted(set(names)) or [""]
        place = {name: i for i, name in enumerate(tags)}
        tag = np.array([place[name] for name in names], dtype=np.int64)
        return Boxes(size, corner[~flat], tag, pl.Series("tag", tags, dtype=pl.String))

    def notes(self, answers: Any) -> tuple[str, ...]:  # noqa: ARG002
        """Boxes that were turned or left out."""
        out: tuple[str, ...] = ()
        if self.turned:
            out += (f"{self.turned:,} boxes had x1 > x2 or y1 > y2; their corners were put in order",)
        if self.flat:
            out += (f"{self.flat:,} boxes without area were left out; their answers stay",)
        return out


def _texts(values: Any) -> pl.Series:
    """Cells as text: lists are written as JSON first."""
    import json

    if isinstance(values, pl.Series):
        if values.dtype == pl.String or values.dtype == pl.Null:
            return values.cast(pl.String).rename("boxes")
        values = values.to_list()
    given = [None if v is None else v if isinstance(v, str) else json.dumps(v, default=_plain) for v in values]
    return pl.Series("boxes", given, dtype=pl.String)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no box")


def told_by(header: Sequence[str]) -> Mapping[str, str] | None:
    """The column of boxes in a header."""
    plain = {name.strip().lower().replace(" ", "_"): name for name in header}
    found = next((plain[name] for name in NAMES.split() if name in plain), None)
    return None if found is None else {"boxes": found}


def fits(column: pl.Series) -> bool:
    """Whether a column holds boxes: the first cells are read."""
    some = column.drop_nulls().head(50).to_list()
    try:
        found = [cells.parse(each) if isinstance(each, str) else cells.from_lists(each) for each in some]
    except ValueError:
        return False
    return any(found)


def claims(answers: pl.Series) -> str:
    """Why answers are boxes: all of them are lists of four numbers."""
    plain = answers.drop_nulls()
    return "lists of four numbers" if plain.dtype == pl.String and len(plain) and fits(plain) else ""


def box_votes(
    task: Any,
    worker: Any,
    boxes: Any,
    *,
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    missing: Sequence[Any] = (),
    **numbers: Any,
) -> Votes[Boxes]:
    """Votes from equally long columns; `boxes` holds a list of [x1, y1, x2, y2] or [x1, y1, x2, y2, class] a row.

    >>> box_votes([1, 1], ["ann", "bob"], [[[0, 0, 4, 4]], []])
    Votes(2 answers with boxes, 1 tasks, 2 workers)
    """
    columns: dict[str, Any] = {"task": task, "worker": worker, "boxes": boxes, **numbers}
    coded = encode(columns, BoxCoder, duplicates=duplicates, tasks=tasks, workers=workers, missing=missing)
    return Votes._of(coded)
