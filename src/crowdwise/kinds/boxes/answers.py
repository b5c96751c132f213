"""Boxes as answers: every worker's boxes on a picture, with a class each where they have one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder, Mask
from ...core.errors import DataError
from ...core.intake.coding import encode
from ...core.vocabulary import union
from ...core.votes import Votes, frozen
from . import answers as cells
from .maths import match_lists, soft_f1, spread, starts

# ----------------------------------------------------------------
# Boxes as text: a JSON list of [x1, y1, x2, y2], or [x1, y1, x2, y2, "class"].

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# A coordinate beyond this is none; areas must stay numbers.
LARGEST = 1e12
_TAGS = ("label", "class", "category", "tag", "name")
_CORNERS = ("x1", "y1", "x2", "y2")
_SIDES = ("x", "y", "width", "height")
SHAPE = 'a JSON list of [x1, y1, x2, y2] or [x1, y1, x2, y2, "class"]'


def parse(text: str) -> list[tuple[list[float], str]]:
    """(corners, class) of each box in a cell; raises ValueError with what is wrong.

    >>> parse('[[0, 0, 4, 2, "cat"]]')
    [([0.0, 0.0, 4.0, 2.0], 'cat')]
    """
    try:
        given = json.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except ValueError:
        raise ValueError(f"is no JSON; {SHAPE} is needed") from None
    return from_lists(given)


def from_lists(given: Any) -> list[tuple[list[float], str]]:
    """The same from lists or objects as they come out of JSON."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ValueError(f"is no list; {SHAPE} is needed")
    if len(given) in (4, 5) and all(_number(v) for v in given[:4]):
        given = [given]  # one box, not in a list
    return [_box(each) for each in given]


def _box(each: Any) -> tuple[list[float], str]:
    tag: Any = ""
    if isinstance(each, Mapping):
        tag = next((each[name] for name in _TAGS if each.get(name) is not None), "")
        if all(name in each for name in _CORNERS):
            values = [each[name] for name in _CORNERS]
        elif all(name in each for name in _SIDES):
            x, y, width, height = _numbers([each[name] for name in _SIDES])
            values = [x, y, x + width, y + height]
        else:
            values = each.get("box", ())
    else:
        values = each
    if isinstance(values, str) or not isinstance(values, Sequence) or len(values) not in (4, 5):
        raise ValueError(f"has {str(each)[:40]!r} where a box is needed; {SHAPE} is needed")
    if len(values) == 5:
        tag = values[4]
    if isinstance(tag, list | dict):
        raise ValueError(f"has the class {str(tag)[:40]!r}, which is no name")
    return _numbers(values[:4]), "" if tag is None else str(tag)


def _numbers(values: Sequence[Any]) -> list[float]:
    for value in values:
        if not _number(value) or not abs(float(value)) <= LARGEST:
            raise ValueError(f"has {str(value)[:40]!r} for a coordinate, which is no number that can be used")
    return [float(value) for value in values]


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def write(corner: F8, tags: Sequence[str]) -> str:
    """Boxes as a cell; classes where there are any."""
    named = any(tags)
    boxes: list[list[Any]] = [
        [*map(short, box), tag] if named else [*map(short, box)] for box, tag in zip(corner.tolist(), tags, strict=True)
    ]
    return json.dumps(boxes, ensure_ascii=False)


def short(value: float) -> float | int:
    """A whole number without its point; a fraction with as many digits as it needs."""
    return int(value) if value == int(value) else value


def tidy(corner: F8) -> tuple[F8, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Corners in order, which boxes had them the other way round, and which have no area."""
    low, high = np.minimum(corner[:, :2], corner[:, 2:]), np.maximum(corner[:, :2], corner[:, 2:])
    turned = (low != corner[:, :2]).any(axis=1)
    flat = np.asarray(((high - low) <= 0).any(axis=1))
    return np.concatenate([low, high], axis=1), turned, flat


def refuse(row: int, text: Any, name: str, why: str) -> DataError:
    """What to raise for a cell that cannot be read."""
    return DataError(f"row {row + 1}: {str(text)[:60]!r} in column {name!r} {why}")


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


# ---------------------------------------------------------------- How far two answers with boxes are apart

# Pairs of rows that are matched at a time: their boxes' pairs must fit into memory.
_BLOCK = 2_000_000


def distance(answers: Boxes, i: I8, j: I8) -> F8:
    """1 - 2 × the overlap of the best matching / the boxes of both: 0 the same, 1 nothing in common.

    Two answers without boxes agree; an answer without boxes and one with some are wholly apart.
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
