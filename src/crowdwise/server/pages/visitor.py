"""Who looks at a page: the token's worker, or its scope where it belongs to nobody."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from fastapi import Request

from ..api.who import who
from ..auth import MAY
from ..project import Project
from .api import Refused

# Under which worker's name an admin answers in this browser.
ACTING = "crowdwise_as"


@dataclass(frozen=True)
class Visitor:
    """`worker` is the name under which answers are kept, empty where there is none; `acting`: an admin answers so."""

    name: str
    worker: str
    scopes: tuple[str, ...]
    project: str
    question: str
    acting: bool = False


async def visitor(request: Request) -> Visitor:
    """Who it is; a Refused with 401 for nobody that is known."""
    principal = await who(request)
    if principal is None:
        raise Refused(401, "A token is needed", "Use your invite link, or log in with a token.")
    project: Project = request.app.state.project
    live = project.queue.live
    worker = "" if principal.worker is None else live.crowd.workers[principal.worker].name
    scopes = tuple(sorted(MAY[principal.scope]))
    acting = principal.worker is None and principal.may("admin")
    if acting:
        named = unquote(request.cookies.get(ACTING, ""))
        worker = named if named in live.crowd.worker_code else ""
    return Visitor(worker or principal.scope, worker, scopes, project.name, live.config.question, acting)
