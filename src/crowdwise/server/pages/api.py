"""The pages' only way to the data: the API itself, called in this process with what the caller has shown.

A page can therefore do nothing that the API would refuse its caller, and there is one place that decides who may what.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import Request
from httpx import ASGITransport, AsyncClient, InvalidURL

from ..api.who import COOKIE


class Refused(Exception):
    """The API's answer was no; `title` and `detail` are sentences for people."""

    # What our scripts know a problem by, where they must know it.
    kind = "about:blank"

    def __init__(self, status: int, title: str, detail: str = "", retry_after: str = "") -> None:
        super().__init__(title)
        self.status, self.title, self.detail, self.retry_after = status, title, detail, retry_after


class NotOurForm(Refused):
    """A form from another site, or from before somebody else logged in."""

    kind = "/problems/form"


@dataclass(frozen=True)
class Api:
    """The API as the one who made this request may use it."""

    request: Request
    token: str

    @classmethod
    def of(cls, request: Request) -> Api:
        """With the caller's cookie, if there is one."""
        return cls(request, request.cookies.get(COOKIE, ""))

    async def get(self, path: str, **params: Any) -> Any:
        """What the API answers to GET."""
        return (await self._ask("GET", path, params=params))[1]

    async def post(self, path: str, body: Any, key: str = "") -> Any:
        """What the API answers to POST; `key` is the idempotency key."""
        return (await self._ask("POST", path, json=body, key=key))[1]

    async def patch(self, path: str, body: Any) -> Any:
        """What the API answers to PATCH."""
        return (await self._ask("PATCH", path, json=body))[1]

    async def _ask(self, method: str, path: str, key: str = "", **what: Any) -> tuple[int, Any]:
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if key:
            headers["Idempotency-Key"] = key
        caller = self.request.client
        where = (caller.host, caller.port) if caller else ("127.0.0.1", 0)
        transport = ASGITransport(app=self.request.app, client=where, raise_app_exceptions=False)
        async with AsyncClient(transport=transport) as http:
            try:
                base = str(self.request.base_url).rstrip("/")
                request = http.build_request(method, base + path, headers=headers, **what)
            except (InvalidURL, ValueError) as error:  # a text that no header, address or JSON document can hold
                raise Refused(400, "The request cannot be read", "It holds a character that cannot be used.") from error
            response = await http.send(request)
        body = response.json() if "json" in response.headers.get("content-type", "") else {}
        if response.status_code >= 400:
            problem = body if isinstance(body, dict) else {}
            title, detail = (
                str(problem.get("title") or "The server could not do that"),
                str(problem.get("detail") or ""),
            )
            raise Refused(response.status_code, title, detail, response.headers.get("retry-after", ""))
        return response.status_code, body
