"""How far a long fit has come, how fast it goes, and when it will be done: on stderr."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..terminal import SELDOM


class Going:
    """Lines of progress: how far, how fast, and when it will be done."""

    def __init__(self) -> None:
        self.last, self.shown = 0.0, False

    def line(self, text: str) -> None:
        """One line that changes on a terminal, one now and then elsewhere."""
        now, terminal = time.monotonic(), sys.stderr.isatty()
        if now - self.last < (0.2 if terminal else SELDOM):
            return
        self.last, self.shown = now, self.shown or terminal
        sys.stderr.write(f"\r{text} \033[K" if terminal else text + "\n")
        sys.stderr.flush()

    def planning(self, done: int, of: int, what: str) -> None:
        """Files read, parts written."""
        self.line(f"{done} of {of}: {what}")

    def fitting(self, rows: int) -> Callable[[int, float], None]:
        """Passes over so many rows; the end is expected where the gains, which shrink by about the same factor each
        time, would be a hundred-millionth of the objective."""
        times: list[float] = [time.monotonic()]
        values: list[float] = []

        def callback(iteration: int, objective: float) -> None:
            times.append(time.monotonic())
            values.append(objective)
            each = (times[-1] - times[0]) / (len(times) - 1)
            left = passes_left(values)
            end = "" if left is None else f", about {clock(left * each)} to go"
            self.line(
                f"pass {iteration}, objective {objective:,.2f}, {rows / max(each, 1e-9):,.0f} labels a second{end}"
            )

        return callback


def passes_left(values: list[float], tol: float = 1e-8) -> int | None:
    """How many passes are to come, if gains go on shrinking as they did; None where that cannot be said."""
    if len(values) < 4:
        return None
    one, two = values[-2] - values[-3], values[-1] - values[-2]
    goal = tol * max(1.0, abs(values[-1]))
    if two <= goal:
        return 0
    if not 0 < two < one:
        return None
    return math.ceil(math.log(goal / two) / math.log(two / one))


def clock(seconds: float) -> str:
    """A time for people."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


@contextmanager
def going() -> Iterator[Going]:
    """Progress that leaves no half line behind."""
    tell = Going()
    try:
        yield tell
    finally:
        if tell.shown:
            sys.stderr.write("\r\033[K")
