"""Requests to one server under one token, tried again where that is safe; refusals become ServerProblem."""

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
    """The server and the project's id in an address: of the server (its project `main`), of the API, or of a page.

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
    """`send` gives the status and the JSON of an answer; safe for several threads."""

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
        """The answer, if it is none of a refusal. Reading is safe to repeat, and so is what has a key."""
        headers = {"Idempotency-Key": key} if key else {}
        sure = method == "GET" or key is not None if safe is None else safe

        def once() -> httpx.Response:
            return self.http.request(method, path, json=json, params=params, headers=headers)

        answer, _ = self.retry.send(once, self.server, safe=sure)
        return refused_or(answer)

    def json(self, *args: Any, **kwargs: Any) -> Any:
        """The same, its JSON only."""
        return body_of(self.send(*args, **kwargs), self.server)

    @contextmanager
    def stream(self, path: str, **headers: str) -> Iterator[httpx.Response]:
        """An answer that comes in pieces; tried once."""
        httpx = http()
        try:
            with self.http.stream("GET", path, headers=headers, timeout=httpx.Timeout(10.0, read=None)) as answer:
                if answer.status_code >= 400:
                    answer.read()
                yield refused_or(answer)
        except httpx.TransportError as error:
            raise Unreachable(f"{self.server} ended the stream ({error})") from None


def refused_or(answer: httpx.Response) -> httpx.Response:
    """The answer, or what it refuses as an error."""
    if answer.status_code >= 300:
        raise problem(answer.status_code, answer.content, answer.reason_phrase)
    return answer


def body_of(answer: httpx.Response, server: str) -> Any:
    """The JSON of an answer."""
    try:
        return answer.json()
    except ValueError:
        raise Unreachable(f"{server} answers with something that is no JSON; is it a crowdwise server?") from None


def fresh_key() -> str:
    """An idempotency key that nobody else has."""
    return secrets.token_urlsafe(18)
