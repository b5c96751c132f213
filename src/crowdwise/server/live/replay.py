"""replay: the state that follows from a log. What the server has in memory is never anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..config import Config
from ..store.log import Event
from .fits import Rows, fit_arrays, rows_of
from .state import Live

# What is kept of a fit, where it is; None where it must be worked out again.
Kept = Callable[[Event], Any]


class Refits:
    """What a fit of the log would have believed: the answers are noted when it begins."""

    def __init__(self, live: Live, kept: Kept | None = None, answers: Callable[[int], Any] | None = None) -> None:
        self.live, self._kept, self._answers = live, kept, answers
        self._rows: Rows | None = None

    def apply(self, event: Event) -> Any:
        """Apply an event, fits included."""
        came = self.live.apply(event, self._settled)
        if event.kind == "refit":
            self._rows = rows_of(self.live, self._answers)
        return came

    def _settled(self, event: Event) -> Any:
        stored = None if self._kept is None else self._kept(event)
        if stored is not None:
            return stored
        if self._rows is None:
            raise ValueError(f"event {event.id} takes over a fit that the log does not begin")
        return fit_arrays(self._rows)


def replay(
    log: Iterable[Event],
    config: Config,
    *,
    live: Live | None = None,
    kept: Kept | None = None,
    answers: Callable[[int], Any] | None = None,
) -> Live:
    """The state after a log. `live` is where it begins (nothing), `kept` finds fits that were stored, `answers(event)`
    the answers of kinds that the online model does not hold."""
    live = Live(config) if live is None else live
    fits = Refits(live, kept, answers)
    for event in log:
        try:
            fits.apply(event)
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
            raise ValueError(f"event {event.id} ({event.kind}): {type(error).__name__} {error}") from error
    return live
