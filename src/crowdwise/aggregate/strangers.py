"""Workers who were not there when a method was fitted: refused, or taken for the average worker."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError, ParameterError
from ..core.result import Result
from ..core.vocabulary import quote

Policy = Literal["error", "average"]


def refuse_strangers(result: Result, workers: pl.Series, known: npt.NDArray[np.bool_], policy: Policy) -> None:
    """Raise where some of these workers are not known and nobody said to take them for the average one."""
    if policy not in ("error", "average"):
        raise ParameterError(f"unknown_workers must be 'error' or 'average', got {policy!r}")
    if policy == "average" or known.all():
        return
    strangers = workers.filter(~pl.Series(known))
    raise DataError(
        f"{len(strangers)} workers were not there when {result.method} was fitted: {quote(strangers)}; "
        "pass unknown_workers='average' to treat them as the average worker"
    )
