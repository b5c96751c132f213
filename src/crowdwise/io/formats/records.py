"""Records (one mapping per task) from JSON, JSONL or Parquet."""

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
    """Whether a file is Parquet, by its first bytes."""
    return starts_with(source, b"PAR1")


def records(source: Source, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place for messages, record); numbers of a ClassLabel are replaced by its names."""
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
    """Return column -> names of the ClassLabel features that Hugging Face's `datasets` stores in the metadata."""
    class_names: dict[str, list[str]] = {}
    try:
        about = pl.read_parquet_metadata(io.BytesIO(source) if isinstance(source, bytes) else source)
        features = loads(about.get("huggingface", "{}"))["info"]["features"]
        for column, feature in features.items():
            feature = feature[0] if isinstance(feature, list) else feature.get("feature", feature)
            if isinstance(feature, dict) and isinstance(feature.get("names"), list):
                class_names[column] = [str(name) for name in feature["names"]]
    except (*FAULTS, KeyError, TypeError, ValueError, IndexError, AttributeError):
        return {}
    return class_names


def _named(value: Any, names: list[str]) -> Any:
    """Replace class numbers by names; ClassLabel encodes a missing label as -1."""
    if isinstance(value, list):
        return [_named(member, names) for member in value]
    if isinstance(value, int) and -1 <= value < len(names):
        return names[value] if value >= 0 else None
    return value


class SeveralQuestions(DataError):
    """The file has several questions, and none of them was chosen."""

    def __init__(self, where: str, questions: list[str], what: str = "question") -> None:
        super().__init__(
            f"{where} has {len(questions)} {what}s, {quote(questions, 12)}; choose one: --question NAME, or all of "
            "them with aggregate --question all -o FOLDER"
        )
        self.questions = tuple(questions)


def one_of(questions: list[str], requested: str | None, where: str, what: str = "question") -> str:
    """Return the requested question, or the only one."""
    if requested is not None:
        if requested in questions:
            return requested
        raise DataError(f"{where} has no {what} {requested!r}; it has {quote(questions, 12) if questions else 'none'}")
    if len(questions) == 1:
        return questions[0]
    if not questions:
        raise DataError(f"{where} has no {what} with labels to choose from; is it the right file?")
    raise SeveralQuestions(where, questions, what)
