"""The page of reviewers: a task with its answers, to accept, correct or send back."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from . import forms
from .annotate import parts_of
from .api import Api, ApiRefusal
from .frame import page
from .lead_view import answer_text
from .visitor import visitor

router = APIRouter(include_in_schema=False, route_class=forms.PageRoute)
_MOST_PASSED = 10**6


@router.get("/p/{project}/review")
async def review(request: Request, project: str, after: int = 0, last: str = "") -> Response:
    """The next task; `after` tasks are passed over for now, `last` is the task decided before."""
    return await _page(request, project, after=min(max(after, 0), _MOST_PASSED), last=last[:200])


@router.post("/p/{project}/review")
async def reviewed(request: Request, project: str) -> Response:
    """A decision, the withdrawal of the last one, or answers that are sent back; then a redirect to the page."""
    fields = await forms.read(request)
    forms.check(request, forms.one(fields, "csrf"))
    api, task = Api.of(request), forms.one(fields, "task")
    passed = forms.one(fields, "after", "0")
    after = int(passed) if passed.isdecimal() and len(passed) < 8 else 0
    action = forms.one(fields, "action", "answer")
    try:
        await _act(api, project, task, action, fields)
    except ApiRefusal as no:
        if no.status in (401, 403, 429) or no.status >= 500:
            raise
        return await _page(request, project, status=no.status, after=after, wrong=no.detail or no.title)
    last = f"&last={quote(task, safe='')}" if action == "answer" else ""
    where = f"/p/{quote(project, safe='')}/review?after={after}{last}"
    return RedirectResponse(where, 303, headers={"Cache-Control": "no-store"})


async def _act(api: Api, project: str, task: str, action: str, fields: forms.Fields) -> None:
    where, note = f"/projects/{project}", forms.one(fields, "note").strip()
    if action == "return":
        await api.post(f"{where}/returns", {"task": task, "note": note})
    elif action == "resolve":
        await api.post(f"{where}/comments", {"task": task, "text": note, "resolved": True})
    else:
        answer = None
        if action != "undo":
            accepted = forms.one(fields, "accept")
            kind = (await api.get(where))["kind"]
            answer = forms.json_of(accepted) if accepted else forms.answer_of(kind, fields)
        await api.post(f"{where}/reviews", {"task": task, "answer": answer, "note": note})


async def _page(
    request: Request, project: str, *, status: int = 200, after: int = 0, last: str = "", wrong: str = ""
) -> Response:
    api = Api.of(request)
    me, about = await visitor(request), await api.get(f"/projects/{project}")
    queue = await api.get(f"/projects/{project}/reviews/next", after=after)
    if not queue["tasks"] and after:  # start again with those that were passed over
        after, queue = 0, await api.get(f"/projects/{project}/reviews/next")
    task: Any = queue["tasks"][0] if queue["tasks"] else None
    return page(
        "review.html.j2", status, project=project, about=about, me=me, csrf=forms.form_token(request), after=after,
        last=last, wrong=wrong, progress=queue["progress"], seen=None if task is None else _shown(task),
        **parts_of(about, task),
    )  # fmt: skip


def _shown(task: Any) -> dict[str, Any]:
    """The answers and the estimate of a task as the page shows them."""
    estimate = task["estimate"]
    best = task["settled"] or task["live"] or {}
    texts = [answer_text(answer["answer"]) for answer in task["answers"]]
    return {
        "tally": Counter(texts).most_common(12), "n": len(texts), "comments": task["comments"],
        "label": "" if estimate is None else answer_text(estimate), "confidence": best.get("confidence"),
        "accept": "" if estimate is None else json.dumps(estimate), "decided": task["decided"],
    }  # fmt: skip
