"""Answers of several labels as JSON lists, which is how sets stand in columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl


def as_list(labels: Sequence[str]) -> str:
    """The labels as a JSON list."""
    return json.dumps(list(labels), ensure_ascii=False)


def lists(
    names: Sequence[str | None], several: Mapping[str | None, Sequence[str]], codes: npt.NDArray[Any], many: Any
) -> pl.Series:
    """Every answer as a JSON list: names[code], or several[names[code]] where there were `many` labels at once.

    A label may be called `a|b` where another answer holds the two labels a and b.
    """
    one = [None if name is None else as_list([name]) for name in names]
    more = [as_list(several.get(name, [])) for name in names]
    place = codes.astype(np.int64) + np.where(many, len(names), 0)
    return pl.Series("label", [*one, *more], dtype=pl.String).gather(place)
