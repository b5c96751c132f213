"""Save and load results: result.json (with a format number), arrays.npz (no pickle) and Parquet vocabularies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..core import kind as kinds
from ..core.errors import DataError, ParameterError
from ..core.faults import first_line
from ..core.registry import resolve
from ..core.result import Result
from ..core.vocabulary import quote
from .atomic import atomic_folder, refuse_to_overwrite
from .json.text import loads
from .npz import FAULTS as ARRAY_FAULTS
from .npz import read_npz
from .parquet import read_names
from .runcheck import COMMON, EXTRA, ArrayRules, check_facts
from .sources import LONGEST_LINE, printable

# Format 1 is that of version 0.1.0, which supports classes only; format 2 adds the kind of the answers; in format 3 the
# tasks lie in partitions (out_of_core/output.py).
FORMAT, IN_PARTS, FORMATS = 2, 3, (1, 2, 3)
ALWAYS = ("result.json", "arrays.npz", "tasks.parquet", "workers.parquet")
# Including the vocabularies of all kinds.
FILES = (*ALWAYS, *(f"{name}.parquet" for name in ("classes", "parts", "items", "tags", "texts")))


def save(result: Result, folder: Path, *, force: bool = False) -> None:
    """Write a result for `load`; other files in the folder are kept."""
    refuse_to_overwrite(folder, FILES, force)
    with atomic_folder(folder, FILES) as new:
        write_result(result, new)


def write_result(result: Result, folder: Path) -> None:
    """Write the files of a result into an existing folder."""
    arrays = {name: getattr(result, name) for name in COMMON if getattr(result, name) is not None}
    arrays |= result.estimate.arrays() | result.worker_summary.arrays()
    extra = dict(result.extra)
    arrays |= {f"{EXTRA}{name}": v for name, v in extra.items() if isinstance(v, np.ndarray)}
    np.savez_compressed(folder / "arrays.npz", **arrays)
    vocabulary = result.estimate.vocabulary
    for name in ("tasks", "workers", *([] if vocabulary is None else [vocabulary])):
        pl.DataFrame({"value": getattr(result, name)}).write_parquet(folder / f"{name}.parquet")
    about = {
        "format": FORMAT,
        "kind": result.estimate.kind,
        "method": result.method,
        "params": dict(result.params),
        "n_iter": result.n_iter,
        "converged": result.converged,
        "versions": dict(result.versions),
        "extra": {name: v for name, v in extra.items() if not isinstance(v, np.ndarray)},
    }
    text = json.dumps(about, indent=2, ensure_ascii=False, default=_plain) + "\n"
    (folder / "result.json").write_text(text, encoding="utf-8")


def load(folder: Path) -> Result:
    """Load a folder that `save` wrote. The files are not trusted: everything is validated."""
    if (folder / "result.json").is_file() and (facts := in_parts(folder)) is not None:
        result: Result = resolve("crowdwise.out_of_core.partitioned_result:load_partitioned")(
            load_files(folder), folder, facts
        )
        return result
    return load_files(folder)


def in_parts(folder: Path) -> dict[str, Any] | None:
    """Return the facts about the tasks of a partitioned result; None for other results."""
    about = read_json(folder / "result.json")
    if about.get("format") != IN_PARTS:
        return None
    facts = about.get("in_parts")
    if not isinstance(facts, dict):
        shown = quote([facts])
        raise DataError(f"{printable(str(folder))}: the saved result is damaged (in_parts is {shown})")
    return facts


def load_files(folder: Path) -> Result:
    """Load the result from its files; of a partitioned result, everything but the tasks."""
    missing = [name for name in ALWAYS if not (folder / name).is_file()]
    runs = sorted(path.parent.name for path in folder.glob("*/result.json"))
    if missing and runs:
        shown = printable(str(folder))
        raise DataError(f"{shown} holds {len(runs)} runs, {quote(runs)}; name one of them: {shown}/{runs[0]}")
    if missing:
        raise DataError(f"{printable(str(folder))} is not a saved result: {missing[0]} is missing")
    about = read_json(folder / "result.json")
    if about.get("format") not in FORMATS:
        found_format = quote([about.get("format")])
        raise DataError(
            f"{printable(str(folder))}: format {found_format} is not one that this version reads ({FORMAT})"
        )
    try:
        parts = _parts(about)
    except ParameterError as error:
        raise DataError(f"{printable(str(folder))}: the saved result is damaged ({first_line(error)})") from error
    vocabulary_name = parts[0].vocabulary
    if vocabulary_name is not None and not (folder / f"{vocabulary_name}.parquet").is_file():
        raise DataError(f"{printable(str(folder))} is not a saved result: {vocabulary_name}.parquet is missing")
    try:
        names = {
            n: read_names(folder / f"{n}.parquet")
            for n in ("tasks", "workers", *([] if vocabulary_name is None else [vocabulary_name]))
        }
        sizes = dict(zip("nmk", map(len, names.values()), strict=False))
        rules = ArrayRules(*parts)
        arrays = read_npz(folder / "arrays.npz", lambda headers: rules.check_headers(headers, sizes))
        rules.check_values(arrays, sizes)
        facts = check_facts(about)
    except (*ARRAY_FAULTS, DataError) as error:
        raise DataError(f"{printable(str(folder))}: the saved result is damaged ({first_line(error)})") from error
    facts["extra"] |= {n.removeprefix(EXTRA): v for n, v in arrays.items() if n.startswith(EXTRA)}
    typed = {name: rules.cast(name, arrays[name]) for name in rules.arrays if name in arrays}
    vocabulary = (
        None
        if vocabulary_name is None
        else names[vocabulary_name].rename(_COLUMN.get(vocabulary_name, vocabulary_name))
    )
    estimate, worker_summary = (part.of(typed, vocabulary, facts["params"]) for part in parts)
    return Result(
        tasks=names["tasks"].rename("task"),
        workers=names["workers"].rename("worker"),
        estimate=estimate,
        worker_summary=worker_summary,
        **(facts | {name: typed[name] for name in COMMON if name in typed}),
    )


# Column names of vocabularies in votes, where they differ.
_COLUMN = {"classes": "label", "items": "item"}


def _parts(about: dict[str, Any]) -> tuple[Any, Any]:
    """Return the classes of the estimate and of the worker summary for the stored kind."""
    kind = kinds.get(str(about.get("kind", "classes"))[:60])
    return kind.hooks.estimate_types()


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file that crowdwise wrote."""
    try:
        if path.stat().st_size > LONGEST_LINE:
            raise ValueError(f"it has {path.stat().st_size:,} bytes")
        value = loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else getattr(error, "strerror", None)
        raise DataError(f"{printable(str(path))} is damaged ({why or first_line(error)})") from None
    if not isinstance(value, dict):
        raise DataError(f"{printable(str(path))} is damaged (no JSON object)")
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written to result.json")
