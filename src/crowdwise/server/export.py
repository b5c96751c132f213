"""Export of a project as tables (events, labels, workers, votes) and as a report."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any

import polars as pl
import sqlalchemy as sa

from ..core.errors import CrowdwiseError
from ..io.csv.cells import to_csv
from ..report import render
from .batch import WriteBatch
from .live.answer_log import answers_at
from .live.baseline import summary_of
from .live.fits import without_excluded
from .live.gold import usable
from .live.statement import fit_calibrated
from .live.status import task_row, worker_row
from .live.votes import votes_of
from .problems import Problem
from .project import Project
from .serialization import dumps
from .store import tables as t

# Metadata of answers that votes do not have.
METADATA = ("model", "latency_ms", "tokens_in", "tokens_out")
TABLES, FORMATS = ("events", "labels", "workers", "votes"), ("csv", "jsonl", "parquet")
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}


def table_of(project: Project, what: str) -> pl.DataFrame:
    """One of the tables."""
    if what == "events":
        return _events(project)
    if what == "votes":
        return _votes_table(project)
    command = _labels if what == "labels" else _workers
    rows: list[dict[str, Any]] = project.queue.do(command, write=False)
    return pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame({what[:-1]: []})


def written(frame: pl.DataFrame, format: str) -> bytes:
    """A table as the bytes of a file; CSV cells that a spreadsheet would execute are escaped."""
    if format == "csv":
        nested = [n for n, d in frame.schema.items() if d.is_nested()]
        flat = frame.with_columns(pl.col(n).map_elements(_json_text, return_dtype=pl.String) for n in nested)
        return to_csv(flat).encode()
    out = io.BytesIO()
    if format == "jsonl":
        frame.write_ndjson(out)
    else:
        frame.write_parquet(out)
    return out.getvalue()


def _json_text(value: Any) -> str:
    return dumps(value.to_list() if isinstance(value, pl.Series) else value)


class Reports:
    """The report of a project, which takes a fit: cached for the same answers, and made by one thread at a time.

    Requests that arrive while a report is being made wait for it; it lacks at most the answers since its start. They
    wait for a future, because a lock would block one thread of the pool for each of them, and tokens could not be
    looked up when all threads wait. `limit()` raises a Problem if there are too many fits.
    """

    def __init__(self, project: Project, limit: Callable[[], None]) -> None:
        self._project, self._limit = project, limit
        self._lock = threading.Lock()  # held for a moment only, never during a fit
        self._running: Future[str] | None = None
        self._made: tuple[tuple[int, int], str] | None = None

    async def page(self) -> str:
        """The current report."""
        # A client that disconnects must not cancel the fit for the others.
        return await asyncio.shield(asyncio.wrap_future(self._start()))

    def _start(self) -> Future[str]:
        """The future of the cached report, of the one that is being made, or of a new one in its own thread."""
        live = self._project.queue.live
        answers = (live.serial, live.changes)
        with self._lock:
            if self._running is not None:
                return self._running
            done: Future[str] = Future()
            if self._made is not None and self._made[0] == answers:
                done.set_result(self._made[1])
                return done
            self._limit()
            self._running = done
        threading.Thread(target=self._make, args=(answers, done), name="report", daemon=True).start()
        return done

    def _make(self, answers: tuple[int, int], done: Future[str]) -> None:
        try:
            page = report(self._project)
        except BaseException as error:
            with self._lock:
                self._running = None
            done.set_exception(error)
        else:
            with self._lock:
                self._made, self._running = (answers, page), None
            done.set_result(page)


def report(project: Project) -> str:
    """The current report, by the project's method."""
    rows = _answers(project)
    votes = _votes(project, rows)
    live = project.queue.live
    config, names = live.config, live.crowd.tasks
    gold_answers = {names[code]: answer for code, answer in dict(live.gold).items()}
    drawn = {names[code] for code in set(live.checks.done)}
    try:
        gold, _ = usable(config.kind, gold_answers, drawn, {row[0]: row[3] for row in rows})
        result = fit_calibrated(votes, config.method, gold, drawn)
        return render(votes, result, title=config.question, made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
    except CrowdwiseError as error:
        raise Problem(409, f"there is no report yet: {error}") from error


def _votes_table(project: Project) -> pl.DataFrame:
    """The rows of the votes, with the prompts of pairs and the metadata of the answers."""
    rows = _answers(project)
    votes = _votes(project, rows)
    frame: pl.DataFrame = votes.to_frame()
    more: dict[str, list[Any]] = {"task": [row[0] for row in rows], "worker": [row[1] for row in rows]}
    more |= {name: [row[6].get(name) for row in rows] for name in METADATA}
    if votes.about_tasks is not None and "prompt" in votes.about_tasks.columns:
        prompts = dict(votes.about_tasks.select("task", "prompt").iter_rows())
        more["prompt"] = [prompts.get(name) for name in more["task"]]
    metadata = pl.DataFrame(more, infer_schema_length=None, strict=False)
    columns = [c for c in metadata.columns if c in ("task", "worker") or metadata[c].null_count() < len(metadata)]
    return frame.join(metadata.select(columns), on=["task", "worker"], how="left", maintain_order="left")


def _answers(project: Project) -> list[Any]:
    """The current answers to all tasks that are not excluded."""
    with project.database.reader.connect() as connection:
        rows = answers_at(connection.execute, project.name)
    return without_excluded(project.queue.live, rows)


def _votes(project: Project, rows: list[Any] | None = None) -> Any:
    try:
        return votes_of(project.queue.live.config, _answers(project) if rows is None else rows)
    except CrowdwiseError as error:
        raise Problem(409, f"{error}; try again when there are answers") from error


def _events(project: Project) -> pl.DataFrame:
    """The complete log, with names instead of codes."""
    columns = ("id", "kind", "task", "worker", "payload", "received_at", "client_ms", "lease", "idempotency_key",
               "supersedes")  # fmt: skip
    with project.database.reader.connect() as connection:
        mine = sa.select(*(t.event.c[name] for name in columns)).where(t.event.c.project == project.name)
        rows = connection.execute(mine.order_by(t.event.c.id)).all()
        names = {row.code: row.id for row in connection.execute(_names(t.task, project.name))}
        who = {row.code: row.id for row in connection.execute(_names(t.worker, project.name))}
    frame = pl.DataFrame(
        [tuple(row) for row in rows], schema=dict(zip(columns, _EVENT_TYPES, strict=True)), orient="row"
    )
    task = frame["task"].replace_strict(names, return_dtype=pl.String) if names else frame["task"].cast(pl.String)
    worker = frame["worker"].replace_strict(who, return_dtype=pl.String) if who else frame["worker"].cast(pl.String)
    return frame.with_columns(task.alias("task"), worker.alias("worker"))


_EVENT_TYPES = (pl.Int64, pl.String, pl.Int64, pl.Int64, pl.String, pl.Float64, pl.Int64, pl.Int64, pl.String, pl.Int64)


def _names(table: sa.Table, project: str) -> Any:
    return sa.select(table.c.code, table.c.id).where(table.c.project == project)


def _labels(batch: WriteBatch) -> list[dict[str, Any]]:
    """One row per task: the answer of the last fit, or else of the online model, and the reason for stopping."""
    live = batch.live
    summary = summary_of(live.baseline)
    tables = summary.get("tasks", {})
    out = []
    for code, name in enumerate(live.crowd.tasks):
        row = task_row(live, code, summary)
        kept: dict[str, Any] = {"task": name, "n_labels": row["answers"], "state": row["state"]}
        if live.config.sure:
            best = row["settled"] or row["live"]
            kept |= {"label": best["label"] if row["answers"] else None, "confidence": best["confidence"]}
            kept |= {"live_label": row["live"]["label"], "live_confidence": row["live"]["confidence"]}
            kept |= {f"p_{name}": p for name, p in best["posterior"].items()}
            kept["can_ship"] = (row["settled"] or {}).get("can_ship")
        else:
            kept |= {k: v for k, v in tables.get(name, {}).items() if k != "n_labels"}
        out.append(kept | {"gold": row["gold"], "gold_drawn": row["drawn"]})
    return out


def _workers(batch: WriteBatch) -> list[dict[str, Any]]:
    rows = []
    for code in range(len(batch.live.crowd.workers)):
        row = worker_row(batch.live, code, batch.now)
        skill = row.pop("skill") or {"low": None, "mean": None, "high": None}
        flags = json.dumps([flag["flag"] for flag in row.pop("flags")])
        name = row.pop("name")
        ends = {"skill": skill["mean"], "skill_low": skill["low"], "skill_high": skill["high"]}
        rows.append({"worker": name, **row, **ends, "flags": flags})
    return rows
