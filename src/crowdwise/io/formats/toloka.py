"""Toloka's assignments: INPUT:* for inputs, OUTPUT:* for answers, GOLDEN:* for gold labels, ASSIGNMENT:*."""

from __future__ import annotations

import json

from ...core.errors import DataError
from ...core.ledger import BLANK
from ...core.options import ReadOptions
from ...core.vocabulary import quote
from ..csv.file import open_csv
from ..sources import Source
from .base import NO_ANSWER, REJECTED, SKIPPED, SURE, FileHead, FormatMatch, ParsedFile, RowBuilder
from .cells import moment
from .records import one_of

WORKER, STATUS, TASK = "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ASSIGNMENT:task_id"
SUITE, STARTED, SUBMITTED = "ASSIGNMENT:assignment_id", "ASSIGNMENT:started", "ASSIGNMENT:submitted"
UNFINISHED = {"SKIPPED": SKIPPED, "EXPIRED": "expired before it was submitted", "ACTIVE": "not submitted yet"}


def sniff(head: FileHead) -> FormatMatch | None:
    """Match columns that begin with ASSIGNMENT:."""
    if any(n.startswith("ASSIGNMENT:") for n in head.header):
        return FormatMatch(SURE, "its columns begin with `INPUT:`, `OUTPUT:` and `ASSIGNMENT:`")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read one row per task of an assignment; control tasks provide gold."""
    options.allow_columns(where, "task")
    table = open_csv(source, where, "tsv")
    header = table.header
    if WORKER not in header:
        raise DataError(f"{where} has no column {WORKER!r}; download the assignments with it")
    outputs = [name.removeprefix("OUTPUT:") for name in header if name.startswith("OUTPUT:")]
    question = one_of(outputs, options.question and options.question.removeprefix("OUTPUT:"), where)
    tasks = _task_columns(header, options, where)
    about = (f"OUTPUT:{question}", f"GOLDEN:{question}", WORKER, STATUS, SUITE, STARTED, SUBMITTED)
    frame = table.read([name for name in header if name in (*tasks, *about)])
    suites = frame[SUITE].value_counts().rows() if SUITE in header else []
    sizes = {str(suite): int(n) for suite, n in suites}
    rows, rejected = RowBuilder(), 0
    for line, row in enumerate(frame.iter_rows(named=True), 1):
        rejected += _add(rows, row, tasks, question, options, f"{where}, row {line}", sizes)
    notes = table.notes
    if rejected and options.rejected == "keep":
        notes += (f"{rejected:,} answers were rejected by the requester and are kept; --rejected drop drops them",)
    if len(tasks) > 1:
        notes += (
            f"a task is the combination of its columns {quote(tasks, 8)}; --columns task=NAME selects one of them",
        )
    return rows.finish(where, options, question, notes)


def _task_columns(header: list[str], options: ReadOptions, where: str) -> list[str]:
    if "task" in options.columns:
        requested = options.columns["task"]
        columns = [name for name in header if name in (requested, f"INPUT:{requested}")]
        if not columns:
            raise DataError(f"{where} has no column {requested!r} for the task; it has {quote(header, 12)}")
        return columns[:1]
    columns = [TASK] if TASK in header else [name for name in header if name.startswith("INPUT:")]
    if not columns:
        raise DataError(f"{where} has neither {TASK!r} nor INPUT columns; name the task: --columns task=NAME")
    return columns


def _add(
    rows: RowBuilder,
    row: dict[str, str | None],
    columns: list[str],
    question: str,
    options: ReadOptions,
    at: str,
    sizes: dict[str, int],
) -> bool:
    """Add one row; return whether it was rejected."""
    if not any(row.values()):
        rows.drop(BLANK)
        return False
    parts = [row[name] or "" for name in columns]
    task = parts[0] if len(parts) == 1 else json.dumps(parts, ensure_ascii=False) if any(parts) else ""
    rows.mention(task or None)
    golden, label = row.get(f"GOLDEN:{question}"), row.get(f"OUTPUT:{question}")
    if golden:
        rows.truth(task or None, golden, at)
    status = (row.get(STATUS) or "").strip().upper()
    is_rejected = status == "REJECTED"
    if status in UNFINISHED:
        rows.drop(UNFINISHED[status])
    elif is_rejected and options.rejected == "drop":
        rows.drop(REJECTED)
    elif not (label or "").strip():
        rows.drop(NO_ANSWER)
    else:
        started, submitted = moment(row.get(STARTED) or ""), moment(row.get(SUBMITTED) or "")
        # Times are those of the page, which may hold several tasks: they are divided among them.
        share = (submitted - started) / sizes.get(str(row.get(SUITE)), 1)
        time = submitted if submitted == submitted else started
        rows.add(task or None, row[WORKER], [str(label)], time=time, duration=share, source="human")
    return is_rejected
