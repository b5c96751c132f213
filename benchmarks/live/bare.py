"""The bare route: FastAPI, one row committed per request, nothing else. `uvicorn benchmarks.live.bare:app`.

BARE_DB names the file. Each thread of the server has its own connection; WAL and synchronous=FULL, as ours.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()
_local = threading.local()


class Label(BaseModel):
    task: str
    worker: str
    answer: str
    key: str


def database() -> sqlite3.Connection:
    if not hasattr(_local, "db"):
        db = sqlite3.connect(os.environ["BARE_DB"], timeout=60, isolation_level=None)
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=full")
        db.execute("create table if not exists label (id integer primary key, task, worker, answer, key unique)")
        _local.db = db
    return _local.db


@app.post("/labels", status_code=201)
def label(said: Label) -> dict[str, Any]:
    db = database()
    db.execute("begin immediate")
    row = db.execute("insert into label (task, worker, answer, key) values (?, ?, ?, ?)",
                     (said.task, said.worker, said.answer, said.key)).lastrowid  # fmt: skip
    db.execute("commit")
    return {"event": row, "task": said.task}


@app.get("/next")
def following(n: int = 0) -> dict[str, Any]:
    """The next task is whatever number comes next: no model, no lease, no database."""
    return {"tasks": [{"id": f"t{n}", "payload": {"text": f"text {n}"}}]}
