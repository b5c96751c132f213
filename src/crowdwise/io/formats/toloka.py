"""Toloka's assignments: INPUT:* what was shown, OUTPUT:* what was said, GOLDEN:* what is right, ASSIGNMENT:*."""

from __future__ import annotations

import json

from ...core.errors import DataError
from ...core.ledger import BLANK
from ...core.vocabulary import quote
from ..csv.file import open_csv
from ..sources import Source
from .base import NO_ANSWER, REJECTED, SKIPPED, SURE, Ask, Found, Guess, Head, Rows
from .cells import moment
from .records import one_of

WORKER, STATUS, TASK = "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ASSIGNMENT:task_id"
SUITE, STARTED, SUBMITTED = "ASSIGNMENT:assignment_id", "ASSIGNMENT:started", "ASSIGNMENT:submitted"
UNFINISHED = {"SKIPPED": SKIPPED, "EXPIRED": "expired before it was submitted", "ACTIVE": "not submitted yet"}


def sniff(head: Head) -> Guess | None:
    """Columns that begin with INPUT: and ASSIGNMENT:."""
    if head.kind == "table" and any(n.startswith("ASSIGNMENT:") for n in head.header):
        return Guess(SURE, "its columns begin with `INPUT:`, `OUTPUT:` and `ASSIGNMENT:`")
    return None


def read(source: Source, where: str, ask: Ask) -> Found:
    """One row a task of an assignment; control tasks give gold."""
    ask.only(where, "task")
    table = open_csv(source, where, "tsv")
    header = table.header
    if WORKER not in header:
        raise DataError(f"{where} has no column {WORKER!r}; download the assignments with it")
    outputs = [name.removeprefix("OUTPUT:") for name in header if name.startswith("OUTPUT:")]
    question = one_of(outputs, ask.question and ask.question.removeprefix("OUTPUT:"), where)
    tasks = _task_columns(header, ask, where)
    about = (f"OUTPUT:{question}", f"GOLDEN:{question}", WORKER, STATUS, SUITE, STARTED, SUBMITTED)
    frame = table.read([name for name in header if name in (*tasks, *about)])
    suites = frame[SUITE].value_counts().rows() if SUITE in header else []
    sizes = {str(suite): int(n) for suite, n in suites}
    rows, rejected = Rows(), 0
    for line, row in enumerate(frame.iter_rows(named=True), 1):
        rejected += _add(rows, row, tasks, question, ask, f"{where}, row {line}", sizes)
    notes = table.notes
    if rejected and ask.rejected == "keep":
        notes += (f"{rejected:,} answers were rejected by the requester and are kept; --rejected drop drops them",)
    if len(tasks) > 1:
        notes += (f"a task is what its columns {quote(tasks, 8)} hold together; --columns task=NAME takes one of them",)
    return rows.found(where, ask, question, notes)


def _task_columns(header: list[str], ask: Ask, where: str) -> list[str]:
    if "task" in ask.columns:
        wanted = ask.columns["task"]
        found = [name for name in header if name in (wanted, f"INPUT:{wanted}")]
        if not found:
            raise DataError(f"{where} has no column {wanted!r} for the task; it has {quote(header, 12)}")
        return found[:1]
    found = [TASK] if TASK in header else [name for name in header if name.startswith("INPUT:")]
    if not found:
        raise DataError(f"{where} has neither {TASK!r} nor INPUT columns; name the task: --columns task=NAME")
    return found


def _add(
    rows: Rows, row: dict[str, str | None], columns: list[str], question: str, ask: Ask, at: str, sizes: dict[str, int]
) -> bool:
    """One row; whether it was rejected."""
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
    refused = status == "REJECTED"
    if status in UNFINISHED:
        rows.drop(UNFINISHED[status])
    elif refused and ask.rejected == "drop":
        rows.drop(REJECTED)
    elif not (label or "").strip():
        rows.drop(NO_ANSWER)
    else:
        started, submitted = moment(row.get(STARTED) or ""), moment(row.get(SUBMITTED) or "")
        # Times are those of the page, which holds several tasks: each gets its share.
        share = (submitted - started) / sizes.get(str(row.get(SUITE)), 1)
        when = submitted if submitted == submitted else started
        worker = row[WORKER]
        if worker:
            rows.sources[worker] = "human"
        rows.add(task or None, worker, [str(label)], time=when, duration=share)
    return refused
