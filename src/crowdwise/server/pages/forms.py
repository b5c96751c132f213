"""Forms: protection against forged ones (CSRF tokens), and conversion of their fields to an answer of each kind.

The form defines the answer with scripts and without; scripts only fill its fields.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Callable, Coroutine, Iterable
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.routing import APIRoute

from ..api.who import COOKIE
from ..auth import csrf_of
from ..problems import Problem
from ..serialization import value_of
from .api import ApiRefusal, NotOurForm

Fields = list[tuple[str, str]]
# The cookie of a visitor without login, from which the CSRF token of their forms is derived.
VISITOR, LONGEST = "crowdwise_visitor", 200


def form_token(request: Request) -> str:
    """The CSRF token of forms, derived from a cookie that other sites can make a browser send but cannot read."""
    return csrf_of(request.cookies.get(COOKIE, "") or _visitor(request))


def _visitor(request: Request) -> str:
    """The secret of a visitor without login; a new one is set as a cookie with the response (`PageRoute`)."""
    cookie = request.cookies.get(VISITOR, "")[:LONGEST]
    if cookie:
        return cookie
    if not hasattr(request.state, "visitor"):
        request.state.visitor = secrets.token_hex(32)
    return str(request.state.visitor)


class PageRoute(APIRoute):
    """A route of a page, which sets the cookie of a new visitor."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of FastAPI, which also sets the cookie."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            response = await handler(request)
            if hasattr(request.state, "visitor"):
                secure = request.url.scheme == "https"
                response.set_cookie(
                    VISITOR, request.state.visitor, path="/", secure=secure, httponly=True, samesite="strict"
                )
            return response

        return handle


def check(request: Request, token: str) -> None:
    """Refuse a form that is not from a page of this server."""
    if not _from_here(request):
        raise NotOurForm(403, "This form came from another site", "Open the page itself and send it from there.")
    if not hmac.compare_digest(form_token(request).encode(), token.encode()):
        raise NotOurForm(403, "This form is out of date", "Go back, reload the page and send it again.")


def _from_here(request: Request) -> bool:
    """Whether the form comes from a page of this server by Sec-Fetch-Site, or by Origin in browsers without it; the
    scheme is not compared because a proxy may provide TLS."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    if origin is None:
        return True
    try:
        place = urlsplit(origin).netloc.lower()
    except ValueError:
        return False
    ours = (request.headers.get("host", ""), urlsplit(request.app.state.public_url).netloc)
    return bool(place) and place in (name.lower() for name in ours)


async def read(request: Request) -> Fields:
    """The fields of a plain form in their order; refused with 400 if they are not text."""
    try:
        form = await request.form()
        fields = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
        for name, value in fields:
            (name + value).encode()  # the encoding of the form may allow lone surrogates
    except (LookupError, UnicodeError):
        raise _unreadable("It holds a character that is none, or an encoding that is not known.") from None
    return fields


async def read_json(request: Request) -> Any:
    """The JSON body of a script; refused with 400 if it is invalid or cannot be stored."""
    return json_of(await request.body())


def json_of(text: str | bytes) -> Any:
    """The value of a JSON text; refused with 400 if it is invalid or cannot be stored."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise _unreadable("It is not JSON.") from None
    return storable(value)


def storable(value: Any) -> Any:
    """Check a value of a form or a script. Values that cannot be stored (lone surrogates, NaN, 1e400, thousands of
    digits, deep nesting) are refused with 400 before they are used."""
    try:
        return value_of(value, "the request")
    except Problem as problem:
        raise _unreadable(problem.detail) from None


def number_of(text: str, what: str) -> float:
    """The finite number of a field; refused with 422 otherwise."""
    try:
        return float(storable(float(text)))
    except (ApiRefusal, ValueError):
        raise ApiRefusal(422, f"{what} is not a number", f"Got {text[:20]!r}.") from None


def whole_of(text: str, what: str) -> int:
    """The whole number of a field; refused with 422 otherwise."""
    try:
        return int(storable(int(text)))
    except (ApiRefusal, ValueError):
        raise ApiRefusal(422, f"{what} is a whole number", f"Got {text[:20]!r}.") from None


def _unreadable(detail: str) -> ApiRefusal:
    return ApiRefusal(400, "The request cannot be read", detail)


def one(fields: Fields, name: str, default: str = "") -> str:
    """The first field of this name."""
    return next((value for key, value in fields if key == name), default)


def every(fields: Fields, name: str) -> list[str]:
    """All fields of this name."""
    return [value for key, value in fields if key == name]


def new_key() -> str:
    """An idempotency key."""
    return secrets.token_hex(16)


def answer_of(kind: str, fields: Fields) -> Any:
    """The answer of these fields in the form of the API."""
    return _READERS.get(kind, _choice)(fields)


def _choice(fields: Fields) -> str:
    choices = every(fields, "answer")
    if not choices:
        raise ApiRefusal(422, "No answer was chosen", "Choose one, or skip the task.")
    return choices[0]


def _number(fields: Fields) -> float:
    try:
        return number_of(_choice(fields).strip(), "The answer")
    except ApiRefusal as refused:
        raise ApiRefusal(refused.status, refused.title, "Write digits, with a point before decimals: 3.5.") from None


def _ranking(fields: Fields) -> list[str]:
    places = [whole_of(place, "A place") for place in every(fields, "rank")]
    items = every(fields, "item")
    if len(places) != len(items) or sorted(places) != list(range(1, len(items) + 1)):
        raise ApiRefusal(422, "Each place is given once", f"Use every place from 1 to {len(items)} for one item.")
    return [item for _, item in sorted(zip(places, items, strict=True))]


def _spans(fields: Fields) -> list[dict[str, Any]]:
    rows: Iterable[tuple[str, str, str]] = zip(*(every(fields, n) for n in ("start", "end", "tag")), strict=False)
    spans = []
    for start, end, tag in rows:
        if start.strip() or end.strip():
            first, last = whole_of(start, "A start"), whole_of(end, "An end")
            if not 0 <= first < last or not tag:
                raise ApiRefusal(422, "A span needs a start, a later end and a tag", f"Got {first} to {last}.")
            spans.append({"start": first, "end": last, "label": tag})
    return spans


_READERS: dict[str, Callable[[Fields], Any]] = {
    "sets": lambda fields: every(fields, "answer"),
    "numbers": _number,
    "rankings": _ranking,
    "spans": _spans,
}
