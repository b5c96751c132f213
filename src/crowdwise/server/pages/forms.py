"""Forms: that they are ours (a token that only our pages know), and the answer that the fields of each kind spell.

The form is the truth of an answer, with scripts and without: a script fills fields, no more.
"""

from __future__ import annotations

import hmac
import math
import secrets
from collections.abc import Callable, Iterable
from typing import Any

from fastapi import Request

from ..api.who import COOKIE
from ..auth import csrf_of
from .api import NotOurForm, Refused

Fields = list[tuple[str, str]]
# For callers without a cookie (a server that asks for no tokens): every process makes its own.
_NOBODYS = secrets.token_hex(32)


def form_token(request: Request) -> str:
    """What our forms carry: it follows from the cookie, which other sites can make a browser send but cannot read."""
    return csrf_of(request.cookies.get(COOKIE, "") or _NOBODYS)


def check(request: Request, token: str) -> None:
    """Refuse a form that is not from our pages."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotOurForm(403, "This form came from another site", "Open the page itself and send it from there.")
    if not hmac.compare_digest(form_token(request).encode(), token.encode()):
        raise NotOurForm(403, "This form is out of date", "Go back, reload the page and send it again.")


async def read(request: Request) -> Fields:
    """The fields of a plain form, in their order."""
    form = await request.form()
    return [(name, value) for name, value in form.multi_items() if isinstance(value, str)]


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
    """The answer that these fields spell, as the API takes it."""
    return _READERS.get(kind, _choice)(fields)


def _choice(fields: Fields) -> str:
    found = every(fields, "answer")
    if not found:
        raise Refused(422, "No answer was chosen", "Choose one, or skip the task.")
    return found[0]


def _number(fields: Fields) -> float:
    said = _choice(fields).strip()
    try:
        value = float(said)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Refused(422, "The answer is not a number", "Write digits, with a point before decimals: 3.5.")
    return value


def _ranking(fields: Fields) -> list[str]:
    places = [_whole(place, "A place") for place in every(fields, "rank")]
    items = every(fields, "item")
    if len(places) != len(items) or sorted(places) != list(range(1, len(items) + 1)):
        raise Refused(422, "Each place is given once", f"Use every place from 1 to {len(items)} for one item.")
    return [item for _, item in sorted(zip(places, items, strict=True))]


def _spans(fields: Fields) -> list[dict[str, Any]]:
    rows: Iterable[tuple[str, str, str]] = zip(*(every(fields, n) for n in ("start", "end", "tag")), strict=False)
    found = []
    for start, end, tag in rows:
        if start.strip() or end.strip():
            first, last = _whole(start, "A start"), _whole(end, "An end")
            if not 0 <= first < last or not tag:
                raise Refused(422, "A span needs a start, a later end and a tag", f"Got {first} to {last}.")
            found.append({"start": first, "end": last, "label": tag})
    return found


def _whole(said: str, what: str) -> int:
    try:
        return int(said)
    except ValueError:
        raise Refused(422, f"{what} is a whole number", f"Got {said[:20]!r}.") from None


_READERS: dict[str, Callable[[Fields], Any]] = {
    "sets": lambda fields: every(fields, "answer"),
    "numbers": _number,
    "ranking": _ranking,
    "spans": _spans,
}
