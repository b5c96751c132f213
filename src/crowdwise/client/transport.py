"""Requests to a server with a token, with retries of idempotent ones; refusals are raised as ServerProblem."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..core.errors import ParameterError
from .problems import Unreachable, problem
from .retry import Retry, http

if TYPE_CHECKING:
    import httpx


def place_of(url: str) -> tuple[str, str]:
    """The server and the project in a URL: of the server (its project `main`), of the API, or of a page.

    >>> place_of("http://127.0.0.1:8000/p/birds/annotate")
    ('http://127.0.0.1:8000', 'birds')
    """
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError(f"{url!r} is no address of a server; write it like http://127.0.0.1:8000")
    if parts.username or parts.password:
        raise ParameterError("an address with a password in it ends up in logs; give the token as --token or token=")
    before, project = parts.path.rstrip("/"), "main"
    for mark in ("/projects/", "/p/"):
        if mark in before + "/":
            before, _, rest = (before + "/").partition(mark)
            project = rest.split("/")[0] or "main"
            break
    return f"{parts.scheme}://{parts.netloc}{before}", project


class Transport:
    """A connection to a server; thread-safe."""

    def __init__(self, server: str, token: str | None, *, retry: Retry, timeout: float, transport: Any = None) -> None:
        headers = {"Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.server, self.retry = server, retry
        self.http: httpx.Client = http().Client(
            base_url=server, headers=headers, timeout=timeout, transport=transport, follow_redirects=False
        )

    def send(
        self,
        method: str,
        path: str,
        json: Any = None,
        *,
        key: str | None = None,
        params: dict[str, Any] | None = None,
        safe: bool | None = None,
    ) -> httpx.Response:
        """Send a request. GET and requests with a key may be sent again, unless `safe` is given."""
        headers = {"Idempotency-Key": key} if key else {}
        is_safe = method == "GET" or key is not None if safe is None else safe

        def once() -> httpx.Response:
            return self.http.request(method, path, json=json, params=params, headers=headers)

        response, _ = self.retry.send(once, self.server, safe=is_safe)
        return raise_refusal(response)

    def json(self, *args: Any, **kwargs: Any) -> Any:
        """Send a request and return the JSON of the response."""
        return body_of(self.send(*args, **kwargs), self.server)

    @contextmanager
    def stream(self, path: str, **headers: str) -> Iterator[httpx.Response]:
        """A streamed response, without retries."""
        httpx = http()
        try:
            with self.http.stream("GET", path, headers=headers, timeout=httpx.Timeout(10.0, read=None)) as response:
                if response.status_code >= 400:
                    response.read()
                yield raise_refusal(response)
        except httpx.TransportError as error:
            raise Unreachable(f"{self.server} ended the stream ({error})") from None


def raise_refusal(response: httpx.Response) -> httpx.Response:
    """The response; a refusal is raised as an error."""
    if response.status_code >= 300:
        raise problem(response.status_code, response.content, response.reason_phrase)
    return response


def body_of(response: httpx.Response, server: str) -> Any:
    """The JSON of a response."""
    try:
        return response.json()
    except ValueError:
        raise Unreachable(f"{server} answers with something that is no JSON; is it a crowdwise server?") from None


def fresh_key() -> str:
    """A random idempotency key."""
    return secrets.token_urlsafe(18)
