"""Around every request: limits of bodies, headers that browsers obey, counts for /metrics."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ..problems import Problem
from ..words import dumps

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
BODY, BULK = 64 * 1024, 8 * 1024 * 1024
BULKY = re.compile(r"^/projects/[^/]+/(labels/bulk|tasks|gold/bulk)$")
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https: data:; media-src 'self' https:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
_PAIRS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class TooLong(Exception):
    """The body went over its limit while it came in."""


class Guard:
    """An ASGI layer; `counts[status class]` and `n` are for the metrics."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most = BULK if BULKY.match(scope["path"]) else BODY
        counts: dict[int, int] = scope["app"].state.answered if "app" in scope else {}
        began = False

        async def out(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                there = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(pair for pair in _PAIRS if pair[0] not in there)]
                counts[message["status"]] = counts.get(message["status"], 0) + 1
            await send(message)

        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        if length.isdigit() and int(length) > most:
            await refuse(out, _too_long(most))
            return
        try:
            await self.app(scope, _counted(receive, most), out)
        except TooLong:
            if began:
                raise
            await refuse(out, _too_long(most))


def _too_long(most: int) -> Problem:
    return Problem(413, f"the body is longer than {most // 1024} kB; send it in parts")


def _counted(receive: Receive, most: int) -> Receive:
    got = 0

    async def counted() -> Message:
        nonlocal got
        message = await receive()
        got += len(message.get("body", b""))
        if got > most:
            raise TooLong
        return message

    return counted


async def refuse(send: Send, problem: Problem) -> None:
    """Send a problem without the help of the application."""
    body = dumps(problem.to_dict()).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
