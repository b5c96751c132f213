"""Pages of invitations, login and logout, and the index page."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from .. import auth
from ..api.who import drop_cookie, set_cookie
from ..problems import Problem
from ..project import Project
from . import forms
from .api import Api, ApiRefusal
from .frame import page, static
from .visitor import visitor

router = APIRouter(include_in_schema=False, route_class=forms.PageRoute)
_LONGEST_NAME = 80


@dataclass(frozen=True)
class Invite:
    """An invitation: the question of the project, and its expiry (seconds since 1970)."""

    question: str
    until: float


@router.get("/")
async def index(request: Request) -> Response:
    """The index page with the links that the visitor may use."""
    try:
        me = await visitor(request)
    except ApiRefusal as no:
        if no.status != 401:
            raise
        me = None
    return page("index.html.j2", me=me, csrf=forms.form_token(request))


@router.get("/static/{edition}/{name}")
async def static_file(edition: str, name: str) -> Response:  # noqa: ARG001 (part of the URL, for caching)
    """A style sheet or a script."""
    asset = static(name)
    if asset is None:
        raise ApiRefusal(404, "There is no such file")
    return asset


@router.get("/join/{code}")
async def invited(request: Request, code: str) -> Response:
    """The page of an invitation, with a field for the name; viewing it does not use the invitation."""
    invite = await _invite(request, code)
    return page("join.html.j2", invite=invite, code=code, csrf=forms.form_token(request), wrong="", name="")


@router.post("/join/{code}")
async def joined(request: Request, code: str) -> Response:
    """Add a worker and store their token as a cookie."""
    fields = await forms.read(request)
    forms.check(request, forms.one(fields, "csrf"))
    name = forms.one(fields, "name").strip()
    project: Project = request.app.state.project
    if not 0 < len(name) <= _LONGEST_NAME:
        wrong = f"A name has 1 to {_LONGEST_NAME} letters."
    else:
        try:
            _, secret = await project.queue.ask(lambda batch: auth.join(batch, code, name))
            return _with_cookie(request, f"/p/{quote(project.name, safe='')}/annotate", secret)
        except Problem as problem:
            wrong = _sentence(problem)
    invite = await _invite(request, code)
    return page("join.html.j2", 422, invite=invite, code=code, csrf=forms.form_token(request), wrong=wrong, name=name)


@router.get("/login")
async def login(request: Request, next: str = "/") -> Response:
    """The login page."""
    # A link in a mail opens the page without the cookie (SameSite), so the page links to itself once.
    again = _local(next) if request.headers.get("sec-fetch-site") == "cross-site" else ""
    return page("login.html.j2", csrf=forms.form_token(request), next=_local(next), wrong="", again=again)


@router.post("/login")
async def logged_in(request: Request) -> Response:
    """Store a valid token as a cookie."""
    fields = await forms.read(request)
    forms.check(request, forms.one(fields, "csrf"))
    token, where = forms.one(fields, "token").strip(), _local(forms.one(fields, "next", "/"))
    try:
        await Api(request, token or "none").get(f"/projects/{request.app.state.project.name}")
    except ApiRefusal as no:
        if no.status not in (400, 401, 403, 422):
            raise
        wrong = "This token is not known here, or was revoked."
        return page("login.html.j2", 401, csrf=forms.form_token(request), next=where, wrong=wrong, again="")
    return _with_cookie(request, where, token)


@router.post("/logout")
async def logged_out(request: Request) -> Response:
    """Delete the cookie; the token stays valid."""
    forms.check(request, forms.one(await forms.read(request), "csrf"))
    answer = RedirectResponse("/", status_code=303)
    drop_cookie(answer)
    return answer


def _with_cookie(request: Request, where: str, token: str) -> Response:
    answer = RedirectResponse(where, status_code=303, headers={"Cache-Control": "no-store"})
    set_cookie(request, answer, token)
    return answer


async def _invite(request: Request, code: str) -> Invite:
    """A valid invitation; requests are rate limited against guessing."""
    project: Project = request.app.state.project
    try:
        request.app.state.strangers.take(request.client.host if request.client else "nowhere")
        row = await project.queue.ask(lambda batch: auth.invitation(batch.query, batch.project, code, batch.now))
    except Problem as problem:
        title = "This link does not open the door" if problem.status in (403, 404) else "That did not work"
        raise ApiRefusal(problem.status, title, _sentence(problem)) from problem
    return Invite(project.queue.live.config.question, row.expires_at)


def _sentence(problem: Problem) -> str:
    return problem.detail[:1].upper() + problem.detail[1:] + "."


def _local(where: str) -> str:
    """A path on this server; / for any other URL."""
    fine = where.startswith("/") and not where.startswith(("//", "/\\")) and where.isprintable() and "\\" not in where
    return where if fine else "/"
