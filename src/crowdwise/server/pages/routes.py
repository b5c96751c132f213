"""Adds the pages to the application; they are a client of the API in the same process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from ..problems import Problem
from . import annotate, auth_pages, browse, check, lead, review
from .api import ApiRefusal
from .frame import error_page

if TYPE_CHECKING:
    from ..project import Project

Handler = Callable[[Request, Any], Awaitable[Response]]


def attach(app: FastAPI, project: Project) -> None:
    """Add the pages to the application."""
    app.state.project = project
    for module in (auth_pages, annotate, browse, check, lead, review):
        app.include_router(module.router)
    app.add_exception_handler(ApiRefusal, _refused)
    for kind in (HTTPException, Problem, Exception):
        before: Any = app.exception_handlers.get(kind)
        if before is not None:
            app.add_exception_handler(kind, _as_page(before))


def _as_page(before: Handler) -> Handler:
    """The error of another handler as a page, if the client accepts HTML."""

    async def handle(request: Request, error: Any) -> Response:
        answer = await before(request, error)
        if request.url.path.startswith("/projects/") or "text/html" not in request.headers.get("accept", ""):
            return answer
        title, detail = _WORDS.get(answer.status_code, ("That did not work", ""))
        return error_page(answer.status_code, title, detail)

    return handle


_WORDS = {
    404: ("There is no such page", "Perhaps the address was cut; ask whoever sent it to you."),
    405: ("There is no such page", "Perhaps the address was cut; ask whoever sent it to you."),
    413: ("That was too long", "Send less at once."),
    429: ("That was too often", "Wait a moment, then try again."),
    500: ("A fault of the server", "Nothing was stored by this request. Try again; if it stays, tell the lead."),
    503: ("The server cannot store anything at present", "Wait a moment, then try again."),
}


async def _refused(request: Request, no: Exception) -> Response:
    """A refusal of the API as a page, or as a problem for scripts; without a token, a redirect to the login."""
    assert isinstance(no, ApiRefusal)
    headers = {"Retry-After": no.retry_after} if no.retry_after else {}
    if "text/html" not in request.headers.get("accept", ""):
        body = {"type": no.kind, "title": no.title, "status": no.status, "detail": no.detail}
        return JSONResponse(body, no.status, headers, media_type="application/problem+json")
    if no.status == 401 and request.method == "GET":
        where = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"/login?next={quote(where)}", 303, headers={"Cache-Control": "no-store"})
    answer = error_page(no.status, no.title, no.detail)
    answer.headers.update(headers)
    return answer
