"""Routes for monitoring: health, metrics, status, event stream, exports."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from ..auth import Principal
from ..export import TYPES, table_of, written
from ..live.status import status as status_of
from ..problems import Problem
from ..store.folder import MEDIA
from .annotate import Here
from .shape import ERRORS, as_json
from .who import anybody, needs, who

router = APIRouter(tags=["watch"])
Reader = Annotated[Principal, Depends(needs("read"))]


@router.get("/healthz")
async def health(request: Request) -> Response:
    """200 while answers can be stored, 503 otherwise."""
    queue = request.app.state.project.queue
    return as_json({"status": "ok" if queue.sound else "cannot store"}, 200 if queue.sound else 503)


@router.get("/metrics", responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus."""
    project = request.app.state.project
    queue, live = project.queue, project.queue.live
    lines = [
        ("crowdwise_events_total", "counter", "Events in the log.", live.last),
        ("crowdwise_answers", "gauge", "Counted answers.", live.n_answers),
        ("crowdwise_surplus_answers", "gauge", "Answers stored beyond the cap.", live.surplus),
        ("crowdwise_tasks", "gauge", "Tasks.", len(live.crowd.tasks)),
        ("crowdwise_open_tasks", "gauge", "Open tasks.", live.session.task_index.priority_buckets.n_open),
        ("crowdwise_leases", "gauge", "Assigned tasks.", len(live.leases.held)),
        ("crowdwise_workers", "gauge", "Workers.", len(live.crowd.workers)),
        ("crowdwise_commits_total", "counter", "Committed transactions.", queue.commits),
        ("crowdwise_commands_total", "counter", "Commands that came to the write queue.", queue.commands),
        ("crowdwise_faults_total", "counter", "Batches that could not be stored.", queue.faults),
        ("crowdwise_failed_commands_total", "counter", "Commands that failed alone.", queue.failed),
        ("crowdwise_uptime_seconds", "gauge", "Seconds since the start.", time.time() - request.app.state.started),
    ]
    out = [f"# HELP {name} {what}\n# TYPE {name} {kind}\n{name} {value}" for name, kind, what, value in lines]
    out.append(
        "# HELP crowdwise_http_responses_total Responses by status.\n# TYPE crowdwise_http_responses_total counter"
    )
    answered: dict[int, int] = request.app.state.answered
    out += [f'crowdwise_http_responses_total{{status="{code}"}} {n}' for code, n in sorted(answered.items())]
    return Response("\n".join(out) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/projects/{p}/status", responses=ERRORS)
async def status(_: Reader, here: Here) -> Response:
    """The status of the project."""
    return as_json(await here.queue.ask(lambda batch: status_of(batch.live, batch.now), write=False))


@router.get("/projects/{p}/events", responses={**ERRORS, 200: {"content": {"text/event-stream": {}}}})
async def events(request: Request, by: Reader, here: Here) -> Response:  # noqa: ARG001
    """Stream of stored events (server-sent events): label, skip, worker, gold, stop, settled; and status."""

    async def allowed() -> bool:
        return await who(request) == by

    lines = request.app.state.hub.watch(allowed)
    return StreamingResponse(lines, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


FILES: dict[int | str, dict[str, Any]] = {200: {"content": {kind.partition(";")[0]: {} for kind in TYPES.values()}}}


@router.get("/projects/{p}/export/{what}.{format}", responses={**ERRORS, **FILES})
async def export(
    what: Literal["events", "labels", "workers", "votes"],
    format: Literal["csv", "jsonl", "parquet"],
    _: Reader,
    here: Here,
) -> Response:
    """A table as a file; `votes` is in the format of the library's other commands."""
    frame = await run_in_threadpool(table_of, here, what)
    body = await run_in_threadpool(written, frame, format)
    name = {"Content-Disposition": f'attachment; filename="{what}.{format}"'}
    return Response(body, headers=name, media_type=TYPES[format])


REPORT_CSP = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: https:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


@router.get("/projects/{p}/report", responses={**ERRORS, 200: {"content": {"text/html": {}}}})
async def report_(request: Request, _: Reader, here: Here) -> Response:  # noqa: ARG001
    """The current HTML report; its policy allows only its own script and style, by their hashes."""
    page = await request.app.state.reports.page()
    return Response(page, headers={"Content-Security-Policy": REPORT_CSP}, media_type="text/html; charset=utf-8")


IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
          ".avif": "image/avif", ".bmp": "image/bmp"}  # fmt: skip


@router.get("/media/{name}", responses={**ERRORS, 200: {"content": {"image/*": {}}}})
async def media(
    request: Request,
    name: Annotated[str, Path(max_length=200)],
    _: Annotated[Principal, Depends(anybody)],
) -> Response:
    """A picture of a task."""
    folder = request.app.state.project.folder.path / MEDIA
    path = folder / name
    kind = IMAGES.get(path.suffix.lower())
    inside = "/" not in name and "\\" not in name and "\0" not in name and path.parent == folder
    if kind is None or not inside or not await run_in_threadpool(path.is_file):
        raise Problem(404, f"there is no picture {name[:80]!r}")
    body = await run_in_threadpool(path.read_bytes)
    return Response(body, media_type=kind, headers={"Cache-Control": "private, max-age=86400"})
