"""Errors of a server (problem+json) as one line, and failed connections."""

from __future__ import annotations

import json
from typing import Any

from ..core.errors import CrowdwiseError

# Maximum length of text from a server in a message.
LONGEST = 300


class ServerProblem(CrowdwiseError):
    """The server refused a request; `more` holds the further members of its problem."""

    def __init__(self, status: int, title: str, detail: str = "", more: dict[str, Any] | None = None) -> None:
        self.status, self.title, self.detail, self.more = status, title, detail, more or {}
        message = f"{title}: {detail}" if detail and detail != title else title
        super().__init__(f"the server says {status}, {message}")


class Unreachable(CrowdwiseError):
    """The server did not answer in time, after all attempts."""


def problem(status: int, body: bytes, reason: str = "") -> ServerProblem:
    """The problem in a body, or its beginning as the detail."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        fields = None
    if isinstance(fields, dict):
        title, detail = (_line(fields.get(name)) for name in ("title", "detail"))
        more = {k: v for k, v in fields.items() if k not in ("type", "title", "detail", "status")}
        return ServerProblem(status, title or reason or "refused", detail, more)
    return ServerProblem(status, reason or "refused", _line(body.decode("utf-8", "replace")))


def _line(value: Any) -> str:
    """A value as one short line."""
    if value is None:
        return ""
    text = " ".join((value if isinstance(value, str) else json.dumps(value)).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
