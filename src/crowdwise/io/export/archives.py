"""Annotations as a ZIP with a file per worker: doccano, CVAT, Potato."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import polars as pl

from ...core.errors import DataError
from .label_studio import LISTS
from .rows import Row, answer_of, by_worker

if TYPE_CHECKING:
    from ..reading import Reading

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write_doccano(reading: Reading, path: Path) -> tuple[str, ...]:
    """<user>.jsonl, each row as a class or as a list of them."""
    says = json.loads if reading.annotations.kind.name in LISTS else lambda label: [label]
    return write_lines(reading, path, lambda row: {"id": row["task"], "text": row["task"], "label": says(row["label"])})


def write_lines(reading: Reading, path: Path, example: Callable[[Row], dict[str, Any]]) -> tuple[str, ...]:
    """<user>.jsonl, a line a row as `example` has it."""

    def content(_: str, found: list[Row]) -> str:
        return "".join(json.dumps(example(row), ensure_ascii=False) + "\n" for row in found)

    return write_files(reading, path, "{}.jsonl", content)


def write_cvat(reading: Reading, path: Path) -> tuple[str, ...]:
    """<user>.xml, with the user as the task's assignee; other readers want the list of labels too."""
    names = reading.annotations.classes.cast(pl.String).to_list()
    labels = "".join(f"<label><name>{escape(name)}</name><attributes></attributes></label>" for name in names)

    def content(worker: str, found: list[Row]) -> str:
        if worker != worker.strip():
            raise DataError(f"a worker called {worker!r} would lose the blanks around it; choose another format")
        who = f"<assignee><username>{escape(worker)}</username></assignee>"
        meta = f"<meta><task><size>{len(found)}</size><labels>{labels}</labels>{who}</task></meta>"
        images = "".join(
            f"<image id={quoteattr(str(i))} name={quoteattr(row['task'])}>"
            f'<tag label={quoteattr(row["label"])} source="manual"/></image>\n'
            for i, row in enumerate(found)
        )
        head = '<?xml version="1.0" encoding="utf-8"?>\n<annotations><version>1.1</version>'
        text = f"{head}\n{meta}\n{images}</annotations>\n"
        if odd := _NOT_XML.search(text):
            raise DataError(f"a name of {worker!r} holds {odd[0]!r}, which XML cannot hold; choose another format")
        return text

    return write_files(reading, path, "{}.xml", content)


def write_potato(reading: Reading, path: Path) -> tuple[str, ...]:
    """<user>/user_state.json."""

    scheme = answer_of(reading.annotations)

    def content(worker: str, found: list[Row]) -> str:
        said = {
            row["task"]: [
                [{"schema": scheme, "name": row["label"]}, "true"]
                if scheme == "label"
                else [{"schema": scheme, "name": scheme}, row["label"]]
            ]
            for row in found
        }
        if len(said) < len(found):
            raise DataError(f"{worker} labelled a task more than once, for which Potato has no place")
        return json.dumps({"user_id": worker, "instance_id_to_label_to_value": said}, ensure_ascii=False)

    return write_files(reading, path, "{}/user_state.json", content)


def write_files(
    reading: Reading, path: Path, pattern: str, content: Callable[[str, list[Row]], str]
) -> tuple[str, ...]:
    """A ZIP with a file per worker; `content` makes it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for worker, found in by_worker(reading.annotations):
            if not worker.isprintable() or worker.startswith((".", "__MACOSX")) or "/" in worker or "\\" in worker:
                raise DataError(f"a worker called {worker!r} cannot have a file of that name; choose another format")
            archive.writestr(pattern.format(worker), content(worker, found))
    return ("times, durations and gold have no place in this format",) if _more(reading) else ()


def _more(reading: Reading) -> bool:
    return bool(reading.annotations.numbers) or reading.gold is not None
