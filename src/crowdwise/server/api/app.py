"""The application over an open project."""

from __future__ import annotations

import time

from fastapi import FastAPI

from ... import __version__
from ..pages.routes import attach as attach_pages
from ..project import Project
from . import annotate, lead, shape, watch
from .guard import Guard
from .lane import Lane
from .who import Rates

ABOUT = "Live labelling: tasks out, answers in, each stored before it is acknowledged. Errors are RFC 9457 problems."


def make_app(project: Project, *, insecure_local: bool = False, rate: float = 50.0, burst: float = 200.0) -> FastAPI:
    """`insecure_local`: who comes without a token is an admin; for a server that only this machine can reach."""
    app = FastAPI(title="crowdwise", version=__version__, description=ABOUT, docs_url=None, redoc_url=None)
    app.state.project = project
    app.state.insecure_local = insecure_local
    app.state.rates = Rates(rate, burst)
    app.state.strangers = Rates(5.0, 50.0)
    app.state.answered = {}
    app.state.started = time.time()
    shape.attach(app)
    for part in (annotate, lead, watch):
        app.include_router(part.router)
    attach_pages(app, project)
    app.add_middleware(Lane)
    app.add_middleware(Guard)
    return app
