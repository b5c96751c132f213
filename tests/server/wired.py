"""A project's server with its own connections, on a free port of this machine, in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from functools import partial

import uvicorn

from crowdwise.server.api.lane import Lane
from crowdwise.server.api.line import Line


class Wired:
    """Where it listens."""

    def __init__(self, port, server):
        self.port, self.server = port, server

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)


@contextlib.contextmanager
def wired(app, **options):
    """Serves an application as `crowdwise serve` does."""
    options = {"log_level": "critical", "timeout_graceful_shutdown": 2, **options}
    server = uvicorn.Server(uvicorn.Config(app, port=0, http=partial(Line, Lane(app)), **options))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
    try:
        yield Wired(server.servers[0].sockets[0].getsockname()[1], server)
    finally:
        server.should_exit = True
        thread.join(15)


def request(method, path, token, body=b"", **headers):
    """The bytes of a request; headers with _ for -, None for one that is left out."""
    given = {"Host": "here", "Authorization": f"Bearer {token}"}
    if body:
        given |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{method} /projects/main{path} HTTP/1.1", *(f"{k}: {v}" for k, v in given.items() if v is not None)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def answer(file):
    """(status, headers, body) of the next answer that comes over a connection."""
    status = int(file.readline().split()[1])
    headers = {}
    while line := file.readline().strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return status, headers, file.read(int(headers["content-length"]))
