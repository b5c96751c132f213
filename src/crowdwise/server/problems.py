"""Errors of the server as problem details (RFC 9457)."""

from __future__ import annotations

from typing import Any

TITLES = {
    400: "The request cannot be read",
    401: "A token is needed",
    403: "Not allowed",
    404: "Not found",
    405: "This address does not know the method",
    408: "The request took too long",
    409: "It does not fit what is there",
    411: "The length of the body is needed",
    413: "The body is too long",
    415: "The body must be JSON",
    422: "The request makes no sense",
    429: "Too many requests",
    431: "The head of the request is too long",
    500: "A fault of the server",
    503: "The server cannot store anything at present",
}


class Problem(Exception):
    """An error; `more` holds further members of the response (errors, retry_after)."""

    def __init__(self, status: int, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.more = status, detail, more

    def to_dict(self) -> dict[str, Any]:
        """The members of the JSON object."""
        title = TITLES.get(self.status, "Refused")
        return {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail} | self.more
