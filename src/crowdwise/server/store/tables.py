"""The tables. `event` is append-only; all counts and posteriors are derived from it.

`event.task` and `event.worker` are the codes of `task` and `worker` within the project, assigned in order of creation.
Times are seconds since 1970 in UTC.
"""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()
Whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

project = sa.Table(
    "project",
    metadata,
    sa.Column("id", sa.String(200), primary_key=True),
    sa.Column("uid", sa.String(32), nullable=False),
    sa.Column("config", sa.Text, nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
)

event = sa.Table(
    "event",
    metadata,
    sa.Column("project", sa.String(200), primary_key=True),
    sa.Column("id", Whole, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("task", Whole),
    sa.Column("worker", Whole),
    sa.Column("payload", sa.Text, nullable=False),
    sa.Column("received_at", sa.Float, nullable=False),
    sa.Column("client_ms", Whole),
    sa.Column("lease", Whole),
    sa.Column("idempotency_key", sa.String(200)),
    sa.Column("body", sa.String(32)),
    sa.Column("supersedes", Whole),
    sa.Index("event_of_pair", "project", "task", "worker", "id"),
    sa.Index("event_of_worker", "project", "worker", "id"),
)
# A key of a worker is unique; the index is partial because most events of the server itself have no key.
sa.Index(
    "event_key", event.c.project, event.c.worker, event.c.idempotency_key, unique=True,
    sqlite_where=event.c.idempotency_key.isnot(None), postgresql_where=event.c.idempotency_key.isnot(None),
)  # fmt: skip

task = sa.Table(
    "task",
    metadata,
    sa.Column("project", sa.String(200), primary_key=True),
    sa.Column("code", Whole, primary_key=True, autoincrement=False),
    sa.Column("id", sa.String(200), nullable=False),
    sa.Column("payload", sa.Text, nullable=False),
    sa.Column("gold", sa.Text),
    sa.UniqueConstraint("project", "id", name="task_once"),
)

worker = sa.Table(
    "worker",
    metadata,
    sa.Column("project", sa.String(200), primary_key=True),
    sa.Column("code", Whole, primary_key=True, autoincrement=False),
    sa.Column("id", sa.String(200), nullable=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("cost", sa.Float, nullable=False),
    sa.Column("status", sa.String(20), nullable=False),
    sa.UniqueConstraint("project", "id", name="worker_once"),
)

# Assignments, which are kept after their end to recognise late answers. A lease is active until expires_at, unless the
# log has a later answer or skip of the pair.
lease = sa.Table(
    "lease",
    metadata,
    sa.Column("project", sa.String(200), primary_key=True),
    sa.Column("task", Whole, primary_key=True, autoincrement=False),
    sa.Column("worker", Whole, primary_key=True, autoincrement=False),
    sa.Column("id", Whole, nullable=False),
    sa.Column("expires_at", sa.Float, nullable=False),
    sa.UniqueConstraint("project", "id", name="lease_once"),
)

token = sa.Table(
    "token",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("project", sa.String(200), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False, unique=True),
    sa.Column("worker", Whole),
    sa.Column("scope", sa.String(20), nullable=False),
    sa.Column("note", sa.String(200), nullable=False, server_default=""),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("revoked_at", sa.Float),
)

invite = sa.Table(
    "invite",
    metadata,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("project", sa.String(200), nullable=False),
    sa.Column("uses", Whole, nullable=False),
    sa.Column("expires_at", sa.Float, nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
)

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("id", Whole, primary_key=True, autoincrement=True),
    sa.Column("project", sa.String(200), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("token", sa.String(32)),
    sa.Column("act", sa.String(40), nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
)

# The results of the last fits, by the event that entered them.
baseline = sa.Table(
    "settled",
    metadata,
    sa.Column("project", sa.String(200), primary_key=True),
    sa.Column("event", Whole, primary_key=True, autoincrement=False),
    sa.Column("arrays", sa.LargeBinary, nullable=False),
)
# The current answer of a task and a worker: the last one, unless it was undone.
CURRENT = """
CREATE VIEW current_answer AS
SELECT e.project, e.id, e.task, e.worker, e.payload, e.received_at, e.client_ms FROM event e
WHERE e.kind = 'label' AND NOT EXISTS (
  SELECT 1 FROM event l WHERE l.project = e.project AND l.task = e.task AND l.worker = e.worker AND l.id > e.id
  AND l.kind IN ('label', 'undo'))
"""
current = sa.table(
    "current_answer",
    *(sa.column(name) for name in ("project", "id", "task", "worker", "payload", "received_at", "client_ms")),
)
