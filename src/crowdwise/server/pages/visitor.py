"""The visitor of a page: the worker of the token, or its scope if it belongs to no worker."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from fastapi import Request

from ..api.who import who
from ..auth import MAY
from ..project import Project
from .api import ApiRefusal

# The cookie with the name of the worker for whom an admin answers.
ACTING = "crowdwise_as"


@dataclass(frozen=True)
class Visitor:
    """`worker` is the name of the worker of the answers, if any; `acting`: an admin answers for them."""

    name: str
    worker: str
    scopes: tuple[str, ...]
    project: str
    question: str
    acting: bool = False


async def visitor(request: Request) -> Visitor:
    """The visitor of a request; refused with 401 without a valid token."""
    principal = await who(request)
    if principal is None:
        raise ApiRefusal(401, "A token is needed", "Use your invite link, or log in with a token.")
    project: Project = request.app.state.project
    live = project.queue.live
    worker = "" if principal.worker is None else live.crowd.workers[principal.worker].name
    scopes = tuple(sorted(MAY[principal.scope]))
    acting = principal.worker is None and principal.may("admin")
    if acting:
        named = unquote(request.cookies.get(ACTING, ""))
        worker = named if named in live.crowd.worker_code else ""
    return Visitor(
        worker or principal.name or principal.scope, worker, scopes, project.name, live.config.question, acting
    )
