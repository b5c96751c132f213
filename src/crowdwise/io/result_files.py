"""A Result on disk: result.json (with a format number), arrays.npz (no pickle) and Parquet vocabularies."""

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
from .beside import refuse_to_overwrite, written_beside
from .json.text import loads
from .npz import FAULTS as ARRAY_FAULTS
from .npz import read_npz
from .parquet import read_names
from .runcheck import COMMON, EXTRA, Held, check_facts
from .sources import LONGEST_LINE, printable

# Format 1 is that of version 0.1.0, which knew classes only; format 2 says the kind of the answers; in format 3 the
# tasks lie in parts (out_of_core/output.py).
FORMAT, IN_PARTS, FORMATS = 2, 3, (1, 2, 3)
ALWAYS = ("result.json", "arrays.npz", "tasks.parquet", "workers.parquet")
# With the vocabularies that kinds bring.
FILES = (*ALWAYS, *(f"{name}.parquet" for name in ("classes", "parts", "items", "tags", "texts")))


def save(result: Result, folder: Path, *, force: bool = False) -> None:
    """Write a result so that `load` gives the same one back; other files in the folder stay."""
    refuse_to_overwrite(folder, FILES, force)
    with written_beside(folder, FILES) as new:
        write_result(result, new)


def write_result(result: Result, folder: Path) -> None:
    """The files of a result, into a folder that is there."""
    arrays = {name: getattr(result, name) for name in COMMON if getattr(result, name) is not None}
    arrays |= result.estimate.arrays() | result.picture.arrays()
    extra = dict(result.extra)
    arrays |= {f"{EXTRA}{name}": v for name, v in extra.items() if isinstance(v, np.ndarray)}
    np.savez_compressed(folder / "arrays.npz", **arrays)
    own = result.estimate.vocabulary
    for name in ("tasks", "workers", *([] if own is None else [own])):
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
    """Read a folder that `save` wrote; a stranger may have had it in between, so all of it is checked."""
    if (folder / "result.json").is_file() and (facts := in_parts(folder)) is not None:
        found: Result = resolve("crowdwise.out_of_core.found:found_in")(load_files(folder), folder, facts)
        return found
    return load_files(folder)


def in_parts(folder: Path) -> dict[str, Any] | None:
    """What a result whose tasks lie in parts says of them; None for a result that is here as a whole."""
    about = read_json(folder / "result.json")
    if about.get("format") != IN_PARTS:
        return None
    facts = about.get("in_parts")
    if not isinstance(facts, dict):
        said = quote([facts])
        raise DataError(f"{printable(str(folder))}: the saved result is damaged (in_parts is {said})")
    return facts


def load_files(folder: Path) -> Result:
    """The result in the files; of one in parts, all but its tasks."""
    missing = [name for name in ALWAYS if not (folder / name).is_file()]
    if missing:
        raise DataError(f"{printable(str(folder))} is no saved result: {missing[0]} is missing")
    about = read_json(folder / "result.json")
    if about.get("format") not in FORMATS:
        given = quote([about.get("format")])
        raise DataError(f"{printable(str(folder))}: format {given} is not one that this version reads ({FORMAT})")
    try:
        parts = _parts(about)
    except ParameterError as error:
        raise DataError(f"{printable(str(folder))}: the saved result is damaged ({first_line(error)})") from error
    own = parts[0].vocabulary
    if own is not None and not (folder / f"{own}.parquet").is_file():
        raise DataError(f"{printable(str(folder))} is no saved result: {own}.parquet is missing")
    try:
        names = {n: read_names(folder / f"{n}.parquet") for n in ("tasks", "workers", *([] if own is None else [own]))}
        sizes = dict(zip("nmk", map(len, names.values()), strict=False))
        rules = Held(*parts)
        arrays = read_npz(folder / "arrays.npz", lambda headers: rules.check_headers(headers, sizes))
        rules.check_values(arrays, sizes)
        facts = check_facts(about)
    except (*ARRAY_FAULTS, DataError) as error:
        raise DataError(f"{printable(str(folder))}: the saved result is damaged ({first_line(error)})") from error
    facts["extra"] |= {n.removeprefix(EXTRA): v for n, v in arrays.items() if n.startswith(EXTRA)}
    typed = {name: rules.as_table_says(name, arrays[name]) for name in rules.arrays if name in arrays}
    vocabulary = None if own is None else names[own].rename(_COLUMN.get(own, own))
    estimate, picture = (part.of(typed, vocabulary, facts["params"]) for part in parts)
    return Result(
        tasks=names["tasks"].rename("task"),
        workers=names["workers"].rename("worker"),
        estimate=estimate,
        picture=picture,
        **(facts | {name: typed[name] for name in COMMON if name in typed}),
    )


# What a column of names is called where it is a column of votes.
_COLUMN = {"classes": "label"}


def _parts(about: dict[str, Any]) -> tuple[Any, Any]:
    """The classes of the estimate and of the workers' picture of the kind that the file says."""
    kind = kinds.get(str(about.get("kind", "classes"))[:60])
    return kind.hooks.estimate_types()


def read_json(path: Path) -> dict[str, Any]:
    """An object in a file of ours."""
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
