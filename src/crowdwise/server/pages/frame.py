"""Common parts of all pages: templates, static files with content-dependent URLs, headers.

Pages are written by templates only, which escape all values; the policy allows scripts and style sheets of this server
only, none of them inline, so that injected markup would have no effect.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ...report import svg, text
from .guidelines import rendered

# The service worker, whose scope are the pages of projects although it has another path.
WORKER = "offline.js"
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page from a template."""
    return HTMLResponse(fragment(template, **values), status_code=status, headers=HEADERS)


def fragment(template: str, **values: Any) -> str:
    """A part of a page; every value is escaped."""
    return _environment().get_template(template).render(**values)


def error_page(status: int, title: str, detail: str = "", *, back: str = "/") -> HTMLResponse:
    """An error page with a link back."""
    return page("error.html.j2", status, heading=title, detail=detail, back=back)


def static(name: str) -> Response | None:
    """A style sheet or script; it may be cached for ever, because its URL depends on the content."""
    content = _static().get(name)
    if content is None:
        return None
    kind = _TYPES[name.rpartition(".")[2]]
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
    if name == WORKER:
        headers["Service-Worker-Allowed"] = "/p/"
    return Response(content, media_type=f"{kind}; charset=utf-8", headers=headers)


@cache
def edition() -> str:
    """A hash of all static files together, so that scripts can import each other by relative names."""
    digest = hashlib.sha256()
    for name, content in sorted(_static().items()):
        digest.update(name.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()[:16]


@cache
def _static() -> dict[str, bytes]:
    entries = files("crowdwise.server.pages").joinpath("static").iterdir()
    static_files = {entry.name: entry.read_bytes() for entry in entries if entry.name.rpartition(".")[2] in _TYPES}
    # Pages and reports share a style sheet.
    return static_files | {"report.css": files("crowdwise.report").joinpath("static", "report.css").read_bytes()}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("crowdwise.server.pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "number": text.number,
        "percent": text.percent,
        "shown": text.shown,
        "guidelines": rendered,
        "moment": _moment,
        "whole": _whole,
    }
    environment.globals |= {"span": text.span, "count": text.count, "interval": svg.interval, "bands": svg.bands}
    environment.globals |= {"static": lambda name: f"/static/{edition()}/{name}"}
    return environment


def _whole(value: str) -> Markup:
    """A text for an attribute, with carriage returns, which browsers would drop but span positions count."""
    return Markup(escape(value).replace("\r", Markup("&#13;")))


def _moment(seconds: float) -> str:
    """2026-01-31 13:05 UTC."""
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
