"""A Result on disk: result.json (with a format number), arrays.npz (no pickle) and Parquet vocabularies."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..errors import DataError
from ..result import Result

FORMAT = 1
FILES = ("result.json", "arrays.npz", "tasks.parquet", "workers.parquet", "classes.parquet")
_ARRAYS = ("posterior", "class_prior", "skill", "skill_low", "skill_high", "labels_per_task", "labels_per_worker",
           "confusion", "counts", "difficulty", "gold", "trace", "stage")  # fmt: skip


def refuse_to_overwrite(folder: Path, names: tuple[str, ...], force: bool) -> None:
    """Raise when one of the files is there already, unless told to go ahead."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; name a folder")
    there = [name for name in names if (folder / name).exists()]
    if there and not force:
        raise DataError(f"{folder} holds {there[0]} already; choose another folder or say --force (force=True)")


def save(result: Result, folder: Path, *, force: bool = False) -> None:
    """Write a result so that `load` gives the same one back."""
    refuse_to_overwrite(folder, FILES, force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {name: getattr(result, name) for name in _ARRAYS if getattr(result, name) is not None}
        extra = dict(result.extra)
        arrays |= {f"extra.{name}": v for name, v in extra.items() if isinstance(v, np.ndarray)}
        np.savez_compressed(folder / "arrays.npz", **arrays)
        for name in ("tasks", "workers", "classes"):
            pl.DataFrame({"value": getattr(result, name)}).write_parquet(folder / f"{name}.parquet")
        about = {
            "format": FORMAT,
            "method": result.method,
            "params": dict(result.params),
            "n_iter": result.n_iter,
            "converged": result.converged,
            "versions": dict(result.versions),
            "extra": {name: v for name, v in extra.items() if not isinstance(v, np.ndarray)},
        }
        text = json.dumps(about, indent=2, ensure_ascii=False, default=_plain) + "\n"
        (folder / "result.json").write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{folder} cannot be written ({error.strerror})") from error


# What numpy, polars, zipfile and json raise on files that are not what they should be.
_DAMAGE = (
    OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, NotImplementedError,
    zipfile.BadZipFile, zlib.error, pl.exceptions.PolarsError, pl.exceptions.PanicException,
)  # fmt: skip


def load(folder: Path) -> Result:
    """Read a folder that `save` wrote."""
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise DataError(f"{folder} is no saved result: {missing[0]} is missing")
    try:
        about = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        if about.get("format") != FORMAT:
            raise DataError(f"{folder}: format {about.get('format')!r} is not one that this version reads ({FORMAT})")
        result = _assemble(folder, about)
    except _DAMAGE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{folder}: the saved result is damaged ({reason[:200]})") from error
    return result


def _assemble(folder: Path, about: dict[str, Any]) -> Result:
    with np.load(folder / "arrays.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    names = {n: pl.read_parquet(folder / f"{n}.parquet")["value"] for n in ("tasks", "workers", "classes")}
    extra = dict(about["extra"])
    extra |= {name.removeprefix("extra."): v for name, v in arrays.items() if name.startswith("extra.")}
    result = Result(
        method=str(about["method"]),
        params=dict(about["params"]),
        n_iter=int(about["n_iter"]),
        converged=bool(about["converged"]),
        versions=dict(about["versions"]),
        extra=extra,
        tasks=names["tasks"].rename("task"),
        workers=names["workers"].rename("worker"),
        classes=names["classes"].rename("label"),
        **{name: arrays[name] for name in _ARRAYS if name in arrays},
    )
    _check_shapes(result)
    return result


def _check_shapes(result: Result) -> None:
    n, m, k = len(result.tasks), len(result.workers), len(result.classes)
    shapes = {"posterior": (n, k), "class_prior": (k,), "labels_per_task": (n,), "labels_per_worker": (m,)}
    shapes |= dict.fromkeys(("skill", "skill_low", "skill_high"), (m,))
    shapes |= dict.fromkeys(("confusion", "counts"), (m, k, k))
    shapes["gold"] = (n,)
    for name, shape in shapes.items():
        array = getattr(result, name)
        if array is not None and array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, not {shape}")
    if result.gold is not None and result.gold.dtype != np.bool_:
        raise ValueError(f"gold has type {result.gold.dtype}, not bool")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written to result.json")
