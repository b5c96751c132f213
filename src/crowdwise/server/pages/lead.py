"""The lead's page: progress, quality of workers, contested tasks; actions by plain forms."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from ...evaluation.statement import TO_CHECK
from . import forms, lead_view
from .api import Api, ApiRefusal
from .frame import fragment, page
from .visitor import visitor

router = APIRouter(include_in_schema=False, route_class=forms.PageRoute)
CONTESTED = 12
# Notices after an action, by the name of the action in the URL.
NOTICES = {
    "pause": "The worker is paused and gets no more tasks.",
    "resume": "The worker gets tasks again.",
    "gold": "The gold answer is kept.",
    "settings": "The settings are changed.",
    "check": "Random tasks are drawn and wait to be checked.",
}


@router.get("/p/{project}/lead")
async def lead(request: Request, project: str, notice: str = "", refresh: int = 0) -> Response:
    """The page; `refresh` is the interval in seconds at which it reloads without scripts."""
    return await _page(request, project, notice=NOTICES.get(notice, ""), refresh=min(max(refresh, 0), 3600))


@router.get("/p/{project}/lead/live")
async def live(request: Request, project: str) -> Response:
    """The changing parts of the page, for the script."""
    parts = await _parts(Api.of(request), request, project)
    body = {name: fragment(f"lead/{name}.html.j2", **parts) for name in ("trust", "counts", "workers", "contested")}
    return JSONResponse(body, headers={"Cache-Control": "no-store"})


@router.post("/p/{project}/lead")
async def act(request: Request, project: str) -> Response:
    """An action of the lead, followed by a redirect to the page."""
    fields = await forms.read(request)
    forms.check(request, forms.one(fields, "csrf"))
    name = forms.one(fields, "action")
    action = _ACTIONS.get(name)
    if action is None:
        raise ApiRefusal(422, "The page does not know this act", "Reload it and try again.")
    try:
        result = await action(Api.of(request), project, fields)
    except ApiRefusal as no:
        if no.status == 401 or no.status >= 500:
            raise
        return await _page(request, project, status=no.status, wrong=no.detail or no.title)
    if name == "invite":
        return await _page(request, project, invite=result["url"])
    where = f"/p/{quote(project, safe='')}/lead?notice={name}"
    return RedirectResponse(where, 303, headers={"Cache-Control": "no-store"})


async def _page(
    request: Request, project: str, *, status: int = 200, notice: str = "", wrong: str = "", invite: Any = None,
    refresh: int = 0,
) -> Response:  # fmt: skip
    api = Api.of(request)
    about = await api.get(f"/projects/{project}")
    parts = await _parts(api, request, project)
    return page(
        "lead.html.j2", status, about=about, notice=notice, wrong=wrong, invite=invite, refresh=refresh,
        to_check=TO_CHECK, kinds=("csv", "jsonl", "parquet"), tables=("labels", "workers", "votes", "events"), **parts,
    )  # fmt: skip


async def _parts(api: Api, request: Request, project: str) -> dict[str, Any]:
    where, me = f"/projects/{project}", await visitor(request)
    status, workers, tasks = await asyncio.gather(
        api.get(f"{where}/status"), api.get(f"{where}/workers"),
        api.get(f"{where}/tasks", order="contested", limit=CONTESTED, answers=True),
    )  # fmt: skip
    return {
        "project": project,
        "me": me,
        "admin": "admin" in me.scopes,
        "checker": "check" in me.scopes,
        "csrf": forms.form_token(request),
        "now": lead_view.counts(status),
        "workers": lead_view.workers(workers["workers"]),
        "n_workers": len(workers["workers"]),
        "groups": status["groups"],
        "tasks": lead_view.contested(tasks["tasks"]),
    }


async def _pause(api: Api, project: str, fields: forms.Fields) -> Any:
    reason = forms.one(fields, "reason").strip() or "paused by the lead"
    worker = quote(forms.one(fields, "worker"), safe="")
    return await api.post(f"/projects/{project}/workers/{worker}/pause", {"reason": reason})


async def _resume(api: Api, project: str, fields: forms.Fields) -> Any:
    worker = quote(forms.one(fields, "worker"), safe="")
    return await api.post(f"/projects/{project}/workers/{worker}/resume", {})


async def gold(api: Api, project: str, fields: forms.Fields) -> Any:
    """Keep the gold of a form: an answer as text, or as JSON for kinds that need it."""
    about = await api.get(f"/projects/{project}")
    text = forms.one(fields, "answer").strip()
    plain = about["kind"] in ("classes", "ordered", "comparisons", "similarities")
    try:
        answer = text if plain else forms.json_of(text)
    except ApiRefusal as no:
        raise ApiRefusal(no.status, "Gold of this kind is written as JSON", 'For example 3.5 or ["a", "b"].') from None
    return await api.post(f"/projects/{project}/gold", {"task": forms.one(fields, "task").strip(), "answer": answer})


async def _check(api: Api, project: str, fields: forms.Fields) -> Any:
    n = forms.whole_of(forms.one(fields, "n", str(TO_CHECK)), "The number of tasks")
    return await api.post(f"/projects/{project}/checks", {"n": n})


async def _settings(api: Api, project: str, fields: forms.Fields) -> Any:
    changed: dict[str, Any] = {}
    readers: dict[str, Callable[[str, str], float]] = {
        "target": lambda text, what: forms.number_of(text, what) / 100,
        "cap": forms.whole_of,
        "budget": forms.number_of,
    }
    for name, text in fields:
        if name in readers:  # an empty field removes a cap or a budget
            changed[name] = readers[name](text, name.capitalize()) if text.strip() else None
    if forms.one(fields, "paused"):
        changed["paused"] = forms.one(fields, "paused") == "yes"
    return await api.patch(f"/projects/{project}", changed)


async def _invite(api: Api, project: str, fields: forms.Fields) -> Any:
    lasts = forms.whole_of(forms.one(fields, "expires_in", "86400"), "The time of an invite in seconds")
    return await api.post(f"/projects/{project}/invites", {"uses": 1, "expires_in": lasts})


_ACTIONS: dict[str, Callable[[Api, str, forms.Fields], Awaitable[Any]]] = {
    "pause": _pause,
    "resume": _resume,
    "gold": gold,
    "check": _check,
    "settings": _settings,
    "invite": _invite,
}
