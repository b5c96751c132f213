"""Routes of leads: the project, tasks, gold, workers, invitations, settings."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from .. import auth
from ..auth import Principal
from ..batch import WriteBatch
from ..commands import manage
from ..live.status import task_row, tasks_page, worker_rows
from ..project import Project
from ..store import tables as t
from . import forms
from .annotate import Here
from .shape import ERRORS, as_json
from .who import anybody, needs

router = APIRouter(prefix="/projects/{p}", tags=["lead"], responses=ERRORS)
Admin = Annotated[Principal, Depends(needs("admin"))]
Reader = Annotated[Principal, Depends(needs("read"))]
Name = Annotated[str, Path(max_length=200)]


@router.get("")
async def about(request: Request, here: Here) -> Response:
    """The question, the kind of answers, the classes, the guidelines; for any token."""
    principal = await anybody(request)
    config = here.queue.live.config
    shown = {"id": here.name, "question": config.question, "kind": config.kind, "classes": list(config.classes),
             "guidelines": config.guidelines, "low": config.low, "high": config.high, "paused": config.paused,
             "csrf": principal.csrf if principal.cookie else None}  # fmt: skip
    return as_json(shown)


@router.patch("")
async def change(form: forms.ChangeIn, by: Admin, here: Here) -> Response:
    """Change settings; omitted ones stay, null removes a cap, a budget or an accuracy."""
    given = form.model_dump(exclude_unset=True)
    return as_json(await here.queue.ask(lambda batch: manage.change(batch, given, by.token)))


# ---------------------------------------------------------------- tasks
@router.get("/tasks")
async def tasks(
    _: Reader,
    here: Here,
    state: Annotated[str | None, Query(max_length=20)] = None,
    order: Literal["given", "contested"] = "given",
    after: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    answers: bool = False,
) -> Response:
    """A page of tasks with their estimates; with `answers`, also their payloads and answers."""

    def page(batch: WriteBatch) -> tuple[dict[str, Any], list[int], list[str]]:
        page_ = tasks_page(batch.live, state, order, after, limit)
        return page_, [batch.task(row["id"]) for row in page_["tasks"]], _names(batch)

    body, codes, names = await here.queue.ask(page, write=False)
    if answers:
        by_task = await run_in_threadpool(_answers, here, codes)
        body["tasks"] = [
            row | _with_names(*by_task[code], names) for row, code in zip(body["tasks"], codes, strict=True)
        ]
    return as_json(body)


@router.get("/tasks/{task:path}")
async def task(task: Name, _: Reader, here: Here) -> Response:
    """A task with its payload, estimates and answers."""
    row, code, names = await here.queue.ask(lambda batch: _one(batch, task), write=False)
    answers = await run_in_threadpool(_answers, here, [code])
    return as_json(row | _with_names(*answers[code], names))


def _one(batch: WriteBatch, name: str) -> tuple[dict[str, Any], int, list[str]]:
    code = batch.task(name)
    return task_row(batch.live, code), code, _names(batch)


def _names(batch: WriteBatch) -> list[str]:
    return [worker.name for worker in batch.live.crowd.workers]


def _with_names(shown: Any, answers: list[dict[str, Any]], names: list[str]) -> dict[str, Any]:
    return {"payload": shown, "by_worker": [{"worker": names[answer.pop("code")], **answer} for answer in answers]}


def _answers(here: Project, codes: list[int]) -> dict[int, tuple[Any, list[dict[str, Any]]]]:
    """The payloads of tasks and the answers to them."""
    with here.database.reader.connect() as connection:
        of = (t.task.c.project == here.name, t.task.c.code.in_(codes))
        shown = connection.execute(sa.select(t.task.c.code, t.task.c.payload).where(*of)).all()
        mine = (t.current.c.project == here.name, t.current.c.task.in_(codes))
        # Sorted here, because with ORDER BY SQLite would scan the whole log.
        rows = sorted(connection.execute(sa.select(t.current).where(*mine)), key=lambda row: row.id)
    out: dict[int, tuple[Any, list[dict[str, Any]]]] = {
        row.code: (json.loads(row.payload or "{}"), []) for row in shown
    }
    for row in rows:
        payload = json.loads(row.payload)
        out[row.task][1].append({"code": row.worker, "answer": payload["answer"], "status": payload["status"],
                                 "event": row.id, "at": row.received_at, "client_ms": row.client_ms})  # fmt: skip
    return out


@router.post("/tasks", status_code=201)
async def add_tasks(form: forms.TasksIn, by: Admin, here: Here) -> Response:
    """Add tasks, all or none; existing tasks with the same payload are left unchanged."""
    given = form.model_dump()["tasks"]
    return as_json(await here.queue.ask(lambda batch: manage.add_tasks(batch, given, by.token)), 201)


@router.post("/gold")
async def gold(form: forms.GoldIn, by: Admin, here: Here) -> Response:
    """Set the gold of a task; null removes it."""

    def command(batch: WriteBatch) -> dict[str, Any]:
        return manage.set_gold(batch, form.task, form.answer, by.token, drawn=form.drawn)

    return as_json(await here.queue.ask(command))


# ---------------------------------------------------------------- workers
@router.get("/workers")
async def workers(_: Reader, here: Here) -> Response:
    """All workers with their counts and quality."""

    rows = await here.queue.ask(lambda batch: worker_rows(batch.live, batch.now), write=False)
    return as_json({"workers": rows})


@router.post("/workers", status_code=201)
async def add_worker(form: forms.WorkerIn, by: Admin, here: Here) -> Response:
    """Add a worker and return their token, which is not stored."""

    def command(batch: WriteBatch) -> dict[str, Any]:
        code = manage.add_worker(batch, form.name, form.kind, form.cost, by.token)
        number, secret = auth.issue(batch, "annotate", code, by=by.token)
        return {"id": form.name, "token": secret, "token_id": number}

    return as_json(await here.queue.ask(command), 201)


@router.post("/workers/{worker:path}/pause")
async def pause(worker: Name, form: forms.PauseIn, by: Admin, here: Here) -> Response:
    """Pause a worker, who gets no more tasks."""
    return as_json(await here.queue.ask(lambda batch: manage.pause(batch, worker, form.reason, by.token)))


@router.post("/workers/{worker:path}/resume")
async def resume(worker: Name, by: Admin, here: Here) -> Response:
    """End a pause, also one by the floor."""
    return as_json(await here.queue.ask(lambda batch: manage.resume(batch, worker, by.token)))


@router.post("/workers/{worker:path}/tokens", status_code=201)
async def token(worker: Name, by: Admin, here: Here) -> Response:
    """Create another token for a worker, which is not stored."""

    def command(batch: WriteBatch) -> dict[str, Any]:
        number, secret = auth.issue(batch, "annotate", batch.worker(worker), by=by.token)
        return {"id": worker, "token": secret, "token_id": number}

    return as_json(await here.queue.ask(command), 201)


@router.post("/workers/{worker:path}/revoke")
async def revoke(worker: Name, by: Admin, here: Here) -> Response:
    """Revoke all tokens of a worker."""

    def command(batch: WriteBatch) -> dict[str, Any]:
        return {"worker": worker, "revoked": auth.revoke(batch, worker=batch.worker(worker), by=by.token)}

    return as_json(await here.queue.ask(command))


@router.post("/invites", status_code=201)
async def invite(request: Request, form: forms.InviteIn, by: Admin, here: Here) -> Response:
    """Create a link by which people join as workers."""
    code = await here.queue.ask(lambda batch: auth.invite(batch, form.uses, form.expires_in, by.token))
    return as_json({"url": f"{request.app.state.public_url}/join/{code}", "code": code}, 201)
