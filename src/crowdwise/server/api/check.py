"""Routes of the check queue: random tasks that an expert labels, to measure accuracy."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from ..auth import Principal
from ..commands import check as commands
from . import forms
from .annotate import Here
from .lead import Admin, Reader
from .shape import ERRORS, as_json
from .who import needs

router = APIRouter(prefix="/projects/{p}/checks", tags=["check"], responses=ERRORS)
Checker = Annotated[Principal, Depends(needs("check"))]


@router.get("")
async def progress(_: Reader, here: Here) -> Response:
    """Numbers of tasks in the check queue, checked and left."""
    return as_json(await here.queue.ask(lambda batch: batch.live.checks.progress, write=False))


@router.post("", status_code=201)
async def ask(form: forms.ChecksIn, by: Admin, here: Here) -> Response:
    """Put random labelled tasks into the queue; the seed is in the log."""
    return as_json(await here.queue.ask(lambda batch: commands.ask(batch, form.n, by.token)), 201)


@router.get("/next")
async def next_(
    _: Checker,
    here: Here,
    n: Annotated[int, Query(ge=1, le=200)] = 1,
    after: Annotated[int, Query(ge=0, le=10**6, description="Number of tasks to pass over for now.")] = 0,
) -> Response:
    """The next tasks of the queue with their payloads, without the answers and estimates."""
    return as_json(await here.queue.ask(lambda batch: commands.waiting(batch, n, after)))


@router.post("/labels")
async def labels(form: forms.CheckIn, by: Checker, here: Here) -> Response:
    """Set the true answer of a task of the queue as gold; null removes it."""
    return as_json(await here.queue.ask(lambda batch: commands.answer(batch, form.task, form.answer, by.token)))
