"""A fast path for the two most frequent routes: the arguments of simple requests are parsed without FastAPI.

FastAPI resolves dependencies and parameters for every request, which takes longer than the command itself. A route of
this class parses a simple request and calls the same endpoint. Every other request, valid or not, goes to FastAPI,
before anything was counted or changed; so each endpoint and each error has one implementation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import ValidationError

from ..auth import Principal
from ..project import Project

# Parses the arguments of an endpoint; None if FastAPI must parse the request.
Reader = Callable[[Request], Awaitable[dict[str, Any] | None]]
_QUERY = re.compile(rb"([a-z]+)=(\d{1,4})")


class DirectRoute(APIRoute):
    """A route with a fast path if its endpoint is decorated by `direct`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler for simple requests, which falls back to that of FastAPI."""
        by_framework = super().get_route_handler()
        endpoint: Any = self.endpoint
        direct = getattr(endpoint, "direct", None)
        if direct is None:
            return by_framework
        read, who, project = direct

        async def handle(request: Request) -> Response:
            arguments = await read(request) if len(request.path_params["p"]) <= 200 else None
            if arguments is None:
                return await by_framework(request)
            # In the order in which FastAPI calls the dependencies.
            by = await who(request)
            response: Response = await endpoint(
                who=by, here=await project(request, request.path_params["p"]), **arguments
            )
            return response

        return handle


def direct(
    read: Reader,
    who: Callable[[Request], Awaitable[Principal]],
    project: Callable[[Request, str], Awaitable[Project]],
) -> Callable[[Any], Any]:
    """Decorate an endpoint with a parser `read` and its dependencies `who` and `here`."""

    def mark(endpoint: Any) -> Any:
        endpoint.direct = (read, who, project)
        return endpoint

    return mark


def number(request: Request, name: str, default: int, least: int, most: int) -> int | None:
    """The only parameter of a query; None if there is another one, or if it is not a number within the bounds."""
    query: bytes = request.scope["query_string"]
    if not query:
        return default
    parts = _QUERY.fullmatch(query)
    if parts is None or parts[1] != name.encode() or not least <= int(parts[2]) <= most:
        return None
    return int(parts[2])


def header(request: Request, name: bytes) -> bytes | None:
    """The value of a header, if it is sent exactly once."""
    values = [value for key, value in request.scope["headers"] if key == name]
    return values[0] if len(values) == 1 else None


async def body(request: Request, form: Any) -> Any:
    """The body as a form, or None."""
    if header(request, b"content-type") != b"application/json":
        return None
    try:
        return form.model_validate(json.loads(await request.body()))
    except (ValueError, RecursionError, ValidationError):
        return None
