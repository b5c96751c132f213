"""Write votes in the formats of crowdsourcing platforms and annotation tools: one row per vote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ...core.errors import DataError
from ..csv.cells import to_csv
from .rows import answer_of, as_number, frame_of, gold_of, moment, rows, write_jsonl

if TYPE_CHECKING:
    from ..reading import Reading


def write_mturk(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write batch results; HITId is the task."""
    frame = frame_of(reading.annotations)
    if frame["label"].str.contains("|", literal=True).any():
        raise DataError("a label holds |, which separates labels in Mechanical Turk's results; choose another format")
    numbers = reading.annotations.numbers
    times = [moment(t) for t in frame["time"]] if "time" in numbers else [None] * len(frame)
    table = pl.DataFrame(
        {
            "HITId": frame["task"],
            "AssignmentId": [str(i) for i in range(1, len(frame) + 1)],
            "WorkerId": frame["worker"],
            "AssignmentStatus": ["Approved"] * len(frame),
            "SubmitTime": pl.Series(times, dtype=pl.String),
            "WorkTimeInSeconds": frame["duration"] if "duration" in numbers else [None] * len(frame),
            f"Answer.{answer_of(reading.annotations)}": frame["label"],
        }
    )
    to_csv(table, path)
    return ()


def write_toloka(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write assignments: INPUT:task, OUTPUT:label (or value), and GOLDEN:label if the truth is known."""
    frame, gold, answer = frame_of(reading.annotations), gold_of(reading), answer_of(reading.annotations)
    times = [moment(t) for t in frame["time"]] if "time" in frame.columns else [None] * len(frame)
    table = pl.DataFrame(
        {
            "INPUT:task": frame["task"],
            f"OUTPUT:{answer}": frame["label"],
            f"GOLDEN:{answer}": pl.Series([gold.get(task) for task in frame["task"]], dtype=pl.String),
            "ASSIGNMENT:assignment_id": [str(i) for i in range(1, len(frame) + 1)],
            "ASSIGNMENT:worker_id": frame["worker"],
            "ASSIGNMENT:status": ["APPROVED"] * len(frame),
            "ASSIGNMENT:submitted": pl.Series(times, dtype=pl.String),
        }
    )
    to_csv(table, path, separator="\t")
    return ()


def write_snow(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write the columns of Snow et al."""
    frame, gold = frame_of(reading.annotations), gold_of(reading)
    table = pl.DataFrame(
        {
            "!amt_annotation_ids": [str(i) for i in range(1, len(frame) + 1)],
            "!amt_worker_ids": frame["worker"],
            "orig_id": frame["task"],
            "response": frame["label"],
            "gold": pl.Series([gold.get(task) for task in frame["task"]], dtype=pl.String),
        }
    )
    to_csv(table, path, separator="\t")
    numbers = answer_of(reading.annotations) != "label"
    return (f"read it with --kind {reading.annotations.kind.name}",) if numbers else ()


def write_prodigy(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write choices; `_input_hash` is the task."""
    options = [{"id": name, "text": name} for name in reading.annotations.classes.cast(pl.String)]
    examples = (
        {
            "text": row["task"],
            "_input_hash": row["task"],
            "_annotator_id": row["worker"],
            "_view_id": "choice",
            "options": options,
            "accept": [row["label"]],
            "answer": "accept",
            "_timestamp": row["time"],
        }
        for row in rows(reading.annotations)
    )
    write_jsonl(examples, path)
    return ("Prodigy's hashes are numbers; here they are the tasks' names",)


def write_judgments(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write one line per verdict or score."""
    classes = answer_of(reading.annotations) == "label"
    facts = [] if reading.annotations.about_rows is None else reading.annotations.about_rows.columns
    lines = (
        {"item": row["task"], "judge": row["worker"]}
        | (
            {"verdict": row["label"], "score": row["confidence"]}
            if classes
            else {"score": as_number(row["label"]), "confidence": row["confidence"]}
        )
        | {name: row[name] for name in facts if row[name] is not None}
        for row in rows(reading.annotations)
    )
    write_jsonl(lines, path)
    return ()
