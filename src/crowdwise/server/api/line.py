"""One connection of a browser or a program: plain requests take the quick lane, all others the way of the framework.

A request of the lane needs no task of the event loop: it is read where its bytes arrive, and its answer is written when
the desk calls back. A client that sends more before it has its answer waits, so that answers keep their order.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..problems import Problem
from .lane import Answer, Lane, More, Next

CLOSE = b"connection: close\r\n"


class Line(HttpToolsProtocol):
    """The server's own protocol with the lane before it; what the desk is to answer is told to the line itself."""

    def __init__(self, lane: Lane, **given: Any) -> None:
        super().__init__(**given)
        self.lane = lane
        self._command: Next | Answer | None = None
        self._usual = 0  # requests that the framework has and has not answered
        self._begun, self._total = bytearray(), 0  # a request in the lane whose body is still to come
        self._early = bytearray()  # what came before the answer to the request in the lane
        self._used, self._last = 0.0, False

    # ---------------------------------------------------------------- requests
    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._command is not None:
            self._early += data
            self.flow.pause_reading()
            return
        if self._begun:
            self._begun += data
            if len(self._begun) < self._total:
                return
            data, self._begun = bytes(self._begun), bytearray()
        command = None if self._usual or self.flow.write_paused else self.lane.read(data)
        if command is None:
            super().data_received(data)
            return
        self._used = self.loop.time()
        if isinstance(command, More):
            self._begun, self._total = bytearray(data), command.total
            return
        try:
            self.lane.rates.take(command.who.token)
        except Problem as problem:
            self._answer(self.lane.refused(problem, self._date()))
            return
        self._command = command
        self.lane.project.desk.send(command, self)

    def on_message_begin(self) -> None:
        """The framework has a request."""
        self._usual += 1
        super().on_message_begin()

    def on_response_complete(self) -> None:
        """The framework has answered."""
        self._usual -= 1
        super().on_response_complete()

    # ---------------------------------------------------------------- what the desk says
    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Where answers are taken."""
        return self.loop

    def done(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.transport.is_closing()

    def set_result(self, found: Any) -> None:
        """The command in the lane was done."""
        assert self._command is not None
        try:
            told = self.lane.told(self._command, found, self._date())
        except Exception as error:  # it is stored; that it cannot be said must not hold up the others' answers
            self.set_exception(error)
            return
        self._command = None
        self._answer(told)

    def set_exception(self, error: BaseException) -> None:
        """It was refused, or something is broken."""
        self._command = None
        if not isinstance(error, Problem):
            logging.getLogger("uvicorn.error").error("a fault in the quick lane", exc_info=error)
            error = Problem(500, "a fault of the server; send it again, an answer under its old key")
        self._answer(self.lane.refused(error, self._date()))

    def _date(self) -> bytes:
        """The lines that stand in the head of every answer of this server."""
        lines = b"".join(b"%b: %b\r\n" % pair for pair in self.server_state.default_headers)
        return lines + CLOSE if self._last else lines

    def _answer(self, answer: bytes) -> None:
        self.transport.write(answer)
        self.server_state.total_requests += 1
        self._used = self.loop.time()
        if self._last:
            self.transport.close()
            return
        if self.timeout_keep_alive_task is None:
            self._look_again(self.timeout_keep_alive)
        if self._early:
            early, self._early = bytes(self._early), bytearray()
            self.flow.resume_reading()
            self.data_received(early)

    # ---------------------------------------------------------------- the end of it
    def timeout_keep_alive_handler(self) -> None:
        """Nothing came by the way of the framework for a while; the lane may have been used."""
        left = self._used + self.timeout_keep_alive - self.loop.time()
        if self._command is not None or left > 0:
            self._look_again(max(left, 1.0))
        else:
            super().timeout_keep_alive_handler()

    def _look_again(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def shutdown(self) -> None:
        """The server ends: an answer under way is the last."""
        if self._command is None:
            super().shutdown()
        else:
            self._last = True
