"""Retries after lost connections, rate limits (429) and server errors (5xx), with increasing pauses."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from ..core.errors import MissingDependencyError
from .problems import Unreachable

if TYPE_CHECKING:
    import httpx

# Statuses after which the same request may succeed.
BUSY = (408, 429, 503)  # a request that did not arrive in time (408) was not carried out
FAULTS = (500, 502, 504, 529)


def http() -> Any:
    """The module httpx, which the extra `serve` installs."""
    try:
        import httpx
    except ImportError:
        raise MissingDependencyError(
            "talking to servers needs httpx; install it: pip install 'crowdwise[serve]'"
        ) from None
    return httpx


@dataclass
class Retry:
    """At most `tries` attempts with pauses of `first`, 2 × `first`, ... seconds up to `most`, shortened at random by up
    to a half, so that clients do not retry together. Retry-After of a server is respected up to `longest`."""

    tries: int = 6
    first: float = 0.25
    most: float = 20.0
    longest: float = 120.0
    sleep: Callable[[float], None] = time.sleep
    dice: random.Random = field(default_factory=random.Random)

    def pause(self, attempt: int, retry_after: str | None = None) -> float:
        """Seconds to wait after attempt 0, 1, ..."""
        seconds = seconds_of(retry_after)
        if seconds is not None:
            return min(seconds, self.longest)
        return float(min(self.first * 2**attempt, self.most) * self.dice.uniform(0.5, 1.0))

    def send(self, once: Callable[[], httpx.Response], where: str, *, safe: bool) -> tuple[httpx.Response, int]:
        """The last response, and the number of attempts. `safe`: the request is idempotent, so it may be sent again if
        it is unknown whether it arrived."""
        web, tries = http(), max(self.tries, 1)
        for attempt in range(tries):
            last = attempt == tries - 1
            try:
                answer: httpx.Response = once()
            except web.ConnectError as error:  # the request was not sent
                fault, again = error, True
            except web.TransportError as error:
                fault, again = error, safe
            else:
                again = answer.status_code in BUSY or (safe and answer.status_code in FAULTS)
                if last or not again:
                    return answer, attempt + 1
                self.sleep(self.pause(attempt, answer.headers.get("retry-after")))
                continue
            if last or not again:
                raise Unreachable(f"{where} does not answer ({_why(fault)}); is it running, and is the address right?")
            self.sleep(self.pause(attempt))
        raise AssertionError("unreachable")  # pragma: no cover


def seconds_of(header: str | None) -> float | None:
    """The seconds of a Retry-After header, which may be a date; None if it is missing or invalid."""
    if header is None:
        return None
    try:
        return max(float(header), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(header).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError):
        return None


def _why(error: Exception) -> str:
    name = type(error).__name__
    words = " ".join(str(error).split())[:120]
    return f"{name}: {words}" if words else name
