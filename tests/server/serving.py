"""An application on a free port of this machine, in a thread, with the connections that `crowdwise serve` has."""

from __future__ import annotations

import contextlib
import threading
import time
from functools import partial

import uvicorn

from crowdwise.server.api.connection import Connection, Limits


@contextlib.contextmanager
def wired(app, limits=None, http=None, **options):
    """The server, and the port where it listens; `http`: another protocol than that of `crowdwise serve`."""
    http = http or partial(Connection, limits or Limits())
    options = {"log_level": "critical", "timeout_graceful_shutdown": 2, **options}
    server = uvicorn.Server(uvicorn.Config(app, port=0, http=http, ws="none", **options))
    thread = threading.Thread(target=server.run, daemon=True)  # on the event loop of `crowdwise serve`
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise RuntimeError("the server did not start")
        time.sleep(0.01)
    try:
        yield server, server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(15)
