"""The first tables: project, event, task, worker, lease, token, invite, audit, settled, and the current answers."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

Whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Name = sa.String(200)
CURRENT = """
CREATE VIEW current_answer AS
SELECT e.project, e.id, e.task, e.worker, e.payload, e.received_at, e.client_ms FROM event e
WHERE e.kind = 'label' AND NOT EXISTS (
  SELECT 1 FROM event l WHERE l.project = e.project AND l.task = e.task AND l.worker = e.worker AND l.id > e.id
  AND l.kind IN ('label', 'undo'))
"""


def _must(name: str, kind: Any, **more: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False, **more)


def _key(name: str, kind: Any = Whole) -> sa.Column[Any]:
    return sa.Column(name, kind, primary_key=True, autoincrement=False)


def upgrade() -> None:
    """There."""
    op.create_table(
        "project",
        _key("id", Name),
        _must("uid", sa.String(32)),
        _must("config", sa.Text),
        _must("created_at", sa.Float),
    )
    _log()
    _who_and_what()
    op.execute(CURRENT)


def _log() -> None:
    op.create_table(
        "event",
        _key("project", Name),
        _key("id"),
        _must("kind", sa.String(20)),
        sa.Column("task", Whole),
        sa.Column("worker", Whole),
        _must("payload", sa.Text),
        _must("received_at", sa.Float),
        sa.Column("client_ms", Whole),
        sa.Column("lease", Whole),
        sa.Column("idempotency_key", Name),
        sa.Column("body", sa.String(32)),
        sa.Column("supersedes", Whole),
    )
    op.create_index("event_of_pair", "event", ["project", "task", "worker", "id"])
    op.create_index("event_of_worker", "event", ["project", "worker", "id"])
    some = sa.text("idempotency_key IS NOT NULL")
    op.create_index(
        "event_key", "event", ["project", "worker", "idempotency_key"],
        unique=True, sqlite_where=some, postgresql_where=some,
    )  # fmt: skip
    op.create_table(
        "task",
        _key("project", Name),
        _key("code"),
        _must("id", Name),
        _must("payload", sa.Text),
        sa.Column("gold", sa.Text),
        sa.UniqueConstraint("project", "id", name="task_once"),
    )
    op.create_table(
        "worker",
        _key("project", Name),
        _key("code"),
        _must("id", Name),
        _must("kind", sa.String(20)),
        _must("cost", sa.Float),
        _must("status", sa.String(20)),
        sa.UniqueConstraint("project", "id", name="worker_once"),
    )


def _who_and_what() -> None:
    op.create_table(
        "lease",
        _key("project", Name),
        _key("task"),
        _key("worker"),
        _must("id", Whole),
        _must("expires_at", sa.Float),
        sa.UniqueConstraint("project", "id", name="lease_once"),
    )
    op.create_table(
        "token",
        _key("id", sa.String(32)),
        _must("project", Name),
        _must("hash", sa.String(64), unique=True),
        sa.Column("worker", Whole),
        _must("scope", sa.String(20)),
        _must("note", Name, server_default=""),
        _must("created_at", sa.Float),
        sa.Column("revoked_at", sa.Float),
    )
    op.create_table(
        "invite",
        _key("hash", sa.String(64)),
        _must("project", Name),
        _must("uses", Whole),
        _must("expires_at", sa.Float),
        _must("created_at", sa.Float),
    )
    op.create_table(
        "audit",
        sa.Column("id", Whole, primary_key=True, autoincrement=True),
        _must("project", Name),
        _must("at", sa.Float),
        sa.Column("token", sa.String(32)),
        _must("act", sa.String(40)),
        _must("detail", sa.Text),
    )
    op.create_table("settled", _key("project", Name), _key("event"), _must("arrays", sa.LargeBinary))


def downgrade() -> None:
    """And back."""
    op.execute("DROP VIEW current_answer")
    for name in ("settled", "audit", "invite", "token", "lease", "worker", "task", "event", "project"):
        op.drop_table(name)
