"""The quick lane: GET next and POST labels, most of all requests, answered without the framework's routing.

It takes plain requests of tokens that are known: whatever is odd about one (no or another token, a cookie, a body or
a parameter that does not fit) goes the usual way and gets the usual refusal. Both ways do the same acts.
"""

from __future__ import annotations

import json
import re
from typing import Any

from fastapi import Response
from pydantic import ValidationError

from ..acts import annotate as acts
from ..auth import Principal
from ..problems import Problem
from ..project import Project
from ..words import KEY
from . import forms
from .annotate import say_label, worker_of
from .guard import Message, Receive, Send
from .shape import as_json, as_problem

BEARER = b"Bearer "
COUNT = re.compile(rb"\A(n|next)=([1-9][0-9]{0,2})\Z")
PLAIN_KEY = re.compile(rf"\A[\x21-\x7e]{{1,{KEY}}}\Z")


class Lane:
    """An ASGI layer around the routes."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One request: here where it is plain, else by the routes."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state = scope["app"].state
        project: Project = state.project
        asked = _asked(scope, project.name)
        headers = dict(scope["headers"]) if asked is not None else {}
        who = _who(headers, project) if asked is not None else None
        if asked is None or who is None:
            await self.app(scope, receive, send)
            return
        given: tuple[forms.LabelIn, str] | None = None
        if scope["method"] == "POST":
            body, receive = await _body(receive)
            given = _label(headers, body)
            if given is None:
                await self.app(scope, receive, send)
                return
        try:
            state.rates.take(who.token)
            answer = await _next(project, who, asked) if given is None else await say_label(project, who, *given, asked)
        except Problem as problem:
            answer = as_problem(problem)
        await answer(scope, receive, send)


async def _next(project: Project, who: Principal, n: int) -> Response:
    return as_json(await project.desk.ask(lambda shift: acts.next_tasks(shift, worker_of(shift, who, None), n)))


def _asked(scope: Message, name: str) -> int | None:
    """How many tasks are asked for, if this is one of the two requests in their plain form."""
    method, path, query = scope["method"], scope["path"], scope["query_string"]
    what = {"GET": "next", "POST": "labels"}.get(method)
    if what is None or path != f"/projects/{name}/{what}":
        return None
    if not query:
        return 1 if method == "GET" else 0
    found = COUNT.match(query)
    if found is None or found[1] != (b"n" if method == "GET" else b"next"):
        return None
    n = int(found[2])
    return n if n <= acts.HANDS else None


def _who(headers: dict[bytes, bytes], project: Project) -> Principal | None:
    secret = headers.get(b"authorization", b"")
    if not secret.startswith(BEARER):
        return None
    found = project.door.remembered(secret[len(BEARER) :].decode("latin-1"))
    return found if found is not None and found.may("annotate") else None


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


def _label(headers: dict[bytes, bytes], body: bytes) -> tuple[forms.LabelIn, str] | None:
    """The answer and its key, where both are as they should be."""
    key = headers.get(b"idempotency-key", b"").decode("latin-1")
    if headers.get(b"content-type") != b"application/json" or not PLAIN_KEY.match(key):
        return None
    try:
        return forms.LabelIn.model_validate(json.loads(body)), key
    except (ValidationError, ValueError, RecursionError):
        return None
