"""Run the server of a project until it is interrupted."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn

from ..core.errors import DataError
from . import process
from .api.app import make_app
from .api.connection import Connection, Limits
from .project import Project

# Send buffer of a connection in bytes; Linux doubles it.
SEND_BUFFER = 256 * 1024


def run(
    path: Path,
    host: str,
    port: int,
    *,
    insecure_local: bool = False,
    rate: float = 50.0,
    proxy: bool = False,
    public_url: str = "",
    limits: Limits | None = None,
    on_start: Callable[[str], None] | None = None,
) -> None:
    """Open the project, serve until interrupted, and close it.

    `on_start` is called with the address; `public_url` is the address used in links.
    """
    # uvicorn raises the signal again at its end, when the project must still be closed.
    signal.signal(signal.SIGTERM, _exit)
    process.prepare()
    with Project(path, serve=True) as project:
        process.opened()
        limits = limits or Limits()
        limits = replace(limits, connections=process.reserve_files(limits.connections))
        try:
            listening = _listen(host, port)
        except OSError as error:
            raise DataError(f"cannot listen at {host}:{port} ({error.strerror}); choose another --port") from error
        where = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        app = make_app(
            project, insecure_local=insecure_local, rate=rate, burst=4 * rate, public_url=public_url or where
        )
        protocol: Any = partial(Connection, limits)
        config = uvicorn.Config(
            app, http=protocol, ws="none", limit_concurrency=2 * limits.connections, host=host, port=port,
            log_level="warning", access_log=False, server_header=False, proxy_headers=proxy,
            forwarded_allow_ips="127.0.0.1" if proxy else "", timeout_keep_alive=75, timeout_graceful_shutdown=5,
        )  # fmt: skip
        if on_start is not None:
            on_start(where)
        uvicorn.Server(config).run(sockets=[listening])


def _exit(*_: Any) -> None:
    raise SystemExit(0)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Inherited by connections. Otherwise the buffer grows to megabytes for each client that does not read its
    # responses.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    listener.bind((host, port))
    listener.listen(2048)
    return listener
