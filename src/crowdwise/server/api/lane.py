"""The quick lane: GET next and POST labels, most of all requests, answered without the framework and its layers.

It takes plain requests of tokens that are known: whatever is odd about one (no or another token, a cookie, a header
twice, a body or a parameter that does not fit) goes the usual way and gets the usual refusal. Both ways do the same
acts and say the same; here the answer is put together from texts of JSON that are there already.
"""

from __future__ import annotations

import re
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
from .guard import BODY, PAIRS, Message, Receive, Send
from .shape import as_problem
from .who import Rates

BEARER = b"Bearer "
COUNT = re.compile(rb"\A(n|next)=([1-9][0-9]{0,2})\Z")
PLAIN_KEY = re.compile(rf"\A[\x21-\x7e]{{1,{KEY}}}\Z")
JSON = [(b"content-type", b"application/json"), *PAIRS]
VALID = forms.LabelIn.__pydantic_validator__


class Next:
    """A command: up to n tasks in the worker's hands."""

    __slots__ = ("n", "who")

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
    """An ASGI layer before the guard; `app` takes what is not plain."""

    def __init__(self, of: FastAPI, app: Any) -> None:
        self.app = app
        self.project: Project = of.state.project
        self.rates: Rates = of.state.rates
        self.answered: dict[int, int] = of.state.answered

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One request: here where it is plain, else by the routes."""
        n = _asked(scope, self.project.name) if scope["type"] == "http" else None
        headers = dict(scope["headers"]) if n is not None else {}
        who = self._who(headers) if len(headers) == len(scope.get("headers", ())) else None
        if n is None or who is None:
            await self.app(scope, receive, send)
            return
        command: Next | Answer | None = None
        if scope["method"] == "GET":
            command = Next(who, n)
        elif _short(headers):
            body, receive = await _body(receive)
            command = _label(who, headers, body, n)
        if command is None:
            await self.app(scope, receive, send)
            return
        await self._answer(command, send)

    async def _answer(self, command: Next | Answer, send: Send) -> None:
        try:
            self.rates.take(command.who.token)
            found = await self.project.desk.ask(command)
        except Problem as problem:
            await self._refuse(problem, send)
            return
        except Exception:
            await self._refuse(Problem(500, "a fault of the server; nothing was stored"), send)
            raise
        if isinstance(command, Next):
            await self._send(200, told(found), send)
        else:
            new, event, hand = found
            await self._send(201 if new else 200, command.told(event, hand), send)

    async def _send(self, status: int, text: str, send: Send) -> None:
        self.answered[status] = self.answered.get(status, 0) + 1
        body = text.encode()
        headers = [(b"content-length", b"%d" % len(body)), *JSON]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _refuse(self, problem: Problem, send: Send) -> None:
        self.answered[problem.status] = self.answered.get(problem.status, 0) + 1
        shown = as_problem(problem)
        headers = [*shown.raw_headers, *PAIRS]
        await send({"type": "http.response.start", "status": shown.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": shown.body})

    def _who(self, headers: dict[bytes, bytes]) -> Principal | None:
        secret = headers.get(b"authorization", b"")
        if not secret.startswith(BEARER):
            return None
        found = self.project.door.remembered(secret[len(BEARER) :].decode("latin-1"))
        return found if found is not None and found.may("annotate") else None


def _asked(scope: Message, name: str) -> int | None:
    """How many tasks are asked for, if this is one of the two requests in their plain form."""
    method, path, query = scope["method"], scope["path"], scope["query_string"]
    what = "labels" if method == "POST" else "next" if method == "GET" else ""
    if not what or not path.endswith(what) or path != f"/projects/{name}/{what}":
        return None
    if not query:
        return 1 if method == "GET" else 0
    found = COUNT.match(query)
    if found is None or found[1] != (b"n" if method == "GET" else b"next"):
        return None
    n = int(found[2])
    return n if n <= acts.HANDS else None


def _short(headers: dict[bytes, bytes]) -> bool:
    """Whether the body says its length, and is not too long."""
    length = headers.get(b"content-length", b"")
    return length.isdigit() and int(length) <= BODY


async def _body(receive: Receive) -> tuple[bytes, Receive]:
    """The body, and a way to read it once more."""
    parts: list[Message] = []
    while True:
        message = await receive()
        parts.append(message)
        if message["type"] != "http.request" or not message.get("more_body"):
            break
    left = iter(parts)

    async def again() -> Message:
        for each in left:
            return each
        return await receive()

    return b"".join(each.get("body", b"") for each in parts), again


def _label(who: Principal, headers: dict[bytes, bytes], body: bytes, n: int) -> Answer | None:
    """The answer and its key, where both are as they should be."""
    key = headers.get(b"idempotency-key", b"").decode("latin-1")
    if headers.get(b"content-type") != b"application/json" or not PLAIN_KEY.match(key):
        return None
    try:
        return Answer(who, VALID.validate_json(body), key, n)
    except (ValidationError, ValueError, RecursionError):
        return None
