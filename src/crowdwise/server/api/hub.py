"""Hub: streams stored events to watchers as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from ..batch import WriteBatch
from ..live.status import status
from ..project import Project

# Unread lines after which a watcher is dropped; seconds between two keep-alive lines, and between two states.
UNREAD, ALIVE, STATES = 1_000, 15.0, 1.0
SHOWN = {"label": "label", "undo": "label", "skip": "skip", "gold": "gold", "check": "check", "pause": "worker",
         "resume": "worker", "worker": "worker", "stop": "stop", "tasks": "tasks", "config": "config",
         "rebase": "settled", "review": "review", "return": "review", "comment": "review",
         "exclude": "tasks", "more": "tasks"}  # fmt: skip

Allowed = Callable[[], Awaitable[bool]]


@dataclass(eq=False)
class Watcher:
    """A stream: its queue of lines (None: the end), and its state."""

    loop: asyncio.AbstractEventLoop
    queue: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)
    full: bool = False  # it was too slow and gets no more lines
    # Set by the write queue's thread before a revocation is acknowledged, and checked before every line is sent, so
    # that waiting lines do not reach a client whose token was revoked meanwhile.
    tokens_changed: bool = True
    news: bool = True  # whether something happened since the last state
    shown_at: float = 0.0  # when the last state was shown


class Hub:
    """The hub of a server; the write queue's thread publishes to watchers in the event loop."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._watchers: set[Watcher] = set()
        project.queue.after.append(self._publish)

    def _publish(self, batch: WriteBatch) -> None:
        """Send the events of a batch to all watchers; called in the write queue's thread."""
        watchers = list(self._watchers)
        if not watchers or not batch.new:
            return
        if any(e.kind == "auth" for e in batch.new):
            for watcher in watchers:
                watcher.tokens_changed = True
        lines = [_line(SHOWN[e.kind], e.id, _described(batch, e)) for e in batch.new if e.kind in SHOWN]
        for watcher in watchers:
            if not watcher.loop.is_closed():
                # An empty line only wakes the watcher to check its token.
                watcher.loop.call_soon_threadsafe(self._put, watcher, lines or [""])

    def _put(self, watcher: Watcher, lines: list[str]) -> None:
        if watcher.full:
            return
        if watcher.queue.qsize() > UNREAD:  # the client will reconnect and get the state
            watcher.full = True
            watcher.queue.put_nowait(None)
            return
        for line in lines:
            watcher.queue.put_nowait(line)

    async def watch(self, allowed: Allowed | None = None) -> AsyncIterator[str]:
        """Lines for one watcher: the state, then events, and the state again after events.

        When tokens have changed, `allowed` is called before the next line; if the watcher may not read any more, the
        stream ends and its waiting lines are dropped.
        """
        watcher = Watcher(asyncio.get_running_loop())
        self._watchers.add(watcher)
        try:
            while (line := await self._next(watcher)) is not None:
                while watcher.tokens_changed:  # repeated if tokens change during the call
                    watcher.tokens_changed = False
                    if allowed is not None and not await allowed():
                        return
                if line:
                    yield line
        finally:
            self._watchers.discard(watcher)

    async def _next(self, watcher: Watcher) -> str | None:
        """The next line for a watcher; empty if there is none, None at the end."""
        loop = watcher.loop
        if watcher.news and loop.time() - watcher.shown_at >= STATES:
            watcher.shown_at, watcher.news = loop.time(), False
            state = await self.project.queue.ask(lambda batch: status(batch.live, batch.now), write=False)
            return _line("status", state["event"], state)
        wait = max(STATES - (loop.time() - watcher.shown_at), 0.01) if watcher.news else ALIVE
        try:
            line = await asyncio.wait_for(watcher.queue.get(), wait)
        except TimeoutError:
            return "" if watcher.news else ": alive\n\n"
        watcher.news = watcher.news or bool(line)
        return line


def _described(batch: WriteBatch, event: Any) -> dict[str, Any]:
    crowd = batch.live.crowd
    out: dict[str, Any] = {"event": event.id, "kind": event.kind, "at": event.at}
    if event.task is not None:
        out["task"] = crowd.tasks[event.task]
    if event.worker is not None:
        out["worker"] = crowd.workers[event.worker].name
    return out | {k: v for k, v in event.payload.items() if k in ("answer", "status", "stopped", "reason", "by")}


def _line(kind: str, number: int, value: Any) -> str:
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(value, ensure_ascii=True, allow_nan=False)}\n\n"
