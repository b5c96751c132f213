"""Access of the pages to the API, in this process and with the caller's token.

Pages therefore have no other rights than their caller, and authorisation is decided in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import Request
from httpx import ASGITransport, AsyncClient, InvalidURL

from ..api.who import COOKIE


class ApiRefusal(Exception):
    """The API refused a request; `title` and `detail` are shown on the page."""

    # The type of the problem, for the scripts of the pages.
    kind = "about:blank"

    def __init__(self, status: int, title: str, detail: str = "", retry_after: str = "") -> None:
        super().__init__(title)
        self.status, self.title, self.detail, self.retry_after = status, title, detail, retry_after


class NotOurForm(ApiRefusal):
    """A form from another site, or from an earlier login."""

    kind = "/problems/form"


@dataclass(frozen=True)
class Api:
    """The API with the rights of the caller of a request."""

    request: Request
    token: str

    @classmethod
    def of(cls, request: Request) -> Api:
        """With the caller's cookie, if there is one."""
        return cls(request, request.cookies.get(COOKIE, ""))

    async def get(self, path: str, **params: Any) -> Any:
        """The response to GET."""
        return (await self._ask("GET", path, params=params))[1]

    async def post(self, path: str, body: Any, key: str = "") -> Any:
        """The response to POST; `key` is the idempotency key."""
        return (await self._ask("POST", path, json=body, key=key))[1]

    async def patch(self, path: str, body: Any) -> Any:
        """The response to PATCH."""
        return (await self._ask("PATCH", path, json=body))[1]

    async def _ask(self, method: str, path: str, key: str = "", **options: Any) -> tuple[int, Any]:
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
                request = http.build_request(method, base + path, headers=headers, **options)
            except (InvalidURL, ValueError) as error:  # a text that a header, URL or JSON document cannot hold
                raise ApiRefusal(
                    400, "The request cannot be read", "It holds a character that cannot be used."
                ) from error
            response = await http.send(request)
        body = response.json() if "json" in response.headers.get("content-type", "") else {}
        if response.status_code >= 400:
            problem = body if isinstance(body, dict) else {}
            title, detail = (
                str(problem.get("title") or "The server could not do that"),
                str(problem.get("detail") or ""),
            )
            raise ApiRefusal(response.status_code, title, detail, response.headers.get("retry-after", ""))
        return response.status_code, body
