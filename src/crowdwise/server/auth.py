"""Tokens and invitations: 256 random bits each, of which only a hash is stored."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from .batch import WriteBatch
from .problems import Problem
from .store import tables as t

SCOPES = ("annotate", "read", "check", "review", "admin")
# The scopes that each scope includes.
MAY = {"annotate": {"annotate"}, "read": {"read"}, "check": {"check"}, "review": {"review"}, "admin": set(SCOPES)}
PREFIX, INVITE = "cw_", "cwi_"


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated caller: the id and scope of the token, the worker that it belongs to, if any, and the name of a
    reviewer."""

    token: str
    scope: str
    worker: int | None
    cookie: bool = False
    csrf: str = ""
    name: str = ""

    def may(self, scope: str) -> bool:
        """Whether the token includes this scope."""
        return scope in MAY[self.scope]


def fresh(prefix: str = PREFIX) -> str:
    """A new secret."""
    return prefix + base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=")


def digest(secret: str) -> str:
    """The stored hash of a secret; a plain hash is enough because secrets are long and random."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def csrf_of(secret: str) -> str:
    """The CSRF token of a form, derived from the secret, which scripts of other sites cannot read."""
    return hmac.new(secret.encode("utf-8", "replace"), b"crowdwise form", hashlib.sha256).hexdigest()


class Authenticator:
    """Looks up tokens, with a cache that is cleared when the log says that tokens have changed."""

    def __init__(self, engine: sa.Engine, project: str) -> None:
        self._engine, self._project = engine, project
        self._cache: dict[str, tuple[str, Principal]] = {}
        self._generation = 0  # number of changes; rows read before the last change are not cached
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Clear the cache because tokens have changed."""
        with self._lock:
            self._generation += 1
            self._cache = {}

    def remembered(self, secret: str) -> Principal | None:
        """The caller with this token, if it is in the cache; hashes are compared in constant time."""
        hashed = digest(secret)
        entry = self._cache.get(hashed[:16])
        return entry[1] if entry is not None and hmac.compare_digest(entry[0], hashed) else None

    def look(self, secret: str) -> Principal | None:
        """The caller with this token from the database; None for an unknown or revoked token."""
        hashed, generation = digest(secret), self._generation
        with self._engine.connect() as connection:
            of = (t.token.c.project == self._project, t.token.c.hash == hashed, t.token.c.revoked_at.is_(None))
            row = connection.execute(sa.select(t.token).where(*of)).first()
        if row is None or not hmac.compare_digest(row.hash, hashed):
            return None
        name = row.note if row.scope == "review" else ""
        who = Principal(row.id, row.scope, row.worker, name=name)
        with self._lock:
            if generation == self._generation:
                if len(self._cache) > 100_000:
                    self._cache = {}
                self._cache[hashed[:16]] = (row.hash, who)
        return who


def issue(
    batch: WriteBatch, scope: str, worker: int | None = None, note: str = "", by: str | None = None
) -> tuple[str, str]:
    """Create a token and return its id and its secret, which is not stored."""
    if scope not in SCOPES:
        raise Problem(422, f"scope must be one of {', '.join(SCOPES)}, got {scope[:40]!r}")
    if scope == "annotate" and worker is None:
        raise Problem(422, "a token that may annotate belongs to a worker; name one")
    if scope == "review" and not note:
        raise Problem(422, "a token that may review belongs to a reviewer; name one")
    secret, number = fresh(), secrets.token_hex(8)
    row = {"id": number, "project": batch.project, "hash": digest(secret), "worker": worker, "scope": scope,
           "note": note, "created_at": batch.now}  # fmt: skip
    batch.execute(sa.insert(t.token), row)
    name = None if worker is None else batch.live.crowd.workers[worker].name
    batch.note(by, "token", token=number, scope=scope, worker=name)
    return number, secret


def revoke(batch: WriteBatch, *, token: str | None = None, worker: int | None = None, by: str | None = None) -> int:
    """Revoke a token, or all tokens of a worker; return their number."""
    of = [t.token.c.project == batch.project, t.token.c.revoked_at.is_(None)]
    of.append(t.token.c.id == token if token is not None else t.token.c.worker == worker)
    n = batch.execute(sa.update(t.token).where(*of).values(revoked_at=batch.now)).rowcount
    batch.enter("auth")
    batch.note(by, "revoke", token=token, worker=worker, tokens=n)
    return int(n)


def invite(batch: WriteBatch, uses: int, seconds: float, by: str | None = None) -> str:
    """Create an invitation code for `uses` people, valid for `seconds`."""
    code = fresh(INVITE)
    row = {"hash": digest(code), "project": batch.project, "uses": uses, "expires_at": batch.now + seconds,
           "created_at": batch.now}  # fmt: skip
    batch.execute(sa.insert(t.invite), row)
    batch.note(by, "invite", uses=uses, seconds=seconds)
    return code


def invitation(query: Callable[..., Any], project: str, code: str, now: float) -> Any:
    """The row of a valid invitation; otherwise a Problem."""
    of = (t.invite.c.project == project, t.invite.c.hash == digest(code))
    row = query(sa.select(t.invite).where(*of)).first()
    if row is None:
        raise Problem(404, "this invitation is unknown; ask the lead for another")
    if row.uses < 1 or row.expires_at <= now:
        raise Problem(403, "this invitation is used up or expired; ask the lead for another")
    return row


def join(batch: WriteBatch, code: str, name: str) -> tuple[int, str]:
    """Use an invitation: return the code of the new worker and their token."""
    from .commands.manage import add_worker

    row = invitation(batch.query, batch.project, code, batch.now)
    worker = add_worker(batch, name.strip(), "human")
    batch.execute(sa.update(t.invite).where(t.invite.c.hash == row.hash).values(uses=row.uses - 1))
    return worker, issue(batch, "annotate", worker, "invitation")[1]
