"""Refitter: fits all answers in the background when due, and enters the result into the log."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from ..core.errors import CrowdwiseError
from .batch import WriteBatch
from .fitting import Fitter
from .live.baseline import KEPT, Arrays, pack, with_flags_of
from .live.fits import FitInput, rows_of
from .problems import Problem
from .process import give_back
from .store import tables as t

if TYPE_CHECKING:
    from .project import Project

# Seconds between two checks whether a fit is due.
EVERY = 0.5
# After a fit, no other one starts for this multiple of its duration, so that requests have priority. Flags, which
# change slowly and take most of the time, pause longer; fits in between keep the last flags.
REST, REST_OF_FLAGS = 9.0, 30.0
# Upper limit in seconds of the duration that is used for the pause.
LONGEST_REST = 300.0
# Events between two snapshots: the most that a start has to replay.
SNAPSHOT = 50_000


class Refitter:
    """A thread of its own, for which no answer waits. With `start=False`, fits run only when `once` is called."""

    def __init__(self, project: Project, *, start: bool = True) -> None:
        self.project = project
        self.fits, self.failed, self._fitter = 0, "", Fitter()
        self._rests = (REST, REST_OF_FLAGS) if start else (0.0, 0.0)
        self._rested = self._flags_rested = self._plain = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="refitter", daemon=True)
        if start:
            self._thread.start()

    def close(self) -> None:
        """Stop, and terminate a running fit."""
        self._over.set()
        self._fitter.stop()
        if self._thread.is_alive():
            self._thread.join(timeout=1)

    def _run(self) -> None:
        while not self._over.wait(EVERY):
            try:
                fitted = self.once()
                if fitted or self.project.queue.live.last - self.project.snapshot_at >= SNAPSHOT:
                    self.project.snapshot()
            except Problem:  # the database cannot store at present
                continue
            except Exception as error:
                self.failed = " ".join(str(error).split())[:300]

    def once(self, *, now: bool = False) -> bool:
        """Fit if it is due (with `now`, in any case); return whether the fit was entered."""
        queue = self.project.queue
        if not now and time.monotonic() < self._rested:
            return False
        if not (now or queue.do(lambda batch: batch.live.refit_due(batch.now), write=False)):
            return False
        began = queue.do(_begin)
        if began is None:
            return False
        event, rows = began
        flags = now or time.monotonic() >= self._flags_rested
        begun = time.monotonic()
        try:
            arrays = self._fitter.fit(rows, flags=flags)
        except CrowdwiseError as error:
            self.failed = str(error)
            return False
        finally:
            give_back()
            self._rest(min(time.monotonic() - begun, LONGEST_REST), flags)
        if not flags:
            arrays = with_flags_of(queue.live.baseline, arrays)
        taken = bool(queue.do(lambda batch: _take_over(batch, event, arrays)))
        self.fits += taken
        self.failed = "" if taken else self.failed
        return taken

    def _rest(self, took: float, flags: bool) -> None:
        """Set the pauses. The time spent on flags does not delay fits without them."""
        now = time.monotonic()
        if flags:
            self._flags_rested = now + self._rests[1] * took
        else:
            self._plain = took
        self._rested = now + self._rests[0] * (min(self._plain, took) if flags and self._plain else took)


def _begin(batch: WriteBatch) -> tuple[int, FitInput] | None:
    if not batch.live.n_answers:
        return None
    event, _ = batch.enter("refit")
    return event.id, rows_of(batch.live, batch.answers)


def _take_over(batch: WriteBatch, of: int, arrays: Arrays) -> bool:
    """Enter the fit, unless a later one has begun."""
    live = batch.live
    if live.refit != of or live.based >= of:
        return False
    number = live.last + 1
    batch.execute(sa.insert(t.baseline), {"project": batch.project, "event": number, "arrays": pack(arrays)})
    event, changed = batch.enter("rebase", payload={"of": of})
    event.payload["changed"] = [[task, reason] for task, reason in changed]
    mine = (
        sa.select(t.baseline.c.event).where(t.baseline.c.project == batch.project).order_by(t.baseline.c.event.desc())
    )
    kept: list[Any] = [row.event for row in batch.query(mine.limit(KEPT))]
    batch.execute(sa.delete(t.baseline).where(t.baseline.c.project == batch.project, t.baseline.c.event < min(kept)))
    return True
