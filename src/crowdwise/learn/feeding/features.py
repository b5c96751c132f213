"""Features from files: .npz with `task` (or `item`) and `x`, .npy in task order, or .parquet with such a column."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.faults import FAULTS, first_line
from ...core.vocabulary import quote
from ...io.npz import FAULTS as ARRAY_FAULTS
from ...io.npz import Header, read_npy, read_npz
from ...io.parquet import open_parquet
from ...io.sources import open_source

_NAMES = (("task", "x"), ("item", "x"), ("train_task", "train_x"))
Found = tuple[pl.Series | None, npt.NDArray[Any], dict[str, npt.NDArray[Any]]]


def read_features(path: str | Path) -> tuple[pl.Series | None, Any]:
    """The names of the tasks or items (None for .npy: rows are in the order of the sorted tasks) and x[task, ...]; of a
    folder, a FeatureFolder."""
    if Path(path).is_dir():
        from .folder import FeatureFolder

        found = FeatureFolder(path)
        return found.tasks, found
    return read_with(path)[:2]


def read_with(path: str | Path, more: tuple[str, ...] = ()) -> Found:
    """The same of a file, and whichever of the arrays or columns `more` it has."""
    path = Path(path)
    readers = {".npz": _npz, ".npy": _npy, ".parquet": _parquet}
    if path.suffix not in readers and path.exists():
        raise DataError(
            f"{path.name}: features come as .npz, .npy or .parquet, not {path.suffix or 'without a suffix'}"
        )
    source, where = open_source(path)
    if isinstance(source, bytes):
        raise DataError(f"{where} is a pipe; features are read from files only")
    try:
        tasks, x, extra = readers[path.suffix](path, more)
    except (*FAULTS, *ARRAY_FAULTS) as error:
        raise DataError(f"{where} cannot be read as features ({first_line(error)})") from None
    if tasks is not None and len(tasks) != len(x):
        raise DataError(f"{where} names {len(tasks):,} tasks but has {len(x):,} rows of features")
    for name, values in extra.items():
        if values.shape != (len(x),) or values.dtype.kind not in "iu":
            raise DataError(f"{where}: {name} must hold one whole number a row of features")
    return tasks, x, extra


def _npz(path: Path, more: tuple[str, ...]) -> Found:
    def look(headers: Mapping[str, Header]) -> tuple[str, ...]:
        for task, x in _NAMES:
            if task in headers and x in headers:
                if len(headers[task].shape) != 1:
                    raise ValueError(f"{task} has shape {headers[task].shape}; one name a row is needed")
                _check(headers[x])
                return task, x, *(name for name in more if name in headers)
        raise DataError(f"{path.name} holds {quote(headers, 8)}; arrays `task` (or `item`) and `x` are needed")

    task, x, *rest = (arrays := read_npz(path, look)).values()
    return pl.Series("task", task.tolist()), x, dict(zip(list(arrays)[2:], rest, strict=True))


def _npy(path: Path, more: tuple[str, ...]) -> Found:  # noqa: ARG001
    def look(headers: Mapping[str, Header]) -> Mapping[str, Header]:
        _check(headers[""])
        return headers

    return None, read_npy(path, look), {}


def _check(header: Header) -> None:
    """Features are numbers, a row a task, and at least one of each."""
    if header.dtype.kind not in "biuf":
        raise ValueError(f"features must be numbers, not {header.dtype} values")
    if len(header.shape) < 2 or 0 in header.shape:
        raise ValueError(f"shape {header.shape}; a row of at least one number a task is needed")


def _parquet(path: Path, more: tuple[str, ...]) -> Found:
    table = open_parquet(path, path.name)
    frame = table.read(table.header)
    key = next((name for name in ("task", "item") if name in frame.columns), None)
    if key is None:
        raise DataError(f"{path.name} has no column `task` (or `item`); it has {', '.join(frame.columns[:8])}")
    extra = {name: frame[name].to_numpy() for name in more if name in frame.columns}
    rest = frame.drop(key, *extra)
    if rest.width == 1 and isinstance(rest.to_series().dtype, pl.List | pl.Array):
        x = np.array(rest.to_series().to_list(), dtype=np.float32)
        if x.ndim < 2 or not x.size:
            raise DataError(f"{path.name}: every task needs a list of numbers, all of one length")
        return frame[key], x, extra
    wrong = [name for name, kind in rest.schema.items() if not (kind.is_numeric() or kind == pl.Boolean)]
    if wrong or not rest.width:
        raise DataError(f"{path.name}: features must be numbers; {', '.join(wrong[:5]) or 'there are no columns'}")
    return frame[key], rest.cast(pl.Float32).to_numpy(), extra
