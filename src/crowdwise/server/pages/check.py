"""The check page: random tasks for an expert, with plain forms and without the answers of others."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from . import forms
from .annotate import parts_of
from .api import Api, ApiRefusal
from .frame import page
from .visitor import visitor

router = APIRouter(include_in_schema=False, route_class=forms.PageRoute)
_MOST_PASSED = 10**6


@router.get("/p/{project}/check")
async def check(request: Request, project: str, after: int = 0, last: str = "") -> Response:
    """The next task of the queue; `after` tasks are passed over for now, `last` is the task answered before."""
    return await _page(request, project, after=min(max(after, 0), _MOST_PASSED), last=last[:200])


@router.post("/p/{project}/check")
async def checked(request: Request, project: str) -> Response:
    """An answer, or the undo of the last one, followed by a redirect to the page."""
    fields = await forms.read(request)
    forms.check(request, forms.one(fields, "csrf"))
    api, task = Api.of(request), forms.one(fields, "task")
    passed = forms.one(fields, "after", "0")
    after = int(passed) if passed.isdecimal() and len(passed) < 8 else 0
    try:
        if forms.one(fields, "action", "answer") == "undo":
            answer = None
        else:
            answer = forms.answer_of((await api.get(f"/projects/{project}"))["kind"], fields)
        await api.post(f"/projects/{project}/checks/labels", {"task": task, "answer": answer})
    except ApiRefusal as no:
        if no.status in (401, 403, 429) or no.status >= 500:
            raise
        return await _page(request, project, status=no.status, after=after, wrong=no.detail or no.title)
    last = f"&last={quote(task, safe='')}" if answer is not None else ""
    where = f"/p/{quote(project, safe='')}/check?after={after}{last}"
    return RedirectResponse(where, 303, headers={"Cache-Control": "no-store"})


async def _page(
    request: Request, project: str, *, status: int = 200, after: int = 0, last: str = "", wrong: str = ""
) -> Response:
    api = Api.of(request)
    me, about = await visitor(request), await api.get(f"/projects/{project}")
    queue = await api.get(f"/projects/{project}/checks/next", after=after)
    if not queue["tasks"] and after:  # start again with those that were passed over
        after, queue = 0, await api.get(f"/projects/{project}/checks/next")
    task: Any = queue["tasks"][0] if queue["tasks"] else None
    return page(
        "check.html.j2", status, project=project, about=about, me=me, csrf=forms.form_token(request), after=after,
        last=last, wrong=wrong, progress=queue["progress"], **parts_of(about, task),
    )  # fmt: skip
