"""replay: the live state derived from a log."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..config import Config
from ..store.log import LogEvent
from .fits import FitInput, fit_arrays, rows_of
from .state import Live

# Returns the stored arrays of a fit, or None if it must be repeated.
StoredFit = Callable[[LogEvent], Any]


class Refits:
    """Applies events, and repeats fits that are not stored: their input is taken when they begin."""

    def __init__(
        self, live: Live, stored: StoredFit | None = None, answers: Callable[[int], Any] | None = None
    ) -> None:
        self.live, self._stored_fit, self._answers = live, stored, answers
        self._rows: FitInput | None = None

    def apply(self, event: LogEvent) -> Any:
        """Apply an event, fits included."""
        result = self.live.apply(event, self._fitted)
        if event.kind == "refit":
            self._rows = rows_of(self.live, self._answers)
        return result

    def _fitted(self, event: LogEvent) -> Any:
        arrays = None if self._stored_fit is None else self._stored_fit(event)
        if arrays is not None:
            return arrays
        if self._rows is None:
            raise ValueError(f"event {event.id} enters a fit that the log does not begin")
        return fit_arrays(self._rows)


def replay(
    log: Iterable[LogEvent],
    config: Config,
    *,
    live: Live | None = None,
    stored: StoredFit | None = None,
    answers: Callable[[int], Any] | None = None,
) -> Live:
    """The state after a log, starting from `live` (by default empty). `stored` returns stored fits, `answers(event)`
    the answers of kinds without an online model."""
    live = Live(config) if live is None else live
    fits = Refits(live, stored, answers)
    for event in log:
        try:
            fits.apply(event)
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
            raise ValueError(f"event {event.id} ({event.kind}): {type(error).__name__} {error}") from error
    return live
