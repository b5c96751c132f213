"""How a connection ends: its last response reaches a client that is still sending, and nothing behind it is parsed.

Where a connection is closed with unread input, the system resets it, and the client may lose the response (RFC 9112
§9.6). A connection is therefore closed in one direction first; what the client still sends is read and discarded.
"""

from __future__ import annotations

import asyncio
import math
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# Seconds in which the last bytes of a closed connection are usually sent. For so long, and for so many bytes, what a
# client still sends is read after its last response; the rest of a body is read until the deadline of the body.
GRACE, DISCARDED = 1.0, 1 << 20
IDLE, HEAD, BODY = "idle", "head", "body"


class Ending(HttpToolsProtocol):
    """uvicorn's protocol, closed so that no response is lost. `body_seconds` limits the time for a body, and the time
    for which a client may leave responses unread."""

    def __init__(self, body_seconds: float, **given: Any) -> None:
        super().__init__(**given)
        self.body_seconds = body_seconds
        self.phase, self.since = IDLE, 0.0  # what of a request is being received, and since when
        self._ended = False  # nothing more is parsed
        self._deadline: asyncio.TimerHandle | None = None
        self._deadline_of: tuple[str, int] | None = None
        self._unread: asyncio.TimerHandle | None = None  # set while the client does not read its responses
        self._closing: asyncio.TimerHandle | None = None  # set when the connection ends but is not yet gone
        self._discarded, self._discardable = 0, float(DISCARDED)  # bytes read behind the last request; at most

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        super().connection_made(transport)
        self._cycle_transport: Any = CycleTransport(self)
        self.since = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the timers of a connection that is gone."""
        self._disarm()
        if self._closing is not None:
            self._closing.cancel()
        self.resume_writing()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def finish(self, seconds: float = GRACE, most: float = DISCARDED) -> None:
        """Close the connection after its last response, to a client that may still be sending. For so many seconds and
        bytes, what it sends is read without being parsed."""
        if self._closing is not None or self.transport.is_closing():
            return
        self._stop()
        self._discardable = most
        self.since = self.loop.time()
        self.flow.resume_reading()
        self.transport.write_eof()
        self._closing = self.loop.call_later(seconds, self._close)

    def finish_cycle(self) -> None:
        """Close the connection after a response that uvicorn has written, maybe before the body of its request has
        arrived. Many clients read no response before they have sent all of the body."""
        if self.phase == BODY:
            left = self.since + self.body_seconds - self.loop.time()
            self.finish(max(GRACE, left), math.inf)
        else:
            self.finish()

    def on_headers_complete(self) -> None:
        """Hand a request to the application."""
        super().on_headers_complete()
        self.cycle.transport = self._cycle_transport

    def on_response_complete(self) -> None:
        """Go on to the next request when a response is complete, unless it was the last one."""
        if self._closing is not None:
            return
        if self.phase == IDLE:
            self.since = self.loop.time()
        self._limit_closing()
        super().on_response_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that was idle between two requests for too long."""
        super().timeout_keep_alive_handler()
        self._limit_closing()

    def pause_writing(self) -> None:
        """Stop writing: the client does not read its responses."""
        super().pause_writing()
        if self._unread is None:
            self.since = self.loop.time()
            self._unread = self.loop.call_later(self.body_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on writing: the client reads again."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _close(self) -> None:
        """Close the connection when everything that was written has been sent."""
        self.transport.close()
        self._limit_closing()

    def _limit_closing(self) -> None:
        """End a closed connection after a while: a client that never reads the last bytes would keep it open."""
        if self.transport.is_closing():
            if self._closing is not None:
                self._closing.cancel()
            self.since = self.loop.time()
            self._closing = self.loop.call_later(self.body_seconds, self.transport.abort)

    def _stop(self) -> None:
        """Parse nothing more."""
        self._ended = True
        self._disarm()

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self._deadline_of = None

    def _discard(self, n: int) -> None:
        """Count bytes behind the last request. Where they are too many, read no more until its response is sent, and
        close after it."""
        self._discarded += n
        if self._discarded > self._discardable:
            if self._closing is None:
                self.flow.pause_reading()
            else:
                self._close()


class CycleTransport:
    """What uvicorn's cycle of a request and response calls of the transport; it closes as `finish_cycle` does."""

    def __init__(self, connection: Ending) -> None:
        self.close = connection.finish_cycle
        self.write = connection.transport.write
        self.is_closing = connection.transport.is_closing
