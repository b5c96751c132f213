"""Boxes as text: a JSON list of [x1, y1, x2, y2], or [x1, y1, x2, y2, "class"]."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError

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
