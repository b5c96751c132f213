"""Responses: JSON, and problems."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from ..problems import Problem

_REFUSED = {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemOut"}}}}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": what, **_REFUSED}
    for status, what in {
        400: "The request cannot be read.",
        401: "No token, or one that is unknown or revoked.",
        403: "The token may not do this.",
        404: "There is no such thing.",
        409: "It does not fit what is there.",
        413: "The body is too long.",
        422: "The request makes no sense.",
        429: "Too many requests; Retry-After says how long to wait.",
        503: "Nothing was stored; try again.",
    }.items()
}


def as_json(value: Any, status: int = 200, **headers: str) -> Response:
    """A response of compact JSON, without NaN and infinity."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    return Response(body, status, headers, "application/json")


def from_json(text: str, status: int = 200) -> Response:
    """A response from a JSON text."""
    return Response(text.encode(), status, media_type="application/json")


def as_problem(problem: Problem) -> Response:
    """A response from a problem."""
    headers = {}
    if "retry_after" in problem.more:
        headers["Retry-After"] = str(problem.more["retry_after"])
    if problem.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="crowdwise"'
    body = json.dumps(problem.to_dict(), ensure_ascii=True, separators=(",", ":")).encode()
    return Response(body, problem.status, headers, "application/problem+json")


def attach(app: FastAPI) -> None:
    """Convert all errors, also those of the framework, to problems."""

    @app.exception_handler(Problem)
    async def _problem(_: Request, error: Problem) -> Response:
        return as_problem(error)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> Response:
        faults = [
            {"where": [str(at) for at in fault["loc"]], "what": str(fault["msg"])[:300]} for fault in error.errors()
        ]
        first = faults[0]
        unread = any(fault["type"].startswith("json_") for fault in error.errors())
        key = any(tuple(map(str, fault["loc"])) == ("header", "Idempotency-Key") for fault in error.errors())
        if key:
            problem = Problem(400, "the header Idempotency-Key is missing or malformed; make a new key for each answer")
        else:
            where = ".".join(first["where"])[:200]
            problem = Problem(400 if unread else 422, f"{where}: {first['what']}", errors=faults[:20])
        return as_problem(problem)

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> Response:
        shown = as_problem(Problem(error.status_code, str(error.detail)))
        shown.headers.update(error.headers or {})
        return shown

    @app.exception_handler(Exception)
    async def _fault(_: Request, error: Exception) -> Response:  # noqa: ARG001  what it was goes to the log only
        return as_problem(Problem(500, "a fault of the server; nothing was stored"))
