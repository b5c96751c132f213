"""Judging without a server: from a file of tasks to a log of verdicts. Tasks in the log are not judged again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from ...core.errors import DataError
from ...core.vocabulary import quote
from ...io.json.stream import objects
from ...io.sources import open_source
from ...io.tables import open_table
from ...kinds.rankings.answers import items_in
from .judge import Judge
from .live import JudgingCounts
from .log import Log

IDS = ("task", "id", "item", "task_id", "item_id")
# Columns that may hold the truth or the answers of others, which a judge must not see.
HIDDEN = ("label", "labels", "gold", "truth", "answer", "verdict", "worker", "judge")


def tasks_of(path: str | Path, column: str | None = None) -> tuple[list[tuple[str, dict[str, Any]]], list[str]]:
    """(id, payload) of every task in a JSONL file or a table, and the columns that were hidden from the judge."""
    rows, where = list(_rows(path)), Path(path).name
    if not rows:
        raise DataError(f"{where} holds no task")
    name = column or next((name_ for name_ in IDS if name_ in rows[0][1]), None)
    if name is None:
        raise DataError(f"{where} has no column of ids (task, id, item); it has {quote(list(rows[0][1]), 8)}")
    out, first_at = list[tuple[str, dict[str, Any]]](), dict[str, str]()
    hidden = sorted({key for _, row in rows for key in row if key.casefold() in HIDDEN and key != name})
    for at, row in rows:
        if row.get(name) in (None, ""):
            raise DataError(f"{at}: the task has no {name!r}")
        task = str(row[name])
        if task in first_at:
            raise DataError(
                f"{at}: the task {task[:60]!r} stands there twice (first at {first_at[task]}); ids must differ"
            )
        first_at[task] = at
        out.append((task, _payload(row, {name, *hidden}, at)))
    return out, hidden


def _payload(row: dict[str, Any], without: set[str], at: str) -> dict[str, Any]:
    payload = row.get("payload")
    if isinstance(payload, dict):
        return payload
    fields = {key: value for key, value in row.items() if key not in without and value is not None}
    if isinstance(fields.get("items"), str):
        fields["items"] = items_in(fields["items"], "items")
    if not fields:
        raise DataError(f"{at}: the task has nothing to show but its id")
    return fields


def _rows(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if Path(path).suffix.lower() in (".jsonl", ".ndjson", ".json"):
        yield from objects(*open_source(path))
        return
    table = open_table(path)
    frame = table.read(table.header)
    for number, row in enumerate(frame.iter_rows(named=True), 2):
        yield f"{Path(path).name}, line {number}", row


def judge_file(
    tasks: list[tuple[str, dict[str, Any]]],
    judge: Judge,
    log: Log,
    *,
    limit: int | None = None,
    parallel: int = 1,
    progress: Callable[[JudgingCounts], None] | None = None,
) -> JudgingCounts:
    """Judge the tasks that are not in the log, at most `limit` of them."""
    left = [task_ for task_ in tasks if not log.has(task_[0], judge)]
    wanted = iter(left[:limit])
    counts, running = JudgingCounts(), set[Future[None]]()

    def one(task: str, payload: dict[str, Any]) -> None:
        verdicts = judge.verdicts(payload)
        log.write(task, judge, verdicts)
        counts.count(judge.join(verdicts))

    with ThreadPoolExecutor(max(parallel, 1)) as pool:
        while True:
            while len(running) < max(parallel, 1) and (following := next(wanted, None)) is not None:
                running.add(pool.submit(one, *following))
            if not running:
                break
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
            if progress is not None:
                progress(counts)
    short = len(left) - counts.asked
    counts.why = f"{short:,} tasks are left for another time" if short else "every task was judged"
    return counts
