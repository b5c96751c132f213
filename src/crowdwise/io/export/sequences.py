"""Write spans in the formats of text annotation tools: doccano, Prodigy, Argilla, CoNLL columns."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ...core.errors import DataError
from ...core.side_tables import column_by
from ..csv.cells import to_csv
from ..formats.marks import tags_of_spans
from .archives import write_lines
from .rows import Row, by_task, rows, write_jsonl

if TYPE_CHECKING:
    from ..reading import Reading

_TOKEN = re.compile(r"\S+")


def texts_of(reading: Reading) -> dict[str, str]:
    """Return task -> its text, if known."""
    votes = reading.annotations
    column = column_by(votes.about_tasks, "text", votes.tasks)
    if column is None:
        return {}
    names = votes.tasks.cast(pl.String).to_list()
    return {name: str(text) for name, text in zip(names, column.to_list(), strict=True) if text is not None}


def write_doccano(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write <user>.jsonl with the spans of each text."""
    texts = texts_of(reading)

    def example(row: Row) -> dict[str, Any]:
        marks = [list(mark.values()) for mark in marks_of(row["label"])]
        return {"id": row["task"], "text": texts.get(row["task"], row["task"]), "label": marks}

    return write_lines(reading, path, example)


def write_prodigy(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write spans as marked by hand; `_input_hash` is the task."""
    texts = texts_of(reading)
    examples = (
        {
            "text": texts.get(row["task"], row["task"]),
            "_input_hash": row["task"],
            "_annotator_id": row["worker"],
            "_view_id": "ner_manual",
            "spans": marks_of(row["label"]),
            "answer": "accept",
            "_timestamp": row["time"],
        }
        for row in rows(reading.annotations)
    )
    write_jsonl(examples, path)
    return ("Prodigy's hashes are numbers; here they are the tasks' names",)


def marks_of(label: str) -> list[dict[str, Any]]:
    """Return the spans of an answer as objects with start, end and label."""
    return [{"start": m[0], "end": m[1], "label": m[2] if len(m) > 2 else ""} for m in json.loads(label)]


def write_tokens(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write one row per token: task, worker, token (its number from 0), tag, word."""
    texts = texts_of(reading)
    rows: list[tuple[str, str, int, str, str]] = []
    for task, votes in by_task(reading.annotations):
        tokens = _tokens_of(task, texts)
        for row in votes:
            tags = tags_of_spans(json.loads(row["label"]), tokens)
            rows += [(task, row["worker"], i, tag, texts[task][a:b])
                     for i, (tag, (a, b)) in enumerate(zip(tags, tokens, strict=True))]  # fmt: skip
    to_csv(pl.DataFrame(rows, schema=["task", "worker", "token", "tag", "word"], orient="row"), path)
    return ("spans are aligned to tokens, runs of blanks become one blank, and times are not written",)


def _tokens_of(task: str, texts: dict[str, str]) -> list[tuple[int, int]]:
    if task not in texts:
        raise DataError(f"the text of task {task!r} is not known, so it has no tokens; give --about-tasks FILE")
    return [(m.start(), m.end()) for m in _TOKEN.finditer(texts[task])]


def write_conll(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write one token per line with a column per worker; tokens are separated by blanks."""
    votes, texts = reading.annotations, texts_of(reading)
    workers = votes.workers.cast(pl.String).to_list()
    if any(re.search(r"\s", worker) for worker in workers):
        raise DataError("a worker's name holds a blank, which separates the columns of CoNLL; choose another format")
    with path.open("w", encoding="utf-8") as file:
        file.write("\t".join(["token", *workers]) + "\n")
        for task, rows in by_task(votes):
            tokens = _tokens_of(task, texts)
            columns = {row["worker"]: tags_of_spans(json.loads(row["label"]), tokens) for row in rows}
            file.write(f"# id = {task}\n")
            for i, (a, b) in enumerate(tokens):
                tags = [columns[worker][i] if worker in columns else "?" for worker in workers]
                file.write("\t".join([texts[task][a:b], *tags]) + "\n")
            file.write("\n")
    return ("spans are aligned to tokens, runs of blanks become one blank, and times are not written",)
