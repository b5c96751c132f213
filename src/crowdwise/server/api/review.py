"""Routes of the table of tasks and of reviews."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Depends, Query, Response
from starlette.concurrency import run_in_threadpool

from ..auth import Principal
from ..batch import WriteBatch
from ..commands import review as commands
from ..live.browse import Filters, page_of
from ..project import Project
from ..store import quick
from ..store.search import history_of, tasks_of, tasks_with
from . import forms
from .annotate import Here, Who
from .commands import worker_of
from .lead import Admin, Name, Reader
from .shape import ERRORS, as_json
from .who import needs

router = APIRouter(prefix="/projects/{p}", tags=["review"], responses=ERRORS)
Reviewer = Annotated[Principal, Depends(needs("review"))]
Share = Annotated[float | None, Query(ge=0, le=1)]


# ---------------------------------------------------------------- the table of tasks
@router.get("/browse")
async def browse(
    _: Reader,
    here: Here,
    q: Annotated[str, Query(max_length=200, description="Words of the id or the fields.")] = "",
    state: Annotated[str | None, Query(max_length=20)] = None,
    label: Annotated[str | None, Query(max_length=200)] = None,
    above: Share = None,
    below: Share = None,
    disagreement: Share = None,
    flagged: bool | None = None,
    review: Literal["waiting", "done", "returned", "reported"] | None = None,
    worker: Annotated[str | None, Query(max_length=200)] = None,
    order: Literal["given", "confidence", "answers", "disagreement"] = "given",
    after: Annotated[str, Query(max_length=60, description="The `next` of the page before.")] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """A page of tasks by filters, in an order. `total` counts all that pass; `limited` says that a search stopped at
    10,000 tasks. Confidence and disagreement are those of the last fit."""
    code = None if worker is None else await here.queue.ask(lambda batch: batch.worker(worker), write=False)
    codes, limited = await run_in_threadpool(_searched, here, q.strip(), code)
    filters = Filters(state, label, above, below, disagreement, flagged, review, codes)

    def command(batch: WriteBatch) -> tuple[dict[str, Any], list[int]]:
        return page_of(batch.live, filters, order, after, limit)

    body, shown = await here.queue.ask(command, write=False)
    payloads = await run_in_threadpool(_payloads, here, shown)
    for row, task in zip(body["tasks"], shown, strict=True):
        row["payload"] = payloads[task]
    return as_json(body | {"limited": limited})


def _payloads(here: Project, codes: list[int]) -> dict[int, Any]:
    with here.database.reader.connect() as connection:
        return {code: json.loads(text) for code, text in quick.shown(connection, here.name, codes).items()}


def _searched(here: Project, words: str, worker: int | None) -> tuple[Any, bool]:
    """The tasks of a search, of a worker, or of both; None without either."""
    codes, limited = None, False
    with here.database.reader.connect() as connection:
        if words:
            codes, limited = tasks_with(connection, here.name, words)
        if worker is not None:
            own = tasks_of(connection, here.name, worker)
            codes = own if codes is None else np.intersect1d(codes, own)
    return codes, limited


@router.get("/history/{task:path}")
async def history(task: Name, _: Reader, here: Here) -> Response:
    """All events of a task: answers with their workers, replaced ones too, gold, reviews, comments."""

    def names(batch: WriteBatch) -> tuple[int, list[str]]:
        return batch.task(task), [worker.name for worker in batch.live.crowd.workers]

    code, workers = await here.queue.ask(names, write=False)
    events = await run_in_threadpool(_history, here, code)
    for event in events:
        event["worker"] = None if event["worker"] is None else workers[event["worker"]]
    return as_json({"task": task, "events": events})


def _history(here: Project, code: int) -> list[dict[str, Any]]:
    with here.database.reader.connect() as connection:
        return history_of(connection, here.name, code)


@router.post("/exclusions")
async def exclude(form: forms.ExcludeIn, by: Admin, here: Here) -> Response:
    """Leave a task out of fits and exports and give it to nobody, or end this."""

    def command(batch: WriteBatch) -> dict[str, Any]:
        return commands.exclude(batch, form.task, form.excluded, form.reason, by.token)

    return as_json(await here.queue.ask(command))


@router.post("/requests", status_code=201)
async def more(form: forms.MoreIn, by: Admin, here: Here) -> Response:
    """Ask for more answers to a task, also when it is closed or at its cap."""
    return as_json(
        await here.queue.ask(lambda batch: commands.ask_again(batch, form.task, form.answers, by.token)), 201
    )


# ---------------------------------------------------------------- reviews
@router.get("/reviews")
async def progress(_: Reader, here: Here) -> Response:
    """Numbers of reviewed and waiting tasks, and the agreement of reviewers."""

    def command(batch: WriteBatch) -> dict[str, Any]:
        live = batch.live
        return live.reviews.progress(live.config.reviewers) | {"waiting": live.columns.n_queued(live)}

    return as_json(await here.queue.ask(command, write=False))


@router.get("/reviews/next")
async def next_(
    who: Reviewer,
    here: Here,
    n: Annotated[int, Query(ge=1, le=50)] = 1,
    after: Annotated[int, Query(ge=0, le=10**6, description="Number of tasks to pass over for now.")] = 0,
) -> Response:
    """The next tasks for this reviewer, those first whose label a decision is most likely to change; with the answers,
    but without the names of workers."""
    return as_json(await here.queue.ask(lambda batch: commands.waiting(batch, reviewer_of(who), n, after)))


@router.post("/reviews", status_code=201)
async def decide(form: forms.ReviewIn, who: Reviewer, here: Here) -> Response:
    """Decide on a task. The decision that settles it makes its answer gold; null withdraws the own decision."""

    def command(batch: WriteBatch) -> dict[str, Any]:
        return commands.decide(batch, form.task, form.answer, reviewer_of(who), form.note, who.token)

    return as_json(await here.queue.ask(command), 201)


@router.post("/returns", status_code=201)
async def send_back(form: forms.ReturnIn, who: Reviewer, here: Here) -> Response:
    """Take answers back and give the task to their workers again, with a note."""

    def command(batch: WriteBatch) -> dict[str, Any]:
        return commands.send_back(batch, form.task, form.note, reviewer_of(who), form.workers, who.token)

    return as_json(await here.queue.ask(command), 201)


@router.post("/comments", status_code=201)
async def comment(form: forms.CommentIn, who: Reviewer, here: Here) -> Response:
    """Comment on a task, or end the workers' reports of it."""

    def command(batch: WriteBatch) -> dict[str, Any]:
        kind = "resolved" if form.resolved else "comment"
        return commands.comment(batch, form.task, form.text, reviewer_of(who), kind, by=who.token)

    return as_json(await here.queue.ask(command), 201)


@router.post("/reports", status_code=201)
async def report(form: forms.ReportIn, who: Who, here: Here) -> Response:
    """Report that something is wrong with a task that was given to the worker."""

    def command(batch: WriteBatch) -> dict[str, Any]:
        worker = worker_of(batch, who, form.worker)
        name = batch.live.crowd.workers[worker].name
        return commands.comment(batch, form.task, form.text, name, "report", worker)

    return as_json(await here.queue.ask(command), 201)


def reviewer_of(who: Principal) -> str:
    """The name under which a caller reviews."""
    return who.name or "lead"
