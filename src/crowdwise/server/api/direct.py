"""The two routes that make up most of the load take the arguments of plain requests directly.

For every request FastAPI resolves dependencies and parameters again, which takes longer than the answer itself. A route
of this class reads the arguments of a request that has nothing unusual and calls the same endpoint with them. Whatever
is unusual or wrong goes to FastAPI, before anything was counted or changed; so there is one implementation of each
endpoint, and one of each refusal.
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

# Reads the arguments that are an endpoint's own; None where the framework must read the request.
Reader = Callable[[Request], Awaitable[dict[str, Any] | None]]
_QUERY = re.compile(rb"([a-z]+)=(\d{1,4})")


class DirectRoute(APIRoute):
    """An endpoint with an attribute `read` is called with what that reads; see `direct`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler for plain requests, with that of the framework behind it."""
        by_framework = super().get_route_handler()
        endpoint: Any = self.endpoint
        direct = getattr(endpoint, "direct", None)
        if direct is None:
            return by_framework
        read, who, project = direct

        async def handle(request: Request) -> Response:
            given = await read(request) if len(request.path_params["p"]) <= 200 else None
            if given is None:
                return await by_framework(request)
            # In the order in which the framework would call them.
            by = await who(request)
            response: Response = await endpoint(who=by, here=await project(request, request.path_params["p"]), **given)
            return response

        return handle


def direct(
    read: Reader,
    who: Callable[[Request], Awaitable[Principal]],
    project: Callable[[Request, str], Awaitable[Project]],
) -> Callable[[Any], Any]:
    """Let an endpoint be called with what `read` makes of a request, and with its dependencies `who` and `here`."""

    def mark(endpoint: Any) -> Any:
        endpoint.direct = (read, who, project)
        return endpoint

    return mark


def number(request: Request, name: str, default: int, least: int, most: int) -> int | None:
    """The only parameter of a query; None where there is another one, or where it is not plainly in its bounds."""
    query: bytes = request.scope["query_string"]
    if not query:
        return default
    parts = _QUERY.fullmatch(query)
    if parts is None or parts[1] != name.encode() or not least <= int(parts[2]) <= most:
        return None
    return int(parts[2])


def header(request: Request, name: bytes) -> bytes | None:
    """The value of a header that is sent once."""
    values = [value for key, value in request.scope["headers"] if key == name]
    return values[0] if len(values) == 1 else None


async def body(request: Request, form: Any) -> Any:
    """The body as a form; None where it is none."""
    if header(request, b"content-type") != b"application/json":
        return None
    try:
        return form.model_validate(json.loads(await request.body()))
    except (ValueError, RecursionError, ValidationError):
        return None
