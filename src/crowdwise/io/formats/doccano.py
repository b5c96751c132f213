"""doccano's ZIP: a JSONL file per user, whose name is the user's."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from ...core.errors import DataError
from ..archives import members
from ..json.stream import objects
from ..sources import Source, printable
from .base import LIKELY, NO_ANSWER, Ask, Found, Guess, Head, Rows
from .cells import text, texts
from .marks import as_answer, is_span, mark_of

ENDINGS = (".jsonl", ".json")
LABELS = ("label", "labels", "cats", "entities")  # by version


def sniff(head: Head) -> Guess | None:
    """An archive of JSONL files and nothing else."""
    ours = bool(head.members) and all(name.endswith(".jsonl") for name in head.members)
    labelled = head.inner is None or ("id" in head.inner and any(key in head.inner for key in LABELS))
    if head.kind == "archive" and ours and labelled:
        return Guess(LIKELY, "it is an archive of JSONL files, one a user")
    return None


def read(source: Source, where: str, ask: Ask) -> Found:
    """One row an example of a user's file."""
    ask.only(where, "task")
    rows, seen = Rows(), 0
    for name, content in members(source, where, ENDINGS):
        worker, inside = PurePosixPath(name).stem, f"{where}: {printable(name)}"
        if worker == "all":
            raise DataError(
                f"{inside} holds everybody's labels in one; in doccano do not share annotations among users"
            )
        rows.sources[worker] = "human"
        seen += 1
        for at, example in objects(content, inside):
            _add(rows, example, worker, ask, at)
    if not seen:
        raise DataError(f"{where} holds no .jsonl file; is it doccano's export?")
    return rows.found(where, ask, "label")


def _add(rows: Rows, example: dict[str, Any], worker: str, ask: Ask, at: str) -> None:
    name = ask.columns.get("task", "id")
    task = text(example.get(name), name, at)
    rows.mention(task)
    said = next((example[key] for key in LABELS if key in example), None)
    if isinstance(said, list) and said and all(is_span(each) for each in said):
        rows.add(task, worker, [as_answer(mark_of(each) for each in said)], kind="spans")
        if task is not None and isinstance(example.get("text"), str):
            rows.bare.texts[task] = example["text"]
        return
    labels = texts(said, "label", at)
    if labels:
        rows.add(task, worker, labels, kind="classes")
    elif said == []:
        rows.bare.add(task, worker)
    else:
        rows.drop(NO_ANSWER)
