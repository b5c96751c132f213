"""Baseline: the result of the last background fit, stored as arrays with the event that enters it."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from ...active.stopping import StatedAccuracy
from ..store import tables as t

Arrays = dict[str, npt.NDArray[Any]]
KEPT = 3
LOG = logging.getLogger("crowdwise.server")


def pack(arrays: Arrays) -> bytes:
    """Named arrays as bytes."""
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def unpack(data: bytes) -> Arrays:
    """The inverse of `pack`; numbers only."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def load_baseline(query: Callable[..., Any], project: str, event: int) -> Any:
    """The arrays of a rebase."""
    of = (t.baseline.c.project == project, t.baseline.c.event == event)
    data = query(sa.select(t.baseline.c.arrays).where(*of)).scalar()
    try:
        return None if data is None else unpack(data)
    except Exception as error:  # damaged: the fit is repeated from the log
        LOG.warning("the fit of event %d is damaged (%s) and is made again", event, type(error).__name__)
        return None


def text(value: Any) -> npt.NDArray[np.uint8]:
    """JSON as an array."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def with_flags_of(before: Any, arrays: Arrays) -> Arrays:
    """The arrays of a fit without flags, with the flags of an earlier fit."""
    kept = {name: value for name, value in summary_of(before).items() if name in ("flags", "groups")}
    return arrays | {"json": text(summary_of(arrays) | kept)}


def statement_of(summary: dict[str, Any]) -> StatedAccuracy | None:
    """The share of correct labels stated by a fit, or None."""
    level = summary.get("trust", {})
    if level.get("right") is None:
        return None
    return StatedAccuracy(level["right"], level["low"], level["high"], level["checked"] > 0)


def confidence_of(summary: dict[str, Any], tasks: Sequence[str]) -> npt.NDArray[np.float64]:
    """Confidence of a fit for these tasks if checked tasks measured it, else NaN; for kinds without an online model."""
    confidence = summary.get("confidence", {})
    return np.array([confidence.get(task) for task in tasks], dtype=np.float64)


def summary_of(baseline: Any) -> dict[str, Any]:
    """The JSON part of a fit: statement, agreement, flags, and for other kinds the estimates of the tasks."""
    if baseline is None or "json" not in baseline:
        return {}
    table: dict[str, Any] = json.loads(baseline["json"].tobytes())
    return table
