"""The table of tasks, and the page of one task with its answers, history and actions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from ..live.browse import STATES
from ..live.task_columns import ORDERS
from . import forms
from .api import Api, ApiRefusal
from .frame import page
from .lead import gold
from .lead_view import answer_text
from .task_view import plain, view
from .visitor import visitor

router = APIRouter(include_in_schema=False, route_class=forms.PageRoute)
ROWS = 50
REVIEWS = ("waiting", "done", "returned", "reported")
# Filters of the form, as the API takes them; those in percent are divided by a hundred.
_TEXTS, _SHARES = ("q", "state", "label", "review", "worker", "order"), ("above", "below", "disagreement")
NOTICES = {
    "gold": "The gold answer is kept.",
    "more": "Another answer is asked for.",
    "exclude": "The task is excluded.",
    "include": "The task is included again.",
    "comment": "The comment is kept.",
}


@router.get("/p/{project}/tasks")
async def tasks(request: Request, project: str) -> Response:
    """A page of the table; the filters are the parameters of the URL, empty ones do not filter."""
    api, me = Api.of(request), await visitor(request)
    about = await api.get(f"/projects/{project}")
    chosen = {name: value.strip() for name, value in request.query_params.items() if value.strip()}
    wrong = ""
    body: dict[str, Any] = {"tasks": [], "total": 0, "next": None, "limited": False}
    try:
        body = await api.get(f"/projects/{project}/browse", limit=ROWS, **_query(chosen))
    except ApiRefusal as no:
        if no.status not in (404, 422):
            raise
        wrong = no.detail or no.title
    more = urlencode({**chosen, "after": body["next"]}) if body["next"] else ""
    return page(
        "tasks.html.j2", 422 if wrong else 200, project=project, about=about, me=me, csrf=forms.form_token(request),
        chosen=chosen, wrong=wrong, rows=[_row(row) for row in body["tasks"]], total=body["total"], more=more,
        limited=body["limited"], states=[state for state in STATES if state], orders=list(ORDERS), reviews=REVIEWS,
    )  # fmt: skip


def _query(chosen: dict[str, str]) -> dict[str, Any]:
    """The parameters of the API; shares are percentages on the page."""
    query: dict[str, Any] = {name: chosen[name] for name in (*_TEXTS, "after") if name in chosen}
    for name in _SHARES:
        if name in chosen:
            try:
                query[name] = float(chosen[name]) / 100
            except ValueError:
                raise ApiRefusal(422, "A share is a number", f"{chosen[name][:20]!r} is not a number") from None
    if "flagged" in chosen:
        query["flagged"] = "true"
    return query


def _row(row: dict[str, Any]) -> dict[str, Any]:
    best = row["settled"] or row["live"] or {}
    shown = view(row)
    text = shown["text"] or " · ".join(value for _, value, _ in shown["fields"])
    sides = [side for side in (shown["left"], shown["right"]) if side]
    answered = row["answers"] > 0
    text = text or " / ".join(side.text for side in sides) or ", ".join(item.text for item in shown["things"])
    return {
        "id": row["id"], "text": text, "image": shown["image"], "state": row["state"].replace("_", " "),
        "label": _label(best) if answered else "", "confidence": best.get("confidence") if answered else None,
        "answers": row["answers"], "disagreement": row["disagreement"], "flagged": row["flagged"],
        "gold": "" if row["gold"] is None else answer_text(row["gold"]), "review": row["review"],
    }  # fmt: skip


def _label(best: dict[str, Any]) -> str:
    """The estimate of a task in one line."""
    for name in ("label", "labels", "value", "winner", "ranking", "spans"):
        if name in best:
            return answer_text(best[name])
    return ("same" if best["same"] else "different") if "same" in best else ""


@router.get("/p/{project}/task/{task:path}")
async def task(request: Request, project: str, task: str, notice: str = "") -> Response:
    """The page of a task."""
    return await _task_page(request, project, task, notice=NOTICES.get(notice, ""))


@router.post("/p/{project}/task/{task:path}")
async def act(request: Request, project: str, task: str) -> Response:
    """An action on a task, followed by a redirect to its page."""
    fields = await forms.read(request)
    forms.check(request, forms.one(fields, "csrf"))
    name = forms.one(fields, "action")
    action = _ACTIONS.get(name)
    if action is None:
        raise ApiRefusal(422, "The page does not have this action", "Reload it and try again.")
    try:
        await action(Api.of(request), project, [*fields, ("task", task)])
    except ApiRefusal as no:
        if no.status == 401 or no.status >= 500:
            raise
        return await _task_page(request, project, task, status=no.status, wrong=no.detail or no.title)
    where = f"/p/{quote(project, safe='')}/task/{quote(task, safe='')}?notice={name}"
    return RedirectResponse(where, 303, headers={"Cache-Control": "no-store"})


async def _task_page(
    request: Request, project: str, task: str, *, status: int = 200, notice: str = "", wrong: str = ""
) -> Response:
    api, me = Api.of(request), await visitor(request)
    about = await api.get(f"/projects/{project}")
    row = await api.get(f"/projects/{project}/tasks/{quote(task, safe='')}")
    events = (await api.get(f"/projects/{project}/history/{quote(task, safe='')}"))["events"]
    best = row["settled"] or row["live"] or {}
    posterior = sorted(best.get("posterior", {}).items(), key=lambda entry: -entry[1])[:12]
    return page(
        "browse_task.html.j2", status, project=project, about=about, me=me, csrf=forms.form_token(request), row=row,
        shown=view(row), notice=notice, wrong=wrong, admin="admin" in me.scopes, label=_label(best),
        confidence=best.get("confidence"), posterior=posterior if row["answers"] else [],
        answers=[(a["worker"], answer_text(a["answer"]), a["status"], a["at"]) for a in row["by_worker"]],
        events=[_event(event) for event in events], gold="" if row["gold"] is None else answer_text(row["gold"]),
    )  # fmt: skip


_TITLES = {
    "label": "answered", "undo": "answer taken back", "skip": "skipped", "gold": "gold set", "review": "reviewed",
    "return": "sent back", "comment": "comment", "exclude": "excluded", "more": "asked again",
}  # fmt: skip


def _event(event: dict[str, Any]) -> dict[str, Any]:
    """An event of the history as the page shows it."""
    title = _TITLES.get(event["kind"], event["kind"])
    if event["kind"] == "gold" and event.get("answer") is None:
        title = "gold removed"
    if event["kind"] == "exclude" and not event.get("excluded"):
        title = "included again"
    details = [answer_text(event["answer"])] if event.get("answer") is not None else []
    details += [plain(event[name]) for name in ("note", "text", "reason") if event.get(name)]
    return {"title": title, "who": event["worker"] or event.get("by") or "", "at": event["at"],
            "detail": " · ".join(details)}  # fmt: skip


async def _more(api: Api, project: str, fields: forms.Fields) -> Any:
    n = forms.whole_of(forms.one(fields, "answers", "1"), "The number of answers")
    return await api.post(f"/projects/{project}/requests", {"task": fields[-1][1], "answers": n})


async def _exclude(api: Api, project: str, fields: forms.Fields) -> Any:
    excluded = forms.one(fields, "action") == "exclude"
    body = {"task": fields[-1][1], "excluded": excluded, "reason": forms.one(fields, "reason").strip()}
    return await api.post(f"/projects/{project}/exclusions", body)


async def _comment(api: Api, project: str, fields: forms.Fields) -> Any:
    body = {"task": fields[-1][1], "text": forms.one(fields, "text").strip()}
    return await api.post(f"/projects/{project}/comments", body)


_ACTIONS: dict[str, Callable[[Api, str, forms.Fields], Awaitable[Any]]] = {
    "gold": gold,
    "more": _more,
    "exclude": _exclude,
    "include": _exclude,
    "comment": _comment,
}
