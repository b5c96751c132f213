"""Functions of the command line on a project, which may be served at the same time."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ..core.errors import DataError, unwritable
from . import auth
from .batch import WriteBatch
from .commands import manage
from .config import Config
from .export import FORMATS, TABLES, table_of, written
from .intake import read_gold, read_tasks
from .live.baseline import summary_of
from .live.checks import CHOSEN, RANDOM
from .problems import Problem
from .project import Project, create, load_tasks
from .serialization import worker_name_of
from .store import tables as t
from .store.backup import backup
from .store.folder import MEDIA, Folder

__all__ = ["Config", "Folder", "Project", "auth", "backup", "create", "export", "import_gold", "import_tasks",
           "sentence", "token_for", "tokens"]  # fmt: skip


def import_tasks(project: Project, path: Path) -> dict[str, int]:
    """Add the tasks of a file or a folder of images."""
    return load_tasks(project, read_tasks(path, project.folder.path / MEDIA))


def import_gold(project: Project, path: Path, *, random: bool = False) -> int:
    """Import known answers of existing tasks and return their number. `random`: the tasks were drawn at random."""
    gold = {name: answer for name, answer in read_gold(path).items() if answer is not None}

    def command(batch: WriteBatch) -> int:
        for name, answer in gold.items():
            batch.task(name)
            if not batch.live.kind.looks:
                batch.live.kind.check(_number(batch, answer), {})
        for name, answer in gold.items():
            manage.set_gold(batch, name, _number(batch, answer), drawn=RANDOM if random else CHOSEN)
        return len(gold)

    return int(project.queue.do(command, timeout=600))


def _number(batch: WriteBatch, answer: Any) -> Any:
    """Convert the cell of a table to a number in a project of numbers, and to text in one of classes."""
    if batch.live.config.kind != "numbers" or not isinstance(answer, str):
        return str(answer) if batch.live.config.sure else answer
    try:
        return float(answer)
    except ValueError:
        raise DataError(f"gold {answer[:40]!r} is no number") from None


def export(project: Project, to: Path, format: str, *, force: bool = False) -> list[Path]:
    """All tables of a project as files in a folder."""
    if format not in FORMATS:
        raise DataError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    paths = [to / f"{what}.{format}" for what in TABLES]
    for path in paths:
        if path.exists() and not force:
            raise DataError(f"{path} exists already; choose another folder or use --force")
    frames = {}
    for what in TABLES:
        with contextlib.suppress(Problem):  # before the first answer there are no votes
            frames[what] = table_of(project, what)
    try:
        to.mkdir(parents=True, exist_ok=True)
        for what, frame in frames.items():
            (to / f"{what}.{format}").write_bytes(written(frame, format))
    except OSError as error:
        raise unwritable(to, error) from error
    return [path for path in paths if path.stem in frames]


def sentence(project: Project) -> str:
    """The statement on label quality of the last fit; empty before the first fit."""
    level = summary_of(project.queue.live.baseline).get("trust") or {}
    return str(level.get("sentence", ""))


def token_for(batch: WriteBatch, worker: str | None, scope: str, kind: str, cost: float | None) -> str:
    """Create a token for a worker, who is added if new, for a reviewer, or without a name."""
    if scope == "review":
        return auth.issue(batch, scope, note=worker_name_of(worker or ""))[1]
    code = None
    if worker is not None:
        code = batch.live.crowd.worker_code.get(worker)
        code = manage.add_worker(batch, worker, kind, cost) if code is None else code
    return auth.issue(batch, scope, code)[1]


def tokens(project: Project) -> list[dict[str, Any]]:
    """All tokens, without their secrets."""
    names = [worker.name for worker in project.queue.live.crowd.workers]
    with project.database.reader.connect() as connection:
        rows = connection.execute(sa.select(t.token).where(t.token.c.project == project.name)).all()
    return [
        {"id": row.id, "scope": row.scope, "worker": (row.note if row.scope == "review" else None) if row.worker is None
         else names[row.worker], "made": _day(row.created_at), "revoked": _day(row.revoked_at)}
        for row in rows
    ]  # fmt: skip


def _day(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
