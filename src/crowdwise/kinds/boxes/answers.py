"""Boxes as answers: the boxes that a worker drew on an image, each with an optional class."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, TextColumnCoder
from ...core.arrays import F8, I8
from ...core.errors import DataError
from ...core.intake.coding import encode
from ...core.intake.columns import first_named
from ...core.vocabulary import union
from ...core.votes import Votes, frozen
from ...stats.ragged import spread, starts
from .maths import match_lists, soft_f1

# ----------------------------------------------------------------
# Boxes as text: a JSON list of [x1, y1, x2, y2] or [x1, y1, x2, y2, "class"].

T = TypeVar("T")

# Larger coordinates are rejected, so that areas stay finite.
LARGEST = 1e12
_TAGS = ("label", "class", "category", "tag", "name")
_CORNERS = ("x1", "y1", "x2", "y2")
_SIDES = ("x", "y", "width", "height")
SHAPE = 'a JSON list of [x1, y1, x2, y2] or [x1, y1, x2, y2, "class"]'


def parse(text: str) -> list[tuple[list[float], str]]:
    """Return (corners, class) of each box in a cell. Raises ValueError if the cell cannot be parsed.
    >>> parse('[[0, 0, 4, 2, "cat"]]')
    [([0.0, 0.0, 4.0, 2.0], 'cat')]
    """
    try:
        values = json.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except ValueError:
        raise ValueError(f"is not valid JSON; {SHAPE} is needed") from None
    return from_lists(values)


def from_lists(values: Any) -> list[tuple[list[float], str]]:
    """Return (corners, class) of each box from decoded JSON."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise ValueError(f"is not a list; {SHAPE} is needed")
    if len(values) in (4, 5) and all(_number(v) for v in values[:4]):
        values = [values]  # one box, not in a list
    return [_box(box) for box in values]


def _box(box: Any) -> tuple[list[float], str]:
    tag: Any = ""
    if isinstance(box, Mapping):
        tag = next((box[name] for name in _TAGS if box.get(name) is not None), "")
        if all(name in box for name in _CORNERS):
            values = [box[name] for name in _CORNERS]
        elif all(name in box for name in _SIDES):
            x, y, width, height = _numbers([box[name] for name in _SIDES])
            values = [x, y, x + width, y + height]
        else:
            values = box.get("box", ())
    else:
        values = box
    if isinstance(values, str) or not isinstance(values, Sequence) or len(values) not in (4, 5):
        raise ValueError(f"has {str(box)[:40]!r} where a box is needed; {SHAPE} is needed")
    if len(values) == 5:
        tag = values[4]
    if isinstance(tag, list | dict):
        raise ValueError(f"has the class {str(tag)[:40]!r}, which is not a name")
    return _numbers(values[:4]), "" if tag is None else str(tag)


def _numbers(values: Sequence[Any]) -> list[float]:
    for value in values:
        if not _number(value) or not abs(float(value)) <= LARGEST:
            raise ValueError(f"has {str(value)[:40]!r} as a coordinate, which is not a usable number")
    return [float(value) for value in values]


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def write(corner: F8, tags: Sequence[str]) -> str:
    """Format boxes as a cell, with their classes if there are any."""
    named = any(tags)
    boxes: list[list[Any]] = [
        [*map(short_number, box), tag] if named else [*map(short_number, box)]
        for box, tag in zip(corner.tolist(), tags, strict=True)
    ]
    return json.dumps(boxes, ensure_ascii=False)


def short_number(value: float) -> float | int:
    """Return a whole number as an integer, so that it is written without a decimal point."""
    return int(value) if value == int(value) else value


def order_corners(corner: F8) -> tuple[F8, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return the corners in order, which boxes had swapped corners, and which boxes have no area."""
    low, high = np.minimum(corner[:, :2], corner[:, 2:]), np.maximum(corner[:, :2], corner[:, 2:])
    turned = (low != corner[:, :2]).any(axis=1)
    flat = np.asarray(((high - low) <= 0).any(axis=1))
    return np.concatenate([low, high], axis=1), turned, flat


# Names of the column of boxes in files, best first.
NAMES = "boxes bboxes bounding_boxes box bbox rectangles"


@dataclass(frozen=True, eq=False)
class ShapeLists(Answers):
    """Base class of answers that are lists of shapes; size[row] is the number of shapes of each answer."""

    size: I8

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, field.name, frozen(value))

    def __len__(self) -> int:
        return len(self.size)

    @cached_property
    def start(self) -> I8:
        """Index of the first shape of each row, and the number of shapes."""
        return starts(self.size)


@dataclass(frozen=True, eq=False)
class Boxes(ShapeLists):
    """The boxes of each answer, one answer after the other.

    An answer without boxes is valid: the worker found nothing to mark.

    Args:
        size: size[row], the number of boxes of each answer.
        corner: corner[box, x1 y1 x2 y2].
        tag: tag[box], the class of each box as a code into `tags`.
        tags: Names of the classes. Boxes without a class have the class "".
    """

    kind: ClassVar[str] = "boxes"

    corner: F8
    tag: I8
    tags: pl.Series

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Return the boxes of these rows."""
        rows = np.arange(len(self))[rows]
        _, box = spread(self.start[rows], self.size[rows])
        return type(self)(self.size[rows], self.corner[box], self.tag[box], self.tags)

    def join(self, other: Self) -> Self:
        """Return the rows of both, over the union of their classes."""
        tags = union(self.tags, other.tags)
        code_of = {name: i for i, name in enumerate(tags.to_list())}
        codes, other_codes = (
            np.array([code_of[n] for n in a.tags.to_list()], dtype=np.int64)[a.tag] for a in (self, other)
        )
        return type(self)(
            np.concatenate([self.size, other.size]),
            np.concatenate([self.corner, other.corner]),
            np.concatenate([codes, other_codes]),
            tags,
        )

    def columns(self) -> dict[str, pl.Series]:
        """Return the boxes as JSON."""
        names = self.tags.to_list()
        tags = [names[code] for code in self.tag.tolist()]
        texts = [write(self.corner[a:b], tags[a:b]) for a, b in zip(self.start, self.start[1:], strict=False)]
        return {"boxes": pl.Series("boxes", texts, dtype=pl.String)}

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """Return a key that is equal for equal answers; the order of the boxes does not matter."""
        row = np.repeat(np.arange(len(self)), self.size)
        order = np.lexsort((self.tag, *self.corner.T[::-1], row))
        ordered = type(self)(self.size, self.corner[order], self.tag[order], self.tags)
        return (ordered.columns()["boxes"].rank("dense").to_numpy(),)


class JsonCoder(TextColumnCoder):
    """Read a column of JSON lists. An empty cell is a missing answer; `[]` is an answer that marks nothing."""

    column: ClassVar[str]

    def __init__(self, columns: dict[str, Any]) -> None:
        super().__init__(_json_texts(columns.pop(self.column), self.column))

    def parse_rows(self, parse: Callable[[str], list[T]]) -> list[list[T]]:
        """Return the parsed cells, [] for empty ones. A cell that cannot be parsed raises a DataError."""
        rows: list[list[T]] = []
        for row, text in enumerate(self.texts.to_list()):
            try:
                rows.append([] if text is None or not text.strip() else parse(text))
            except ValueError as error:
                raise DataError(f"row {row + 1}: {str(text)[:60]!r} in column {self.column!r} {error}") from None
        return rows


class BoxCoder(JsonCoder):
    """Read a column of boxes as JSON text."""

    column = "boxes"

    def __init__(self, columns: dict[str, Any]) -> None:
        super().__init__(columns)
        self.turned = self.flat = 0

    def finish(self) -> Boxes:
        """Return all boxes. Swapped corners are put in order and boxes without area are dropped; both are counted."""
        rows = self.parse_rows(parse)
        size = np.array([len(boxes) for boxes in rows], dtype=np.int64)
        flat_boxes = [box for boxes in rows for box in boxes]
        corner, turned, flat = order_corners(np.array([box for box, _ in flat_boxes], dtype=np.float64).reshape(-1, 4))
        self.turned, self.flat = int((turned & ~flat).sum()), int(flat.sum())
        row_of = np.repeat(np.arange(len(size)), size)
        size = size - np.bincount(row_of[flat], minlength=len(size))
        names = [tag for (_, tag), is_flat in zip(flat_boxes, flat.tolist(), strict=True) if not is_flat]
        tags = sorted(set(names)) or [""]
        code_of = {name: i for i, name in enumerate(tags)}
        tag = np.array([code_of[name] for name in names], dtype=np.int64)
        return Boxes(size, corner[~flat], tag, pl.Series("tag", tags, dtype=pl.String))

    def notes(self, answers: Any) -> tuple[str, ...]:  # noqa: ARG002
        """Return notes about boxes that were changed or dropped."""
        out: tuple[str, ...] = ()
        if self.turned:
            out += (f"{self.turned:,} boxes had x1 > x2 or y1 > y2; their corners were put in order",)
        if self.flat:
            out += (f"{self.flat:,} boxes without area were dropped; their answers were kept",)
        return out


def _json_texts(values: Any, name: str) -> pl.Series:
    """Return the cells as text; lists are encoded as JSON."""
    if isinstance(values, pl.Series):
        if values.dtype == pl.String or values.dtype == pl.Null:
            return values.cast(pl.String).rename(name)
        values = values.to_list()
    texts = [None if v is None else v if isinstance(v, str) else json.dumps(v, default=_to_json) for v in values]
    return pl.Series(name, texts, dtype=pl.String)


def _to_json(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def detect_columns(header: Sequence[str]) -> Mapping[str, str] | None:
    """Return the column of boxes in a header, or None."""
    column = first_named(header, NAMES)
    return None if column is None else {"boxes": column}


def accepts(column: pl.Series) -> bool:
    """Return whether a column holds boxes, judged by its first cells."""
    cells = column.drop_nulls().head(50).to_list()
    try:
        boxes = [parse(cell) if isinstance(cell, str) else from_lists(cell) for cell in cells]
    except ValueError:
        return False
    return any(boxes)


def explain_detection(answers: pl.Series) -> str:
    """Return the reason to read the answers as boxes, or "" if they are not all lists of four numbers."""
    texts = answers.drop_nulls()
    return "lists of four numbers" if texts.dtype == pl.String and len(texts) and accepts(texts) else ""


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
    """Return votes from equally long columns.

    Args:
        task: The task of each answer.
        worker: The worker who gave each answer.
        boxes: The boxes of each answer: a list of [x1, y1, x2, y2] or [x1, y1, x2, y2, class].
        duplicates: What to do when a worker answers a task twice: "error", "first", "last" or "keep".
        tasks: All tasks, if some have no answers.
        workers: All workers, if some gave no answers.
        missing: Texts that mean "no answer".
        **numbers: Further columns per answer, such as `weight` or `time`.

    Returns:
        The votes.
    >>> box_votes([1, 1], ["ann", "bob"], [[[0, 0, 4, 4]], []])
    Votes(2 answers with boxes, 1 tasks, 2 workers)
    """
    columns: dict[str, Any] = {"task": task, "worker": worker, "boxes": boxes, **numbers}
    coded = encode(columns, BoxCoder, duplicates=duplicates, tasks=tasks, workers=workers, missing=missing)
    return Votes._of(coded)


# ---------------------------------------------------------------- Distance between two answers

# Pairs of boxes that are matched at a time; they must fit into memory.
_BLOCK = 2_000_000


def distance(answers: Boxes, i: I8, j: I8) -> F8:
    """Return the distance of answers i and j: 1 - 2 · overlap of the best matching / number of boxes in both.

    Equal answers have distance 0, answers with nothing in common 1. Two answers without boxes have distance 0; an
    answer without boxes and one with boxes have distance 1.
    """
    i, j = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
    out = np.empty(len(i))
    work = np.cumsum(answers.size[i] * answers.size[j] + 1)
    cuts = np.searchsorted(work, np.arange(_BLOCK, work[-1], _BLOCK)) if len(work) else np.empty(0, dtype=np.int64)
    for part in np.split(np.arange(len(i)), cuts):
        a, b = i[part], j[part]
        group, _, _, overlap = match_lists(
            answers.corner, answers.corner, answers.start[a], answers.size[a], answers.start[b], answers.size[b],
            tag_a=answers.tag, tag_b=answers.tag,
        )  # fmt: skip
        out[part] = 1 - soft_f1(overlap, group, answers.size[a], answers.size[b])
    return np.clip(out, 0.0, 1.0)
