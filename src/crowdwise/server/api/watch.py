"""Routes that look on: health, metrics, status, events as they come."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from ..auth import Principal
from ..live.status import status as status_of
from .annotate import Here
from .shape import ERRORS, as_json
from .who import needs

router = APIRouter(tags=["watch"])
Reader = Annotated[Principal, Depends(needs("read"))]


@router.get("/healthz")
async def health(request: Request) -> Response:
    """200 while answers can be stored, 503 otherwise."""
    desk = request.app.state.project.desk
    return as_json({"status": "ok" if desk.sound else "cannot store"}, 200 if desk.sound else 503)


@router.get("/metrics", responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Numbers for Prometheus."""
    project = request.app.state.project
    live, desk = project.desk.live, project.desk
    lines = [
        ("crowdwise_events_total", "counter", "Events in the log.", live.last),
        ("crowdwise_answers", "gauge", "Answers that count.", live.n_answers),
        ("crowdwise_surplus_answers", "gauge", "Answers kept beyond the cap.", live.surplus),
        ("crowdwise_tasks", "gauge", "Tasks.", len(live.crowd.tasks)),
        ("crowdwise_open_tasks", "gauge", "Tasks that are open.", live.session.board.levels.n_open),
        ("crowdwise_leases", "gauge", "Tasks in people's hands.", len(live.leases.held)),
        ("crowdwise_workers", "gauge", "Workers.", len(live.crowd.workers)),
        ("crowdwise_commits_total", "counter", "Transactions that were stored.", desk.commits),
        ("crowdwise_commands_total", "counter", "Commands that came to the desk.", desk.commands),
        ("crowdwise_faults_total", "counter", "Batches that could not be stored.", desk.faults),
        ("crowdwise_uptime_seconds", "gauge", "Seconds since the start.", time.time() - request.app.state.started),
    ]
    out = [f"# HELP {name} {what}\n# TYPE {name} {kind}\n{name} {value}" for name, kind, what, value in lines]
    out.append(
        "# HELP crowdwise_http_responses_total Answers by status.\n# TYPE crowdwise_http_responses_total counter"
    )
    answered: dict[int, int] = request.app.state.answered
    out += [f'crowdwise_http_responses_total{{status="{code}"}} {n}' for code, n in sorted(answered.items())]
    return Response("\n".join(out) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/projects/{p}/status", responses=ERRORS)
async def status(_: Reader, here: Here) -> Response:
    """Where the project stands."""
    return as_json(await here.desk.ask(lambda shift: status_of(shift.live, shift.now), write=False))
