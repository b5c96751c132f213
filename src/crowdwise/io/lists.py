"""Answers of several labels as JSON lists, the representation of label sets in columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl


def as_list(labels: Sequence[str]) -> str:
    """Return the labels as a JSON list."""
    return json.dumps(list(labels), ensure_ascii=False)


def lists(
    names: Sequence[str | None], several: Mapping[str | None, Sequence[str]], codes: npt.NDArray[Any], many: Any
) -> pl.Series:
    """Return every answer as a JSON list: of names[code], or several[names[code]] where `many` is true.

    A single label may be called `a|b` while another answer holds the two labels a and b.
    """
    single = [None if name is None else as_list([name]) for name in names]
    more = [as_list(several.get(name, [])) for name in names]
    index = codes.astype(np.int64) + np.where(many, len(names), 0)
    return pl.Series("label", [*single, *more], dtype=pl.String).gather(index)
