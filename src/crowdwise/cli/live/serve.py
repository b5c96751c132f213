"""crowdwise serve: the server of a project, for browsers, scripts and judges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from ...core.errors import MissingDependencyError, ParameterError
from ..terminal import info

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    project: Annotated[Path, typer.Argument(help="Folder of the project.", metavar="DIR", show_default=False)],
    host: Annotated[
        str,
        typer.Option("--host", help="Address to listen on; 0.0.0.0 accepts other machines.", rich_help_panel="Server"),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", help="Port to listen on.", min=0, max=65_535, rich_help_panel="Server")
    ] = 8000,
    insecure_local: Annotated[
        bool,
        typer.Option(
            "--insecure-local",
            help="Treat requests without a token as an admin's; on 127.0.0.1 only.",
            rich_help_panel="Server",
        ),
    ] = False,
    rate: Annotated[
        float,
        typer.Option("--rate", help="Requests per second allowed for each token.", min=0.1, rich_help_panel="Limits"),
    ] = 50.0,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="Trust a proxy on this machine about client addresses and https.",
            rich_help_panel="Server",
        ),
    ] = False,
    public_url: Annotated[
        str,
        typer.Option(
            "--public-url",
            help="Public address of the server, for invite links.",
            metavar="URL",
            rich_help_panel="Server",
        ),
    ] = "",
    connections: Annotated[
        int, typer.Option("--connections", help="Maximum number of open connections.", min=1, rich_help_panel="Limits")
    ] = 800,
    head_seconds: Annotated[
        float,
        typer.Option(
            "--head-seconds",
            help="Seconds within which the head of a request must arrive.",
            min=0.1,
            rich_help_panel="Limits",
        ),
    ] = 10.0,
    body_seconds: Annotated[
        float,
        typer.Option(
            "--body-seconds",
            help="Seconds within which the body of a request must arrive.",
            min=0.1,
            rich_help_panel="Limits",
        ),
    ] = 60.0,
) -> None:
    """Serve a labelling project over HTTP."""
    if insecure_local and host not in LOOPBACK:
        raise ParameterError(f"--insecure-local works with 127.0.0.1 only, not with --host {host}; use tokens")
    if public_url and not is_public(public_url):
        raise ParameterError(f"--public-url is an address such as https://label.example.org, got {public_url[:80]!r}")
    try:
        from ...server.api.connection import Limits
        from ...server.run import run
    except ImportError as error:
        raise MissingDependencyError(f"serve needs more packages ({error}): pip install 'crowdwise[serve]'") from error

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
