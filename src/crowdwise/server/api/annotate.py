"""Routes of workers: what to do next, answers, skips, undo."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response

from ..acts import annotate as acts
from ..auth import Principal
from ..problems import Problem
from ..project import Project
from ..shift import Shift
from ..words import KEY, name_of
from . import forms
from .shape import ERRORS, as_json
from .who import needs

router = APIRouter(prefix="/projects/{p}", tags=["annotate"], responses=ERRORS)
Who = Annotated[Principal, Depends(needs("annotate"))]
IdempotencyKey = Annotated[
    str, Header(alias="Idempotency-Key", min_length=1, max_length=KEY, pattern=r"^[\x21-\x7e]+$")
]
Tasks = Annotated[int, Query(ge=1, le=acts.HANDS)]
WorkerName = Annotated[str | None, Query(max_length=200, description="For an admin: whose tasks.")]


def project_of(request: Request, p: Annotated[str, Path(max_length=200)]) -> Project:
    """The project that this server holds, if it is the one that was asked for."""
    project: Project = request.app.state.project
    if p != project.name:
        raise Problem(404, f"there is no project {p[:80]!r}; this server holds {project.name}")
    return project


Here = Annotated[Project, Depends(project_of)]


def worker_of(shift: Shift, who: Principal, name: str | None) -> int:
    """Whose answer it is: the token's worker, or whom an admin names."""
    if name is not None:
        if not who.may("admin"):
            raise Problem(403, "only an admin's token may name the worker")
        return shift.worker(name)
    if who.worker is None:
        raise Problem(422, "this token belongs to no worker; name one")
    return who.worker


def body_hash(form: forms.Form) -> str:
    """What tells two requests with the same key apart."""
    return hashlib.sha256(form.model_dump_json().encode()).hexdigest()[:32]


def said_of(who: Principal, form: forms.LabelIn, key: str) -> acts.Said:
    """An answer as the desk takes it."""
    trusted = who.may("admin")
    return acts.Said(form.task, form.answer, key, body_hash(form), form.lease, form.client_ms, trusted, form.about)


@router.get("/next", response_model=forms.NextOut)
async def next_(who: Who, here: Here, n: Tasks = 1, worker: WorkerName = None) -> Response:
    """Up to n tasks in the worker's hands: those they have already, then new ones."""
    return as_json(await here.desk.ask(lambda shift: acts.next_tasks(shift, worker_of(shift, who, worker), n)))


@router.post("/labels", status_code=201, response_model=forms.Receipt, responses={200: {"model": forms.Receipt}})
async def labels(
    form: forms.LabelIn,
    key: IdempotencyKey,
    who: Who,
    here: Here,
    n: Annotated[int, Query(alias="next", ge=0, le=acts.HANDS, description="Tasks to take along.")] = 0,
) -> Response:
    """Store an answer. 201 when it is on the disk; 200 with the same receipt for the same key and body."""

    def command(shift: Shift) -> tuple[bool, dict[str, Any]]:
        worker = worker_of(shift, who, form.worker)
        new, receipt = _label(shift, who, worker, form, key)
        if n:
            receipt["next"] = acts.next_tasks(shift, worker, n)
        return new, receipt

    new, receipt = await here.desk.ask(command)
    return as_json(receipt, 201 if new else 200)


def _label(shift: Shift, who: Principal, worker: int, form: forms.LabelIn, key: str) -> tuple[bool, dict[str, Any]]:
    new, receipt = acts.label(shift, worker, said_of(who, form, key))
    if not who.may("admin"):  # why a task stops would tell which ones are gold, and what others said
        receipt["stopped"] = None
    return new, receipt


@router.post("/labels/bulk", response_model=forms.BulkOut)
async def bulk(form: forms.BulkIn, who: Who, here: Here) -> Response:
    """Store many answers, each with its own key; each gets its receipt or its problem."""

    def command(shift: Shift) -> list[dict[str, Any]]:
        out = []
        for each in form.labels:
            try:
                name_of(each.key, "the key", KEY)
                new, receipt = _label(shift, who, worker_of(shift, who, each.worker), each, each.key)
                out.append({"status_code": 201 if new else 200} | receipt)
            except Problem as problem:
                out.append({"status_code": problem.status} | problem.to_dict())
        return out

    return as_json({"results": await here.desk.ask(command)})


@router.post("/skips", status_code=201, responses={200: {}})
async def skips(form: forms.SkipIn, key: IdempotencyKey, who: Who, here: Here) -> Response:
    """Give a task back; this worker does not get it again."""

    def command(shift: Shift) -> tuple[bool, dict[str, Any]]:
        from ..words import text_of

        worker, why = worker_of(shift, who, form.worker), text_of(form.reason, "the reason", 500)
        return acts.skip(shift, worker, form.task, why, key, body_hash(form))

    new, receipt = await here.desk.ask(command)
    return as_json(receipt, 201 if new else 200)


@router.post("/undo", status_code=201, responses={200: {}})
async def undo(form: forms.UndoIn, key: IdempotencyKey, who: Who, here: Here) -> Response:
    """Take back the last answer, or that to a task; the task is in the worker's hands again."""

    def command(shift: Shift) -> tuple[bool, dict[str, Any]]:
        return acts.undo(shift, worker_of(shift, who, form.worker), form.task, key, body_hash(form))

    new, receipt = await here.desk.ask(command)
    return as_json(receipt, 201 if new else 200)
