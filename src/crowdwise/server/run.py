"""Run a project's server until it is told to stop."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn

from ..core.errors import DataError
from . import process
from .api.app import make_app
from .api.lane import Lane
from .api.line import Line
from .project import Project


def run(
    path: Path,
    host: str,
    port: int,
    *,
    insecure_local: bool = False,
    rate: float = 50.0,
    proxy: bool = False,
    told: Callable[[str], None] | None = None,
) -> None:
    """Open the project, listen, say where (`told`), and close it at the end."""
    # The server hands the signal on when it is done; the project is still to be closed then.
    signal.signal(signal.SIGTERM, _ended)
    process.prepare()
    with Project(path, serve=True) as project:
        process.opened()
        app = make_app(project, insecure_local=insecure_local, rate=rate, burst=4 * rate)
        line: Any = partial(Line, Lane(app))  # what the server makes of each connection
        config = uvicorn.Config(
            app, http=line, host=host, port=port, log_level="warning", access_log=False, server_header=False,
            proxy_headers=proxy, forwarded_allow_ips="127.0.0.1" if proxy else "", timeout_keep_alive=75,
            timeout_graceful_shutdown=5,
        )  # fmt: skip
        try:
            listening = _listen(host, port)
        except OSError as error:
            raise DataError(f"cannot listen at {host}:{port} ({error.strerror}); choose another --port") from error
        if told is not None:
            told(f"http://{host}:{listening.getsockname()[1]}")
        uvicorn.Server(config).run(sockets=[listening])


def _ended(*_: Any) -> None:
    raise SystemExit(0)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind((host, port))
    found.listen(2048)
    return found
