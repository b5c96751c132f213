"""Routes of workers: next tasks, answers, skips, undo."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response

from ..auth import Principal
from ..batch import WriteBatch
from ..commands import annotate as commands
from ..problems import Problem
from ..project import Project
from ..serialization import KEY, name_of, text_of
from . import direct, forms
from .commands import Answer, Next, submission_of, tasks_json, worker_of
from .direct import DirectRoute
from .shape import ERRORS, as_json, from_json
from .who import needs

router = APIRouter(prefix="/projects/{p}", tags=["annotate"], responses=ERRORS, route_class=DirectRoute)
annotator = needs("annotate")
Who = Annotated[Principal, Depends(annotator)]
KEYS = r"^[\x21-\x7e]+$"
IdempotencyKey = Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=KEY, pattern=KEYS)]
Tasks = Annotated[int, Query(ge=1, le=commands.MAX_ASSIGNED)]
WorkerName = Annotated[str | None, Query(max_length=200, description="For an admin: whose tasks.")]


async def project_of(request: Request, p: Annotated[str, Path(max_length=200)]) -> Project:
    """The project of this server; a Problem for another name."""
    project: Project = request.app.state.project
    if p != project.name:
        raise Problem(404, f"there is no project {p[:80]!r}; this server holds {project.name}")
    return project


Here = Annotated[Project, Depends(project_of)]


async def read_next(request: Request) -> dict[str, Any] | None:
    """The arguments of a simple request for tasks, or None."""
    n = direct.number(request, "n", 1, 1, commands.MAX_ASSIGNED)
    return None if n is None else {"n": n}


async def read_label(request: Request) -> dict[str, Any] | None:
    """The arguments of a simple answer, or None."""
    n = direct.number(request, "next", 0, 0, commands.MAX_ASSIGNED)
    key = (direct.header(request, b"idempotency-key") or b"").decode("latin-1")
    if n is None or len(key) > KEY or not re.fullmatch(KEYS, key):
        return None
    form = await direct.body(request, forms.LabelIn)
    return None if form is None else {"form": form, "key": key, "n": n}


@router.get("/next", response_model=forms.NextOut)
@direct.direct(read_next, annotator, project_of)
async def next_(who: Who, here: Here, n: Tasks = 1, worker: WorkerName = None) -> Response:
    """Return up to n assigned tasks: those that the worker has already, then new ones."""
    return from_json(tasks_json(await here.queue.ask(Next(who, worker, n))))


@router.post("/labels", status_code=201, response_model=forms.Receipt, responses={200: {"model": forms.Receipt}})
@direct.direct(read_label, annotator, project_of)
async def labels(
    form: forms.LabelIn,
    key: IdempotencyKey,
    who: Who,
    here: Here,
    n: Annotated[int, Query(alias="next", ge=0, le=commands.MAX_ASSIGNED, description="Next tasks to return.")] = 0,
) -> Response:
    """Store an answer. 201 when it is on disk; 200 with the same receipt for the same key and body."""
    command = Answer(who, form, key, n)
    new, event, assigned = await here.queue.ask(command)
    return from_json(command.receipt(event, assigned), 201 if new else 200)


@router.post("/labels/bulk", response_model=forms.BulkOut)
async def bulk(form: forms.BulkIn, who: Who, here: Here) -> Response:
    """Store many answers, each with its own key; each gets its receipt or its problem."""

    labels = [(entry.worker, submission_of(who, entry, entry.key)) for entry in form.labels]
    lead = who.may("admin")

    def command(batch: WriteBatch) -> list[dict[str, Any]]:
        out = []
        for worker, submission in labels:
            try:
                name_of(submission.key, "the key", KEY)
                new, receipt = commands.label(batch, worker_of(batch, who, worker), submission, lead=lead)
                out.append({"status_code": 201 if new else 200} | receipt)
            except Problem as problem:
                out.append({"status_code": problem.status} | problem.to_dict())
        return out

    return as_json({"results": await here.queue.ask(command)})


@router.post("/skips", status_code=201, responses={200: {}})
async def skips(form: forms.SkipIn, key: IdempotencyKey, who: Who, here: Here) -> Response:
    """Skip a task; the worker does not get it again."""
    why, body = text_of(form.reason, "the reason", 500), forms.digest(form)

    def command(batch: WriteBatch) -> tuple[bool, dict[str, Any]]:
        return commands.skip(batch, worker_of(batch, who, form.worker), form.task, why, key, body)

    new, receipt = await here.queue.ask(command)
    return as_json(receipt, 201 if new else 200)


@router.post("/undo", status_code=201, responses={200: {}})
async def undo(form: forms.UndoIn, key: IdempotencyKey, who: Who, here: Here) -> Response:
    """Undo the last answer, or that to a task; the task is assigned to the worker again."""
    body = forms.digest(form)

    def command(batch: WriteBatch) -> tuple[bool, dict[str, Any]]:
        return commands.undo(batch, worker_of(batch, who, form.worker), form.task, key, body)

    new, receipt = await here.queue.ask(command)
    return as_json(receipt, 201 if new else 200)
