"""crowdwise serve: a project's server, for people at their browsers, for scripts and for judges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from ...core.errors import MissingDependencyError, ParameterError
from ..terminal import say

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    project: Annotated[Path, typer.Argument(help="The project's folder.", metavar="DIR", show_default=False)],
    host: Annotated[str, typer.Option("--host", help="Where to listen; other machines reach 0.0.0.0.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port.", min=0, max=65_535)] = 8000,
    insecure_local: Annotated[
        bool,
        typer.Option("--insecure-local", help="Take whoever comes without a token for an admin; on 127.0.0.1 only."),
    ] = False,
    rate: Annotated[float, typer.Option("--rate", help="Requests a second that one token may make.", min=0.1)] = 50.0,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="Believe a proxy on this machine about addresses and https.")
    ] = False,
    public_url: Annotated[
        str,
        typer.Option("--public-url", help="Where people reach the server; invite links begin with it.", metavar="URL"),
    ] = "",
    connections: Annotated[int, typer.Option("--connections", help="Connections that are open at once.", min=1)] = 800,
    head_seconds: Annotated[
        float, typer.Option("--head-seconds", help="Seconds in which the head of a request must arrive.", min=0.1)
    ] = 10.0,
    body_seconds: Annotated[
        float, typer.Option("--body-seconds", help="Seconds in which its body must arrive.", min=0.1)
    ] = 60.0,
) -> None:
    """Serve a project: who is asked what next, answers stored before they are acknowledged, when it is enough."""
    if insecure_local and host not in LOOPBACK:
        raise ParameterError(f"--insecure-local goes with 127.0.0.1 only, not with --host {host}; use tokens")
    if public_url and not is_public(public_url):
        raise ParameterError(f"--public-url is an address such as https://label.example.org, got {public_url[:80]!r}")
    try:
        from ...server.api.connection import Limits
        from ...server.run import run
    except ImportError as error:
        raise MissingDependencyError(f"serve needs more packages ({error}): pip install 'crowdwise[serve]'") from error

    def told(where: str) -> None:
        say(f"serving {project} at {where} (stop with Ctrl-C)")
        if host not in LOOPBACK and not public_url:
            say(f"invite links begin with {where}; --public-url names the address where people reach the server")

    limits = Limits(connections=connections, head_seconds=head_seconds, body_seconds=body_seconds)
    run(
        project, host, port, insecure_local=insecure_local, rate=rate, proxy=behind_proxy, public_url=public_url,
        limits=limits, told=told,
    )  # fmt: skip


def is_public(url: str) -> bool:
    """Whether it is the address of a web server: a scheme, a host, and at most a path."""
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
