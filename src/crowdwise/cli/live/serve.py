"""crowdwise serve: a project's server, for people at their browsers, for scripts and for judges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
) -> None:
    """Serve a project: who is asked what next, answers stored before they are acknowledged, when it is enough."""
    if insecure_local and host not in LOOPBACK:
        raise ParameterError(f"--insecure-local goes with 127.0.0.1 only, not with --host {host}; use tokens")
    try:
        from ...server.run import run
    except ImportError as error:
        raise MissingDependencyError(f"serve needs more packages ({error}): pip install 'crowdwise[serve]'") from error

    def told(where: str) -> None:
        say(f"serving {project} at {where} (stop with Ctrl-C)")

    run(project, host, port, insecure_local=insecure_local, rate=rate, proxy=behind_proxy, told=told)
