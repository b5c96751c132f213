"""Records (a mapping a task) from JSON, JSONL or Parquet alike."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import polars as pl

from ...core.errors import DataError
from ...core.faults import FAULTS, first_line
from ...core.vocabulary import quote
from ..json.stream import objects
from ..json.text import loads
from ..parquet import refuse_bomb
from ..sources import Source, starts_with

_BATCH = 20_000


def is_parquet(source: Source) -> bool:
    """By its first bytes."""
    return starts_with(source, b"PAR1")


def records(source: Source, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(what to call its place, record), one at a time; numbers of a ClassLabel come as its names."""
    if not is_parquet(source):
        yield from objects(source, where)
        return
    names = _class_names(source)
    try:
        lazy = pl.scan_parquet(io.BytesIO(source) if isinstance(source, bytes) else source, glob=False)
        refuse_bomb(lazy, source, where)
        start = 0
        while len(batch := lazy.slice(start, _BATCH).collect()):
            for row, record in enumerate(batch.iter_rows(named=True), start + 1):
                yield f"{where}, row {row}", record | {c: _named(record.get(c), names[c]) for c in names if c in record}
            start += _BATCH
    except FAULTS as error:
        raise DataError(f"{where}: the Parquet file is damaged ({first_line(error)}); write it again") from None


def _class_names(source: Source) -> dict[str, list[str]]:
    """column -> names, of the ClassLabel features that Hugging Face's `datasets` tells of in the file's metadata."""
    found: dict[str, list[str]] = {}
    try:
        about = pl.read_parquet_metadata(io.BytesIO(source) if isinstance(source, bytes) else source)
        features = loads(about.get("huggingface", "{}"))["info"]["features"]
        for column, feature in features.items():
            feature = feature[0] if isinstance(feature, list) else feature.get("feature", feature)
            if isinstance(feature, dict) and isinstance(feature.get("names"), list):
                found[column] = [str(name) for name in feature["names"]]
    except (*FAULTS, KeyError, TypeError, ValueError, IndexError, AttributeError):
        return {}
    return found


def _named(value: Any, names: list[str]) -> Any:
    """-1 is how a ClassLabel says that there is no label."""
    if isinstance(value, list):
        return [_named(each, names) for each in value]
    if isinstance(value, int) and -1 <= value < len(names):
        return names[value] if value >= 0 else None
    return value


def one_of(found: list[str], given: str | None, where: str, what: str = "question") -> str:
    """The question asked for, or the only one there is."""
    if given is not None:
        if given in found:
            return given
        raise DataError(f"{where} has no {what} {given!r}; it has {quote(found, 12) if found else 'none'}")
    if len(found) == 1:
        return found[0]
    if not found:
        raise DataError(f"{where} has no {what} with labels to choose from; is it the right file?")
    raise DataError(f"{where} has {len(found)} {what}s, {quote(found, 12)}; say which: --question NAME")
