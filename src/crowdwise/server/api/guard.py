"""ASGI layer around every request: limits of bodies, security headers, counts for /metrics."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ..problems import Problem
from ..serialization import dumps

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
PAIRS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """ASGI application that wraps another one; responses are counted by status in `app.state.answered`."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most = BULK if BULKY.match(scope["path"]) else BODY
        counts: dict[int, int] = scope["app"].state.answered if "app" in scope else {}
        body = _Body(receive, most)

        async def out(message: Message) -> None:
            if body.over:  # the response to a truncated body is replaced
                if message["type"] == "http.response.start":
                    await refuse(shown, _too_long(most))
                return
            await shown(message)

        async def shown(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(pair for pair in PAIRS if pair[0] not in there)]
                counts[message["status"]] = counts.get(message["status"], 0) + 1
            await send(message)

        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        if length.isdigit() and int(length) > most:
            await refuse(shown, _too_long(most))
            return
        await self.app(scope, body.receive, out)


def _too_long(most: int) -> Problem:
    return Problem(413, f"the body is longer than {most // 1024} kB; send it in parts")


class _Body:
    """Counts the bytes of a body and truncates it at the limit."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._left, self.over = receive, most, False

    async def receive(self) -> Message:
        """The next part."""
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self.over = True
            return {"type": "http.request", "body": b"", "more_body": False}
        return message


async def refuse(send: Send, problem: Problem) -> None:
    """Send a problem without the application."""
    body = dumps(problem.to_dict()).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
