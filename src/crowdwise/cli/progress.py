"""Progress lines on stderr: of iterations, of counted jobs, and of fits over partitions."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..core.callback import Callback
from ..core.progress import noting, unwatched, watching

# Seconds between two lines of progress when stderr is not a terminal.
LOG_INTERVAL = 10.0


class ProgressLine:
    """A line on stderr that is rewritten on a terminal, and printed every LOG_INTERVAL seconds elsewhere."""

    def __init__(self, since: float = 0.0) -> None:
        self.last, self.shown = since, False

    def line(self, text: str) -> None:
        """Show a text, unless the last one was shown just before."""
        now, terminal = time.monotonic(), sys.stderr.isatty()
        if now - self.last < (0.2 if terminal else LOG_INTERVAL):
            return
        self.last, self.shown = now, self.shown or terminal
        sys.stderr.write(f"\r{text} \033[K" if terminal else text + "\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Clear the line."""
        if self.shown:
            sys.stderr.write("\r\033[K")


class PartitionProgress(ProgressLine):
    """Progress of planning and fitting partitions, with speed and remaining time."""

    def planning(self, done: int, total: int, activity: str) -> None:
        """Report files read or parts written."""
        self.line(f"{done} of {total}: {activity}")

    def fitting(self, rows: int) -> Callable[[int, float], None]:
        """Return a callback for passes over this many rows.

        The remaining time assumes that the gains shrink by a constant factor until they are a hundred-millionth of the
        objective.
        """
        times: list[float] = [time.monotonic()]
        values: list[float] = []

        def callback(iteration: int, objective: float) -> None:
            times.append(time.monotonic())
            values.append(objective)
            seconds_per_pass = (times[-1] - times[0]) / (len(times) - 1)
            left = passes_left(values)
            end = "" if left is None else f", about {format_duration(left * seconds_per_pass)} to go"
            self.line(
                f"pass {iteration}, objective {objective:,.2f}, "
                f"{rows / max(seconds_per_pass, 1e-9):,.0f} labels per second{end}"
            )

        return callback


def passes_left(values: list[float], tol: float = 1e-8) -> int | None:
    """Return how many passes remain if the gains keep shrinking as they did; None if that is unknown."""
    if len(values) < 4:
        return None
    previous_gain, gain = values[-2] - values[-3], values[-1] - values[-2]
    goal = tol * max(1.0, abs(values[-1]))
    if gain <= goal:
        return 0
    if not 0 < gain < previous_gain:
        return None
    return math.ceil(math.log(goal / gain) / math.log(gain / previous_gain))


def format_duration(seconds: float) -> str:
    """Format a duration in hours, minutes and seconds."""
    minutes, seconds_left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {seconds_left:02d} s" if minutes else f"{seconds_left} s"


@contextmanager
def partition_progress() -> Iterator[PartitionProgress]:
    """Yield progress that clears its line at the end."""
    progress = PartitionProgress()
    try:
        with unwatched():
            yield progress
    finally:
        progress.clear()


@contextmanager
def iteration_progress(job: str) -> Iterator[Callback | None]:
    """Show progress on the terminal, and yield a callback for fit(); None if nobody watches."""
    with watching(job) as watch:
        yield noting(watch, None)


@contextmanager
def count_progress(job: str) -> Iterator[Callable[[int, int, str], None]]:
    """Yield a callback (done, total, activity) that shows a line."""
    progress = ProgressLine(time.monotonic())
    try:
        with unwatched():
            yield lambda done, total, activity: progress.line(f"{job}: {done} of {total} done, at {activity}")
    finally:
        progress.clear()
