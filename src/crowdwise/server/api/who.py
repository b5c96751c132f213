"""Authentication, authorisation and rate limits."""

from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from ..auth import Principal, csrf_of
from ..problems import Problem

if TYPE_CHECKING:
    from ..project import Project

COOKIE = "crowdwise"
SAFE = ("GET", "HEAD", "OPTIONS")
LONGEST = 200
LOOPBACK = ("127.0.0.1", "::1", "localhost")
LOCAL = Principal("local", "admin", None)


class RateLimiter:
    """A token bucket per caller: `burst` requests at once, then `rate` per second."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self._clock = rate, burst, clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, who: str) -> None:
        """Count a request; a Problem with the time to wait if there are too many."""
        now = self._clock()
        left, at = self._left.get(who, (self.burst, now))
        left = min(left + (now - at) * self.rate, self.burst)
        if left < 1:
            self._left[who] = (left, now)
            wait = (1 - left) / self.rate
            raise Problem(
                429, f"more than {self.rate:g} requests a second; wait a moment", retry_after=max(1, round(wait))
            )
        if len(self._left) > 100_000:
            self._left = {}
        self._left[who] = (left - 1, now)


def secret_of(request: Request) -> tuple[str, bool]:
    """The token of a request, and whether it comes from a cookie."""
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and secret:
        return secret.strip()[:LONGEST], False
    return request.cookies.get(COOKIE, "")[:LONGEST], True


async def who(request: Request) -> Principal | None:
    """The authenticated caller, or None."""
    project: Project = request.app.state.project
    secret, cookie = secret_of(request)
    principal: Principal | None = None
    if secret:
        principal = project.authenticator.remembered(secret) or await run_in_threadpool(
            project.authenticator.look, secret
        )
        if principal is not None and cookie:
            principal = replace(principal, cookie=True, csrf=csrf_of(secret))
    if principal is None and not secret and request.app.state.insecure_local and _from_here(request):
        return LOCAL
    return principal


def _from_here(request: Request) -> bool:
    """Whether a request without a token comes from this machine and not from another site: a site can make a browser
    send requests to 127.0.0.1, under that name or under a name of its own that resolves to it."""
    if request.url.hostname not in LOOPBACK:
        return False
    site, origin = request.headers.get("sec-fetch-site", "none"), request.headers.get("origin", "")
    own = not origin or origin.rstrip("/") == str(request.base_url).rstrip("/")
    return request.method in SAFE or (site in ("same-origin", "none") and own)


def needs(scope: str) -> Callable[[Request], Awaitable[Principal]]:
    """A dependency that returns the caller if their token includes the scope, and raises a Problem otherwise."""

    async def permitted(request: Request) -> Principal:
        principal = await who(request)
        if principal is None:
            address = request.client.host if request.client else "nowhere"
            request.app.state.strangers.take(address)
            raise Problem(
                401, "this needs a token that is known and not revoked; send it as Authorization: Bearer cw_..."
            )
        request.app.state.rates.take(principal.token)
        if not principal.may(scope):
            raise Problem(403, f"this token may {principal.scope}; {scope} is needed")
        if principal.cookie and request.method not in SAFE:
            check_csrf(principal, request.headers.get("x-csrf-token", ""))
        return principal

    return permitted


async def anybody(request: Request) -> Principal:
    """A dependency that returns the caller whatever their scope."""
    principal = await who(request)
    scopes = ("annotate", "read", "check", "review")
    return await needs(next((scope for scope in scopes if principal is not None and principal.may(scope)), scopes[0]))(
        request
    )


def check_csrf(principal: Principal, given: str) -> None:
    """Refuse a request without the CSRF token, which other sites cannot read."""
    if not hmac.compare_digest(principal.csrf.encode(), given.encode("utf-8", "replace")):
        raise Problem(403, "the form's token is missing or old; reload the page")


def set_cookie(request: Request, response: Response, secret: str) -> None:
    """Store a token in a cookie that scripts cannot read and other sites cannot send."""
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, secret, max_age=30 * 86_400, path="/", secure=secure, httponly=True, samesite="strict")


def drop_cookie(response: Response) -> None:
    """Delete the cookie."""
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
