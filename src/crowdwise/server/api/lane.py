"""The quick lane: GET next and POST labels, most of all requests, read and answered without the framework.

It takes plain requests of tokens that are known: whatever is odd about one (no or another token, a cookie, a header
that is not expected here or stands twice, a body or a parameter that does not fit, a head in pieces) goes the usual
way and gets the usual refusal. Both ways do the same acts and say the same; here the answer is put together
from texts of JSON that are there already. `line.py` has the connection.
"""

from __future__ import annotations

import re
from functools import lru_cache
from http import HTTPStatus
from json.encoder import encode_basestring
from typing import Any

from fastapi import FastAPI
from pydantic import ValidationError

from ..acts import annotate as acts
from ..auth import Principal
from ..problems import Problem
from ..project import Project
from ..shift import Shift
from ..store.log import Event
from ..words import KEY
from . import forms
from .annotate import said_of, worker_of
from .guard import BODY, PAIRS
from .shape import as_problem
from .who import Rates

BEARER = b"Bearer "
# Lines of printable ASCII with nothing between them but their ends, as in all requests that programs send.
HEAD = re.compile(rb"(?:[\x20-\x7e]+\r\n)+[\x20-\x7e]+")
FIRST = re.compile(rb"(GET|POST) /projects/([^/?#% ]+)/(next|labels)(?:\?(n|next)=([1-9][0-9]{0,2}))? HTTP/1\.1")
LENGTH = re.compile(rb"[0-9]{1,7}")
PLAIN_KEY = re.compile(rb"[\x21-\x7e]{1,%d}" % KEY)
# Headers that change nothing of what the lane does with a request; one that does, or may, is not among them.
HARMLESS = frozenset((
    b"host", b"user-agent", b"accept", b"accept-encoding", b"accept-language", b"authorization", b"content-type",
    b"content-length", b"idempotency-key", b"connection", b"x-forwarded-for", b"x-forwarded-proto", b"x-real-ip",
))  # fmt: skip
# What stands before the body of every answer, and behind its status, its length and its type.
ALWAYS = b"".join(b"%b: %b\r\n" % pair for pair in PAIRS)
VALID = forms.LabelIn.__pydantic_validator__


class More:
    """A request that is plain so far, and whose body is still to come: `total` bytes in all."""

    __slots__ = ("total",)

    def __init__(self, total: int) -> None:
        self.total = total


class Next:
    """A command: up to n tasks in the worker's hands."""

    __slots__ = ("n", "who")
    quick = True

    def __init__(self, who: Principal, n: int) -> None:
        self.who, self.n = who, n

    def __call__(self, shift: Shift) -> acts.Hand:
        """What they have in hand; what it shows is looked up with all the others' at the end of the shift."""
        hand = acts.take(shift, worker_of(shift, self.who, None), self.n)
        shift.shows.append(hand)
        return hand


class Answer:
    """A command: an answer, and n tasks that come back with its receipt."""

    __slots__ = ("form", "key", "n", "said", "who")
    quick = True

    def __init__(self, who: Principal, form: forms.LabelIn, key: str, n: int) -> None:
        self.who, self.form, self.n = who, form, n
        self.said = said_of(who, form, key)
        # An admin who names a worker: their number is not known here.
        self.key = None if who.worker is None or form.worker is not None else (who.worker, key)

    def __call__(self, shift: Shift) -> tuple[bool, Event, acts.Hand | None]:
        """Whether the answer is new, its event, and what comes next."""
        worker = worker_of(shift, self.who, self.form.worker)
        new, event = acts.answer(shift, worker, self.said)
        if not self.n:
            return new, event, None
        hand = acts.take(shift, worker, self.n)
        shift.shows.append(hand)
        return new, event, hand

    def told(self, event: Event, hand: acts.Hand | None) -> str:
        """The receipt; why a task stops is for an admin only, as in the routes."""
        stopped = event.payload["stopped"] if self.who.may("admin") else ""
        shown = encode_basestring(stopped) if stopped else "null"
        out = f'{{"event":{event.id},"task":{encode_basestring(self.form.task)},"status":"{event.payload["status"]}",'
        more = "" if hand is None else f',"next":{told(hand)}'
        return f'{out}"stopped":{shown}{more}}}'


def told(hand: acts.Hand) -> str:
    """Tasks in a worker's hands as JSON."""
    tasks = ",".join(
        f'{{"id":{encode_basestring(name)},"payload":{text},"lease":{each.id},"expires_at":{each.expires_at!r}}}'
        for name, text, each in zip(hand.names, hand.texts, hand.leases, strict=True)
    )
    stopped = "null"
    if hand.stopped is not None:
        final = "true" if hand.stopped["final"] else "false"
        stopped = f'{{"reason":{encode_basestring(hand.stopped["reason"])},"final":{final}}}'
    progress = ",".join(f'"{name}":{n}' for name, n in hand.progress.items())
    return f'{{"tasks":[{tasks}],"stopped":{stopped},"progress":{{{progress}}}}}'


class Lane:
    """Reads requests and writes answers, as bytes; None for what is not plain."""

    def __init__(self, of: FastAPI) -> None:
        self.project: Project = of.state.project
        self.rates: Rates = of.state.rates
        self.answered: dict[int, int] = of.state.answered
        self._name = self.project.name.encode()

    def read(self, data: bytes) -> Next | Answer | More | None:
        """The command of one request, which begins here."""
        head, end, body = data.partition(b"\r\n\r\n")
        first, _, rest = head.partition(b"\r\n")
        asked = _asked(first, self._name) if end else None
        if asked is None or HEAD.fullmatch(rest) is None:
            return None
        headers = _headers(rest)
        who = None if headers is None else self._who(headers)
        if headers is None or who is None:
            return None
        if asked[0] == b"GET":
            return Next(who, asked[1]) if not body and b"content-length" not in headers else None
        length = headers.get(b"content-length", b"")
        missing = int(length) - len(body) if LENGTH.fullmatch(length) else -1
        if missing < 0 or len(body) + missing > BODY:
            return None
        return More(len(data) + missing) if missing else _label(who, headers, body, asked[1])

    def _who(self, headers: dict[bytes, bytes]) -> Principal | None:
        secret = headers.get(b"authorization", b"")
        if not secret.startswith(BEARER):
            return None
        found = self.project.door.remembered(secret[len(BEARER) :].decode("latin-1"))
        return found if found is not None and found.may("annotate") else None

    def told(self, command: Next | Answer, found: Any, date: bytes) -> bytes:
        """The answer to a command that was done; `date` is a line of the head, or more."""
        if isinstance(command, Next):
            return self._whole(200, b"application/json", told(found).encode(), date)
        new, event, hand = found
        return self._whole(201 if new else 200, b"application/json", command.told(event, hand).encode(), date)

    def refused(self, problem: Problem, date: bytes) -> bytes:
        """The answer to a command that was not."""
        shown = as_problem(problem)
        more = b"".join(b"%b: %b\r\n" % pair for pair in shown.raw_headers if not pair[0].startswith(b"content-"))
        return self._whole(problem.status, b"application/problem+json", bytes(shown.body), date + more)

    def _whole(self, status: int, kind: bytes, body: bytes, more: bytes) -> bytes:
        self.answered[status] = self.answered.get(status, 0) + 1
        return b"%bcontent-length: %d\r\ncontent-type: %b\r\n%b%b\r\n%b" % (
            _first(status), len(body), kind, more, ALWAYS, body)  # fmt: skip


@lru_cache(maxsize=64)
def _first(status: int) -> bytes:
    return b"HTTP/1.1 %d %b\r\n" % (status, HTTPStatus(status).phrase.encode())


@lru_cache(maxsize=1_024)
def _asked(first: bytes, name: bytes) -> tuple[bytes, int] | None:
    """Method and how many tasks are asked for, if this is one of the two requests in their plain form."""
    found = FIRST.fullmatch(first)
    if found is None or found[2] != name:
        return None
    method, what, count = found[1], found[3], found[4]
    if (method, what) not in ((b"GET", b"next"), (b"POST", b"labels")):
        return None
    if count is None:
        return method, 1 if method == b"GET" else 0
    n = int(found[5])
    return (method, n) if count == (b"n" if method == b"GET" else b"next") and n <= acts.HANDS else None


def _headers(rest: bytes) -> dict[bytes, bytes] | None:
    """Headers by their names in small letters, where all are harmless and none stands twice."""
    out: dict[bytes, bytes] = {}
    for line in rest.split(b"\r\n"):
        name, _, value = line.partition(b":")
        name = name.lower()
        if name not in HARMLESS or name in out:
            return None
        out[name] = value.strip()
    return out if b"host" in out and out.get(b"connection", b"keep-alive").lower() == b"keep-alive" else None


def _label(who: Principal, headers: dict[bytes, bytes], body: bytes, n: int) -> Answer | None:
    """The answer and its key, where both are as they should be."""
    key = headers.get(b"idempotency-key", b"")
    if headers.get(b"content-type") != b"application/json" or PLAIN_KEY.fullmatch(key) is None:
        return None
    try:
        return Answer(who, VALID.validate_json(body), key.decode(), n)
    except (ValidationError, ValueError, RecursionError):
        return None
