"""Hub: tells everybody who watches what was stored, as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from ..live.status import status
from ..project import Project
from ..shift import Shift

# What a watcher may leave unread before it is let go, seconds between signs of life, and between two states.
UNREAD, ALIVE, STATES = 1_000, 15.0, 1.0
SHOWN = {"label": "label", "undo": "label", "skip": "skip", "gold": "gold", "pause": "worker", "resume": "worker",
         "worker": "worker", "stop": "stop", "tasks": "tasks", "config": "config", "rebase": "settled"}  # fmt: skip


class Hub:
    """One for a server; the desk's thread tells it, the loop's watchers listen."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._watchers: dict[asyncio.Queue[str | None], asyncio.AbstractEventLoop] = {}
        project.desk.after.append(self._heard)

    def _heard(self, shift: Shift) -> None:
        """In the desk's thread."""
        if not self._watchers or not shift.new:
            return
        lines = [_line(SHOWN[e.kind], e.id, _told(shift, e)) for e in shift.new if e.kind in SHOWN]
        for queue, loop in list(self._watchers.items()):
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._put, queue, lines)

    def _put(self, queue: asyncio.Queue[str | None], lines: list[str]) -> None:
        if queue.qsize() > UNREAD:  # it will connect again and get the state
            self._watchers.pop(queue, None)
            queue.put_nowait(None)
            return
        for line in lines:
            queue.put_nowait(line)

    async def watch(self) -> AsyncIterator[str]:
        """Lines for one watcher: the state first, then what happens, and the state again when something did."""
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        self._watchers[queue] = loop
        said, news = 0.0, True
        try:
            while True:
                if news and loop.time() - said >= STATES:
                    said, news = loop.time(), False
                    shown = await self.project.desk.ask(lambda shift: status(shift.live, shift.now), write=False)
                    yield _line("status", shown["event"], shown)
                wait = max(STATES - (loop.time() - said), 0.01) if news else ALIVE
                try:
                    line = await asyncio.wait_for(queue.get(), wait)
                except TimeoutError:
                    if not news:
                        yield ": alive\n\n"
                    continue
                if line is None:
                    return
                news = True
                yield line
        finally:
            self._watchers.pop(queue, None)


def _told(shift: Shift, event: Any) -> dict[str, Any]:
    crowd = shift.live.crowd
    out: dict[str, Any] = {"event": event.id, "kind": event.kind, "at": event.at}
    if event.task is not None:
        out["task"] = crowd.tasks[event.task]
    if event.worker is not None:
        out["worker"] = crowd.workers[event.worker].name
    kept = {k: v for k, v in event.payload.items() if k in ("answer", "status", "stopped", "reason", "by")}
    return out | kept


def _line(kind: str, number: int, value: Any) -> str:
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(value, ensure_ascii=True, allow_nan=False)}\n\n"
