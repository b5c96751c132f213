"""Features from files: .npz with `task` and `x`, .npy in task order, or .parquet with a task column."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import DataError

_NAMES = (("task", "x"), ("train_task", "train_x"))


def read_features(path: str | Path) -> tuple[pl.Series | None, npt.NDArray[Any]]:
    """The tasks' names (None for .npy: rows are in the order of the sorted tasks) and x[task, ...]."""
    path = Path(path)
    if not path.exists():
        raise DataError(f"{path}: there is no such file")
    readers = {".npz": _npz, ".npy": _npy, ".parquet": _parquet}
    if path.suffix not in readers:
        raise DataError(
            f"{path.name}: features come as .npz, .npy or .parquet, not {path.suffix or 'without a suffix'}"
        )
    try:
        tasks, x = readers[path.suffix](path)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path.name} cannot be read as features ({str(error).splitlines()[0][:160]})") from None
    if tasks is not None and len(tasks) != len(x):
        raise DataError(f"{path.name} names {len(tasks):,} tasks but has {len(x):,} rows of features")
    return tasks, x


def _npz(path: Path) -> tuple[pl.Series | None, npt.NDArray[Any]]:
    with np.load(path, allow_pickle=False) as found:
        for task, x in _NAMES:
            if task in found and x in found:
                return pl.Series("task", found[task].tolist()), found[x]
        raise DataError(f"{path.name} holds {', '.join(found.files)}; arrays `task` and `x` are needed")


def _npy(path: Path) -> tuple[None, npt.NDArray[Any]]:
    return None, np.load(path, allow_pickle=False)


def _parquet(path: Path) -> tuple[pl.Series, npt.NDArray[Any]]:
    frame = pl.read_parquet(path)
    if "task" not in frame.columns:
        raise DataError(f"{path.name} has no column `task`; it has {', '.join(frame.columns[:8])}")
    rest = frame.drop("task")
    if rest.width == 1 and isinstance(rest.to_series().dtype, pl.List | pl.Array):
        return frame["task"], np.array(rest.to_series().to_list(), dtype=np.float32)
    wrong = [name for name, kind in rest.schema.items() if not (kind.is_numeric() or kind == pl.Boolean)]
    if wrong or not rest.width:
        raise DataError(f"{path.name}: features must be numbers; {', '.join(wrong[:5]) or 'there are no columns'}")
    return frame["task"], rest.cast(pl.Float32).to_numpy()
