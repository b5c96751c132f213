"""Write votes as a ZIP with one file per worker: doccano, CVAT, Potato."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterable
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
    """Write <user>.jsonl, each row as a class or a list of classes."""
    to_json = json.loads if reading.annotations.kind.name in LISTS else lambda label: [label]
    return write_lines(
        reading, path, lambda row: {"id": row["task"], "text": row["task"], "label": to_json(row["label"])}
    )


def write_lines(reading: Reading, path: Path, example: Callable[[Row], dict[str, Any]]) -> tuple[str, ...]:
    """Write <user>.jsonl, one line per row, formatted by `example`."""

    def content(_: str, rows: list[Row]) -> str:
        return "".join(json.dumps(example(row), ensure_ascii=False) + "\n" for row in rows)

    return write_files(reading, path, "{}.jsonl", content)


def write_cvat(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write <user>.xml with the user as the task's assignee, and the list of labels that other readers need."""
    names = reading.annotations.classes.cast(pl.String).to_list()

    def content(worker: str, rows: list[Row]) -> str:
        if worker != worker.strip():
            raise DataError(f"a worker called {worker!r} would lose the blanks around it; choose another format")
        images = [
            f"<image id={quoteattr(str(i))} name={quoteattr(row['task'])}>"
            f'<tag label={quoteattr(row["label"])} source="manual"/></image>\n'
            for i, row in enumerate(rows)
        ]
        text = cvat_xml(worker, names, images)
        if invalid := _NOT_XML.search(text):
            raise DataError(f"a name of {worker!r} holds {invalid[0]!r}, which XML cannot hold; choose another format")
        return text

    return write_files(reading, path, "{}.xml", content)


def cvat_xml(worker: str, names: Iterable[str], images: list[str]) -> str:
    """Return the file of a worker: a task with labels of these names, and elements of images."""
    labels = "".join(f"<label><name>{escape(name)}</name><attributes></attributes></label>" for name in names)
    assignee = f"<assignee><username>{escape(worker)}</username></assignee>"
    meta = f"<meta><task><size>{len(images)}</size><labels>{labels}</labels>{assignee}</task></meta>"
    head = '<?xml version="1.0" encoding="utf-8"?>\n<annotations><version>1.1</version>'
    return f"{head}\n{meta}\n{''.join(images)}</annotations>\n"


def write_potato(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write <user>/user_state.json."""

    scheme = answer_of(reading.annotations)

    def content(worker: str, rows: list[Row]) -> str:
        labels = {
            row["task"]: [
                [{"schema": scheme, "name": row["label"]}, "true"]
                if scheme == "label"
                else [{"schema": scheme, "name": scheme}, row["label"]]
            ]
            for row in rows
        }
        if len(labels) < len(rows):
            raise DataError(f"{worker} labelled a task more than once, which Potato cannot represent")
        return json.dumps({"user_id": worker, "instance_id_to_label_to_value": labels}, ensure_ascii=False)

    return write_files(reading, path, "{}/user_state.json", content)


def write_files(
    reading: Reading, path: Path, pattern: str, content: Callable[[str, list[Row]], str]
) -> tuple[str, ...]:
    """Write a ZIP with one file per worker, whose text `content` returns."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for worker, rows in by_worker(reading.annotations):
            if not worker.isprintable() or worker.startswith((".", "__MACOSX")) or "/" in worker or "\\" in worker:
                raise DataError(f"a worker called {worker!r} cannot have a file of that name; choose another format")
            archive.writestr(pattern.format(worker), content(worker, rows))
    has_more = reading.annotations.numbers or reading.gold is not None
    return ("this format has no times, durations or gold",) if has_more else ()
