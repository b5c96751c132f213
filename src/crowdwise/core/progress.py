"""Progress of long calls: one line on a terminal or in a notebook, from Python and on the command line.

The line appears after two seconds and is rewritten twice a second by a thread, so that it also moves while a kernel
runs. Where nobody watches (a pipe, a log, a script in a batch) nothing is written.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .callback import Callback

# Seconds before the line appears, and between two changes of it.
PATIENCE, PERIOD = 2.0, 0.5
# Environment variable that switches progress off ("0"), or on where nobody seems to watch ("1").
VARIABLE = "CROWDWISE_PROGRESS"


def is_watched() -> bool:
    """Whether standard error is a terminal or a notebook."""
    setting = os.environ.get(VARIABLE, "")
    if setting in ("0", "1"):
        return setting == "1"
    return in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def in_notebook() -> bool:
    """Whether the code runs in a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


class Watch:
    """A line about a running call: its job, the time it has taken, and its last iteration.

    Args:
        job: What is being done.
        write: Writes text to where the line is shown.
    """

    def __init__(self, job: str, write: Callable[[str], object]) -> None:
        self.job, self.activity = job, ""
        self._write, self._started, self._shown = write, time.monotonic(), False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="crowdwise-progress", daemon=True)

    def start(self) -> None:
        """Start the thread that writes the line."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread and remove the line."""
        self._stop.set()
        self._thread.join()
        if self._shown:
            self._write("\r\033[K")

    def iteration(self, number: int, objective: float) -> None:
        """Note an iteration: the callback of a fit."""
        self.activity = f"iteration {number}, objective {objective:,.2f}"

    def text(self) -> str:
        """Return the line."""
        parts = [f"{self.job}: {time.monotonic() - self._started:.0f} s", self.activity]
        return ", ".join(part for part in parts if part)

    def _run(self) -> None:
        wait = PATIENCE
        while not self._stop.wait(wait):
            # The cursor returns to the start, so that a warning is written over the line and not after it.
            self._write(f"\r{self.text()}\033[K\r")
            self._shown, wait = True, PERIOD


# The watch that is shown; calls inside a watched call have no line of their own.
_current: Watch | None = None
_lock = threading.Lock()


@contextmanager
def watching(job: str) -> Iterator[Watch | None]:
    """Show progress of the enclosed work if somebody watches; yield None if not, or inside another watched call."""
    global _current
    with _lock:
        watch = Watch(job, _to_stderr) if _current is None and is_watched() else None
        _current = _current if watch is None else watch
    if watch is None:
        yield None
        return
    watch.start()
    try:
        yield watch
    finally:
        watch.close()
        _current = None


@contextmanager
def unwatched() -> Iterator[None]:
    """Show no line for the enclosed work, which shows its own."""
    global _current
    before, _current = _current, _current or Watch("", _to_stderr)
    try:
        yield
    finally:
        _current = before


def noting(watch: Watch | None, callback: Callback | None) -> Callback | None:
    """Return a callback that also tells the watch about each iteration."""
    watch = watch or _current
    if watch is None:
        return callback
    note = watch.iteration
    if callback is None:
        return note

    def both(iteration: int, objective: float) -> None:
        note(iteration, objective)
        callback(iteration, objective)

    return both


def _to_stderr(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
