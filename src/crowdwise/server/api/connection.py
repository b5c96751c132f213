"""A connection with limits: the size of a request's head, the time it may take to arrive, and how many there are.

Requests are parsed by httptools and handled by uvicorn's own protocol; this subclass counts bytes and keeps deadlines.
uvicorn's `h11_max_incomplete_event_size` has no effect on httptools, and uvicorn has no deadline for a request.
The versions of both libraries are bounded in pyproject.toml, and a test fails where the methods used here change.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from ..problems import Problem
from ..serialization import dumps
from .ending import BODY, GRACE, HEAD, IDLE, Ending

# Bytes that are parsed at once: a head is refused at most two such slices behind its limit.
SLICE = 4_096
# Requests that one connection may send ahead of their responses.
PIPELINED = 100
# The value of a Host header (RFC 9110 §7.2): a name or an IPv4 address, or an IPv6 address in brackets; a port.
HOST = re.compile(rb"(?:[\w.~!$&'()*+,;=%-]*|\[([0-9A-Fa-f:.]+)\])(?::(\d{0,5}))?", re.ASCII)


@dataclass(frozen=True)
class Limits:
    """`head`: bytes of the request line and all headers. Seconds from the first byte of a request to the end of its
    head, and from there to the end of its body; the latter also limits a client that does not read its response.
    `connections`: how many are open at once."""

    head: int = 64 * 1024
    head_seconds: float = 10.0
    body_seconds: float = 60.0
    connections: int = 800


class Connection(Ending):
    """uvicorn's protocol with limits."""

    def __init__(self, limits: Limits, **given: Any) -> None:
        super().__init__(limits.body_seconds, **given)
        self.limits = limits
        self._requests = 0
        self._bytes = 0  # of the head, or of what is not content within a body (trailers), in whole slices
        self._content = False  # whether the last slice had a part of the body
        self._running: RequestResponseCycle | None = None  # the request that the application handles
        self._reason = ""  # why a head that the parser accepts is refused

    # ---------------------------------------------------------------- the connection
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection. Above the limit, the one that has waited longest for its client is closed."""
        super().connection_made(transport)
        # In a loop: a refused connection counts until it is gone, and its place must not be given to one that stays.
        while len(self.connections) > self.limits.connections:
            if not self._make_room():
                problem = Problem(503, "all connections are in use; try again", retry_after=1)
                self.transport.write(self._response(problem))
                self.finish()
                return
        self._arm(HEAD, self.limits.head_seconds)

    def _make_room(self) -> bool:
        waiting = [c for c in self.connections if isinstance(c, Connection) and c is not self and c.waits]
        if not waiting:
            return False
        longest = min(waiting, key=lambda connection: (connection.rank, connection.since))
        longest._stop()
        longest.transport.abort()
        self.connections.discard(longest)  # it counts no more, although its end is reported later
        return True

    @property
    def waits(self) -> bool:
        """Whether the server waits for the client: for a request, for the rest of one, or for it to read responses.

        A client that does not read counts as waiting although its requests are not answered yet. Otherwise a few
        clients without a token could occupy all connections by not reading.
        """
        if self._unread is not None:
            return True
        if self.transport.is_closing():  # the last bytes need a moment
            return self._closing is not None and self.loop.time() - self.since > GRACE
        return (
            self._closing is not None
            or self.phase != IDLE
            or self.cycle is None
            or (self.cycle.response_complete and not self.pipeline)
        )

    @property
    def rank(self) -> int:
        """The order in which waiting connections are closed to make room: 0 for clients that do not read or have their
        last response, 1 for unfinished requests, 2 for connections that are idle between two requests."""
        if self._unread is not None or self._closing is not None:
            return 0
        return 2 if self.phase == IDLE and self.cycle is not None else 1

    def data_received(self, data: bytes) -> None:
        """Parse bytes of requests; what is too long is refused before more of it is kept."""
        if self._ended:
            self._discard(len(data))
        for start in range(0, len(data), SLICE):
            if self._ended or self.transport.is_closing():
                return
            part = data[start : start + SLICE]
            number, self._content = self._requests, False
            super().data_received(part)
            same = number == self._requests and self.phase != IDLE and not self._content
            self._bytes = self._bytes + len(part) if same else 0
            if self._bytes > self.limits.head:
                self._refuse(Problem(431, f"the head of a request may have {self.limits.head // 1024} kB"))
            elif len(self.pipeline) > PIPELINED:
                self._stop()
                self._close()
        self._set_deadline()

    # ---------------------------------------------------------------- what the parser reports
    def on_message_begin(self) -> None:
        """Begin a request."""
        self.phase, self.since = HEAD, self.loop.time()
        self._requests += 1
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. Trailers behind a chunked body are dropped: they must not change the headers of a request."""
        if self.phase == HEAD:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Check the complete head and hand it to the application."""
        hosts = [value for name, value in self.headers if name == b"host"]
        if len(hosts) > 1 or not all(map(is_host, hosts)) or (not hosts and self.parser.get_http_version() == "1.1"):
            # Two readers of such a request may see two different hosts (RFC 9112 §3.2).
            self._reason = "the request must have one valid Host header"
            raise ValueError(self._reason)  # the parser stops and calls `send_400_response`
        super().on_headers_complete()
        self.phase, self.since = BODY, self.loop.time()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._content = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self.phase, self.since = IDLE, self.loop.time()
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(Problem(400, self._reason or msg.rstrip(".")))

    def _unsupported_upgrade_warning(self) -> None:
        """Answer a request for another protocol as HTTP. It is the last one of the connection, since the parser does
        not say whether the bytes behind it are another request."""
        if self.cycle is not None:
            self._make_last(self.cycle)
        self._stop()

    # ---------------------------------------------------------------- deadlines
    def _set_deadline(self) -> None:
        if self._ended or self.transport.is_closing():
            return
        if self.phase == BODY:
            self._arm(BODY, self.limits.body_seconds)
        elif self.phase == HEAD or (self.waits and self.timeout_keep_alive_task is None):
            self._arm(HEAD, self.limits.head_seconds)
        else:
            self._disarm()

    def _arm(self, phase: str, seconds: float) -> None:
        if self._deadline_of != (phase, self._requests):
            self._disarm()
            self._deadline_of = (phase, self._requests)
            self._deadline = self.loop.call_later(seconds, self._late, phase, seconds)

    def _late(self, phase: str, seconds: float) -> None:
        self._deadline = self._deadline_of = None
        if self.transport.is_closing():
            return
        if self.flow.read_paused:  # the server itself has stopped reading
            self._arm(phase, seconds)
        elif self.phase == IDLE:
            self._stop()
            self._close()
        else:
            self._refuse(Problem(408, f"the {phase} of a request must arrive within {seconds:g} seconds"))

    # ---------------------------------------------------------------- refusals
    def _refuse(self, problem: Problem) -> None:
        """Answer what cannot be accepted and close. Every request gets one response: those before the refused one are
        answered first, and a request that has been answered already is not answered again."""
        self._stop()
        if self.cycle is None:
            self.transport.write(self._response(problem))
        elif self.phase != BODY:  # the refused request has no cycle of its own yet
            if not self.cycle.response_complete:
                self._make_last(self.cycle)
                return
            self.transport.write(self._response(problem))
        elif self.pipeline:  # it waits behind others: they are answered, the last of them closes the connection
            self.pipeline.popleft()
            last = self.pipeline[0][0] if self.pipeline else self._running
            if last is not None and not last.response_complete:
                self._make_last(last)
                return
        elif not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if not self.cycle.response_started:
                self.transport.write(self._response(problem))
        self.finish()

    def _make_last(self, cycle: RequestResponseCycle) -> None:
        """Let the connection end with the response of this request."""
        self.phase = IDLE  # no client is waited for until then
        cycle.keep_alive = False

    def _response(self, problem: Problem) -> bytes:
        body = dumps(problem.to_dict()).encode()
        headers = [*self.server_state.default_headers, (b"content-type", b"application/problem+json"),
                   (b"content-length", b"%d" % len(body)), (b"connection", b"close")]  # fmt: skip
        if "retry_after" in problem.more:
            headers.append((b"retry-after", b"%d" % problem.more["retry_after"]))
        return STATUS_LINE[problem.status] + b"".join(b"%b: %b\r\n" % pair for pair in headers) + b"\r\n" + body


def is_host(value: bytes) -> bool:
    """Whether this can be the value of a Host header."""
    parts = HOST.fullmatch(value)
    if parts is None or int(parts[2] or 0) > 65_535:
        return False
    if parts[1] is not None:
        try:
            ipaddress.IPv6Address(parts[1].decode())
        except ValueError:
            return False
    return True
