"""The application over an open project."""

from __future__ import annotations

import json
import time
from functools import cached_property
from typing import Any

from fastapi import FastAPI, Request, Response

from ... import __version__
from ..export import Reports
from ..pages.routes import attach as attach_pages
from ..project import Project
from . import annotate, check, lead, review, shape, watch
from .forms import ProblemOut
from .guard import Guard, Message, Receive, Send
from .hub import Hub
from .who import RateLimiter

API = ("/projects", "/media", "/healthz", "/metrics")
# Rate limit of reports: reports per second, and burst.
REPORTS = (0.1, 5.0)
ABOUT = "Live labelling: tasks out, answers in, each stored before it is acknowledged. Errors are RFC 9457 problems."


class App(FastAPI):
    """FastAPI behind the `Guard`."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle a request."""
        scope["app"] = self
        await self._front(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document, with the schema of problems and without the web pages."""
        if not self.openapi_schema:
            document = super().openapi()
            document.setdefault("components", {}).setdefault("schemas", {})["ProblemOut"] = (
                ProblemOut.model_json_schema()
            )
            document["paths"] = {path: ways for path, ways in document["paths"].items() if path.startswith(API)}
        return self.openapi_schema or {}

    @cached_property
    def document(self) -> bytes:
        """The encoded OpenAPI document, cached because it is public."""
        return json.dumps(self.openapi(), ensure_ascii=False, separators=(",", ":")).encode()

    @cached_property
    def _front(self) -> Guard:
        return Guard(super().__call__)


async def _document(request: Request) -> Response:
    app: App = request.app
    return Response(app.document, media_type="application/json")


def make_app(
    project: Project,
    *,
    insecure_local: bool = False,
    rate: float = 50.0,
    burst: float = 200.0,
    public_url: str = "http://127.0.0.1:8000",
) -> FastAPI:
    """Build the application.

    Args:
        project: The open project.
        insecure_local: Treat requests without a token as an admin's, if they come from this machine.
        rate: Requests per second and token.
        burst: Requests at once per token.
        public_url: Address of the server in invite links, whatever the Host header of a request.
    """
    app = App(
        title="crowdwise", version=__version__, description=ABOUT, openapi_url=None, docs_url=None, redoc_url=None
    )
    app.state.project = project
    app.state.insecure_local = insecure_local
    app.state.public_url = public_url.rstrip("/")
    app.state.rates = RateLimiter(rate, burst)
    app.state.strangers = RateLimiter(5.0, 50.0)
    app.state.answered = {}
    app.state.started = time.time()
    app.state.hub = Hub(project)
    fits = RateLimiter(*REPORTS)
    app.state.reports = Reports(project, lambda: fits.take("report"))
    app.add_api_route("/openapi.json", _document, include_in_schema=False)
    shape.attach(app)
    for part in (annotate, check, lead, review, watch):
        app.include_router(part.router)
    attach_pages(app, project)
    return app
