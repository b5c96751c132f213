"""Run a project's server until it is told to stop."""

from __future__ import annotations

import socket
from pathlib import Path

import uvicorn

from ..core.errors import DataError
from .api.app import make_app
from .project import Project


def run(
    path: Path, host: str, port: int, *, insecure_local: bool = False, rate: float = 50.0, proxy: bool = False
) -> None:
    """Open the project, listen, and close it at the end."""
    with Project(path, serve=True) as project:
        app = make_app(project, insecure_local=insecure_local, rate=rate, burst=4 * rate)
        config = uvicorn.Config(
            app, host=host, port=port, log_level="warning", access_log=False, server_header=False,
            proxy_headers=proxy, forwarded_allow_ips="127.0.0.1" if proxy else "", timeout_keep_alive=75,
            timeout_graceful_shutdown=5,
        )  # fmt: skip
        try:
            listening = _listen(host, port)
        except OSError as error:
            raise DataError(f"cannot listen at {host}:{port} ({error.strerror}); choose another --port") from error
        uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind((host, port))
    found.listen(2048)
    return found
