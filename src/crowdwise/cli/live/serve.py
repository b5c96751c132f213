"""crowdwise serve: the server of a project, for browsers, scripts and judges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from ...core.errors import ParameterError
from ..options import option
from ..terminal import info
from .inputs import needs_packages

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    project: Annotated[Path, typer.Argument(help="Folder of the project.", metavar="DIR")],
    host: Annotated[
        str, option("Server", "--host", "Address to listen on; 0.0.0.0 accepts other machines.")
    ] = "127.0.0.1",
    port: Annotated[int, option("Server", "--port", "Port to listen on.", min=0, max=65_535)] = 8000,
    insecure_local: Annotated[
        bool, option("Server", "--insecure-local", "Treat requests without a token as an admin's; on 127.0.0.1 only.")
    ] = False,
    rate: Annotated[float, option("Limits", "--rate", "Requests per second allowed for each token.", min=0.1)] = 50.0,
    behind_proxy: Annotated[
        bool, option("Server", "--behind-proxy", "Trust a proxy on this machine about client addresses and https.")
    ] = False,
    public_url: Annotated[
        str, option("Server", "--public-url", "Public address of the server, for invite links.", metavar="URL")
    ] = "",
    connections: Annotated[int, option("Limits", "--connections", "Maximum number of open connections.", min=1)] = 800,
    head_seconds: Annotated[
        float, option("Limits", "--head-seconds", "Seconds within which the head of a request must arrive.", min=0.1)
    ] = 10.0,
    body_seconds: Annotated[
        float, option("Limits", "--body-seconds", "Seconds within which the body of a request must arrive.", min=0.1)
    ] = 60.0,
) -> None:
    """Serve a labelling project over HTTP."""
    if insecure_local and host not in LOOPBACK:
        raise ParameterError(f"--insecure-local works with 127.0.0.1 only, not with --host {host}; use tokens")
    if public_url and not is_public(public_url):
        raise ParameterError(f"--public-url is an address such as https://label.example.org, got {public_url[:80]!r}")
    with needs_packages("serve needs"):
        from ...server.api.connection import Limits
        from ...server.run import run

    def on_start(url: str) -> None:
        info(f"serving {project} at {url} (stop with Ctrl-C)")
        if host not in LOOPBACK and not public_url:
            info(f"invite links begin with {url}; set --public-url to the address where people reach the server")

    limits = Limits(connections=connections, head_seconds=head_seconds, body_seconds=body_seconds)
    run(
        project, host, port, insecure_local=insecure_local, rate=rate, proxy=behind_proxy, public_url=public_url,
        limits=limits, on_start=on_start,
    )  # fmt: skip


def is_public(url: str) -> bool:
    """Return whether this is the address of a web server: a scheme, a host, and at most a path."""
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and not (parts.query or parts.fragment or parts.username)
            and url.isprintable()
        )
    except ValueError:
        return False
