"""Responses of a server as records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .problems import ServerProblem


@dataclass(frozen=True)
class Task:
    """A task that is assigned to this worker until `expires_at`."""

    id: str
    payload: dict[str, Any]
    lease: Any = None
    expires_at: Any = None

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Task:
        """From JSON."""
        payload = fields.get("payload")
        return cls(
            str(fields["id"]),
            payload if isinstance(payload, dict) else {"text": payload},
            fields.get("lease"),
            fields.get("expires_at"),
        )


@dataclass(frozen=True)
class Stop:
    """The reason why there is no task; with `final`, there will be none."""

    reason: str
    final: bool = False


@dataclass(frozen=True)
class Batch:
    """The response to `next`: tasks, or why there are none, and the progress."""

    tasks: tuple[Task, ...]
    stopped: Stop | None = None
    progress: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Batch:
        """From JSON."""
        stop = fields.get("stopped")
        stopped = None if not stop else Stop(str(stop.get("reason", "")), bool(stop.get("final")))
        return cls(tuple(Task.of(task) for task in fields.get("tasks", ())), stopped, fields.get("progress") or {})


@dataclass(frozen=True)
class Receipt:
    """The status of an answer: `counted`, `surplus` (the task had enough) or `replaced`; `stopped` is the reason if its
    task stops; `again`: the server had the answer already."""

    event: Any
    task: str
    status: str
    stopped: str | None = None
    again: bool = False
    next: Batch | None = None

    @classmethod
    def of(cls, fields: dict[str, Any], again: bool = False) -> Receipt:
        """From JSON."""
        more = Batch.of(fields["next"]) if fields.get("next") else None
        task, status = str(fields.get("task", "")), str(fields.get("status", ""))
        return cls(fields.get("event"), task, status, fields.get("stopped"), again, more)


@dataclass(frozen=True)
class Refused:
    """A refused answer of a bulk request, whose other answers are not affected."""

    task: str
    problem: ServerProblem
