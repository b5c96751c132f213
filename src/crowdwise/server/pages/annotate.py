"""The annotator's page: one task and a form, which works with scripts (outbox, prefetch) and without."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from . import forms
from .api import Api, ApiRefusal
from .frame import fragment, page
from .task_view import view, words
from .visitor import ACTING, Visitor, visitor

router = APIRouter(include_in_schema=False, route_class=forms.PageRoute)
# Largest number of tasks in a browser: the current one and prefetched ones.
MOST_AHEAD = 4
# Idempotency keys that the API accepts, as they are sent in a header.
_KEY = re.compile(r"[\x21-\x7e]{1,100}")


@router.get("/p/{project}/annotate")
async def annotate(request: Request, project: str) -> Response:
    """The page with the next task."""
    me = await visitor(request)
    if me.acting and not me.worker:
        return page("as.html.j2", me=me, csrf=forms.form_token(request), wrong="")
    return await _page(request, project)


@router.post("/p/{project}/annotate/as")
async def answer_as(request: Request, project: str) -> Response:
    """Set the name under which an admin answers; a new name is a new worker."""
    fields = await forms.read(request)
    forms.check(request, forms.one(fields, "csrf"))
    name, me = forms.one(fields, "name").strip(), await visitor(request)
    try:
        await Api.of(request).post(f"/projects/{project}/workers", {"name": name})
    except ApiRefusal as no:
        if no.status != 409:  # the worker exists already
            if no.status != 422:
                raise
            return page("as.html.j2", 422, me=me, csrf=forms.form_token(request), wrong=no.detail)
    answer = RedirectResponse(f"/p/{quote(project, safe='')}/annotate", 303)
    answer.set_cookie(ACTING, quote(name), path="/", httponly=True, samesite="strict")
    return answer


@router.post("/p/{project}/annotate")
async def answered(request: Request, project: str) -> Response:
    """An answer, a skip or an undo from the plain form, followed by a redirect to the page."""
    fields = await forms.read(request)
    forms.check(request, forms.one(fields, "csrf"))
    api, me = Api.of(request), await visitor(request)
    try:
        kind = (await api.get(f"/projects/{project}"))["kind"]
        act = forms.one(fields, "action", "answer")
        entry = Entry(act, forms.one(fields, "task"), forms.one(fields, "key"), fields)
        done = await _send(api, me, kind, entry)
    except ApiRefusal as no:
        if no.status in (401, 403, 429) or no.status >= 500:
            raise
        return await _page(request, project, status=no.status, wrong=f"{no.title}. {no.detail}".strip())
    if act == "undo":
        return await _page(request, project, notice="undo", again=await _in_hand(api, me, done["task"]))
    return RedirectResponse(f"/p/{quote(project, safe='')}/annotate", 303, headers={"Cache-Control": "no-store"})


@router.get("/p/{project}/annotate/next")
async def ahead(request: Request, project: str, n: int = 2) -> Response:
    """Prefetched tasks for the script, as markup."""
    api = Api.of(request)
    me, about = await visitor(request), await api.get(f"/projects/{project}")
    assigned = await _next(api, me, min(max(n, 1), MOST_AHEAD))
    tasks = [_as_markup(about, task) for task in assigned["tasks"]]
    body = {"tasks": tasks, "stopped": assigned.get("stopped"), "progress": assigned.get("progress") or {}}
    return JSONResponse(body, headers={"Cache-Control": "no-store"})


@router.post("/p/{project}/annotate/send")
async def send(request: Request, project: str) -> Response:
    """An entry of the script's outbox: the fields of the form as JSON."""
    forms.check(request, request.headers.get("x-form-token", ""))
    body = await forms.read_json(request)
    try:
        fields = [(str(name), str(value)) for name, value in body.get("fields", [])]
        ms = None if body.get("client_ms") is None else int(body["client_ms"])
        entry = Entry(str(body["action"]), str(body["task"]), str(body["key"]), fields, ms)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ApiRefusal(422, "The answer is not written as the page writes it", "Reload the page.") from None
    api = Api.of(request)
    me, about = await visitor(request), await api.get(f"/projects/{project}")
    done = await _send(api, me, about["kind"], entry)
    again = await _in_hand(api, me, done["task"]) if entry.act == "undo" and not entry.task else None
    if again is not None:
        done |= {"shown": _as_markup(about, again)}
    return JSONResponse(done, headers={"Cache-Control": "no-store"})


@dataclass(frozen=True)
class Entry:
    """An entry of a form or of the outbox: an answer, a skip or an undo, with its idempotency key."""

    act: str
    task: str
    key: str
    fields: forms.Fields
    client_ms: int | None = None


async def _send(api: Api, me: Visitor, kind: str, entry: Entry) -> Any:
    """Send an entry to the API."""
    if not _KEY.fullmatch(entry.key):
        raise ApiRefusal(400, "The form has no key", "Reload the page and answer again.")
    where, body = f"/projects/{me.project}", dict[str, Any](_worker_of(me))
    body |= {"task": entry.task} if entry.task else {}
    if entry.act == "skip":
        return await api.post(f"{where}/skips", body, entry.key)
    if entry.act == "undo":
        return await api.post(f"{where}/undo", body, entry.key)
    if entry.act != "answer":
        raise ApiRefusal(422, "The page knows answer, skip and undo", f"Got {entry.act[:20]!r}.")
    body["answer"] = forms.answer_of(kind, entry.fields)
    lease = forms.one(entry.fields, "lease")
    body |= {"lease": int(lease)} if lease.isdecimal() and len(lease) < 16 else {}
    body |= {"client_ms": entry.client_ms} if entry.client_ms is not None else {}
    return await api.post(f"{where}/labels", body, entry.key)


async def _next(api: Api, me: Visitor, n: int) -> Any:
    """Assigned tasks of the visitor."""
    return await api.get(f"/projects/{me.project}/next", n=n, **_worker_of(me))


def _worker_of(me: Visitor) -> dict[str, str]:
    """The worker for whom an admin answers; empty for a worker's own token."""
    return {"worker": me.worker} if me.acting else {}


async def _page(
    request: Request, project: str, *, status: int = 200, notice: str = "", wrong: str = "", again: Any = None
) -> Response:
    api = Api.of(request)
    me, about = await visitor(request), await api.get(f"/projects/{project}")
    assigned = await _next(api, me, 1)
    tasks = [again] if again is not None else assigned["tasks"][:1]
    task = tasks[0] if tasks else None
    return page(
        "annotate.html.j2", status, project=project, about=about, me=me, csrf=forms.form_token(request),
        stopped=assigned.get("stopped"), progress=assigned.get("progress") or {}, notice=notice, wrong=wrong,
        undo_key=forms.new_key(), **parts_of(about, task),
    )  # fmt: skip


def parts_of(about: Any, task: Any) -> dict[str, Any]:
    """The variables of the task template."""
    shown = None if task is None else view(task)
    kind, classes = about["kind"], about["classes"]
    spelled = words(shown["text"]) if shown and kind == "spans" else []
    return {
        "task": shown, "kind": kind, "low": about["low"], "high": about["high"], "classes": classes,
        "keys": _keys(classes), "words": spelled, "key": forms.new_key(),
    }  # fmt: skip


def _keys(classes: list[str]) -> list[str]:
    """The keyboard key of each class: the class itself if all are digits, else 1 to 9 for the first nine."""
    if all(len(name) == 1 and name in "0123456789" for name in classes):
        return classes
    return [str(place) if place <= 9 else "" for place in range(1, len(classes) + 1)]


def _as_markup(about: Any, task: Any) -> dict[str, Any]:
    html = fragment("task.html.j2", **parts_of(about, task))
    return {"id": str(task["id"]), "expires_at": task.get("expires_at"), "html": html}


async def _in_hand(api: Api, me: Visitor, name: str) -> Any:
    """A task whose answer was undone, if it is assigned to the worker again."""
    assigned = await _next(api, me, 2 * MOST_AHEAD)
    return next((task for task in assigned["tasks"] if task["id"] == name), None)
