"""A project served on a free port of this machine, in a thread, for tests that look at it as a browser does."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from dataclasses import dataclass

import httpx
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from crowdwise.server import auth
from crowdwise.server.api.app import make_app
from crowdwise.server.commands import manage
from crowdwise.server.config import Config
from crowdwise.server.project import Project, create, load_tasks


class Line:
    """The connection of a server: while it is cut, whoever comes is hung up on, and so are those who are there."""

    def __init__(self):
        self.down, self.loop, self.server = False, None, None
        line = self

        class Phone(H11Protocol):
            def connection_made(self, transport):
                if line.down:
                    self.transport = transport
                    transport.abort()
                else:
                    super().connection_made(transport)

        self.protocol = Phone

    def cut(self):
        self.down, done = True, threading.Event()

        def hang_up():
            for each in list(self.server.server_state.connections):
                each.transport.abort()
            done.set()

        self.loop.call_soon_threadsafe(hang_up)
        assert done.wait(10)

    def mend(self):
        self.down = False


@dataclass
class Site:
    """`url` without a slash at its end; `admin` is the admin's token."""

    url: str
    admin: str
    project: Project
    line: Line

    def worker(self, name: str, **about) -> str:
        """A new worker's token."""

        def command(batch):
            return auth.issue(batch, "annotate", manage.add_worker(batch, name, **about))[1]

        return self.project.queue.do(command)

    def invite(self) -> str:
        return self.project.queue.do(lambda batch: auth.invite(batch, 1, 3600.0))

    def api(self, token: str = "") -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {token or self.admin}"})

    def labels(self) -> dict[tuple[str, str], object]:
        """(task, worker) -> answer of what counts now, read off the export of events: the log itself."""
        with self.api() as api:
            rows = [api.get(f"/projects/main/tasks/{task}").json() for task in self.tasks()]
        return {(row["id"], said["worker"]): said["answer"] for row in rows for said in row["by_worker"]}

    def tasks(self) -> list[str]:
        return list(self.project.queue.live.crowd.tasks)

    def events(self, kind: str) -> int:
        """How many events of a kind the log holds."""
        import sqlalchemy as sa

        from crowdwise.server.store import tables as t

        with self.project.database.reader.connect() as connection:
            of = sa.select(sa.func.count()).select_from(t.event).where(t.event.c.kind == kind)
            return connection.execute(of).scalar() or 0


@contextlib.contextmanager
def served(folder, tasks, *, token_rate=1000.0, insecure_local=False, **config):
    """A Site over these tasks ({"id", "payload", "gold"?}) until the block ends."""
    given = {"question": "What is it?", "classes": ("cat", "dog", "bird"), **config}
    admin = create(folder, Config(**given))
    with Project(folder, serve=True) as project:
        load_tasks(project, tasks)
        app = make_app(project, rate=token_rate, burst=token_rate, insecure_local=insecure_local)
        # A few seconds are enough for the connections of browsers that are gone.
        line, quick = Line(), {"lifespan": "on", "timeout_graceful_shutdown": 1}
        line.server = server = uvicorn.Server(
            uvicorn.Config(app, port=0, log_level="error", http=line.protocol, **quick)
        )
        ready = threading.Event()

        async def run():
            line.loop = asyncio.get_running_loop()
            serving = asyncio.create_task(server.serve())
            while not server.started and not serving.done():
                await asyncio.sleep(0.01)
            ready.set()
            await serving

        thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
        thread.start()
        assert ready.wait(30)
        port = server.servers[0].sockets[0].getsockname()[1]
        app.state.public_url = f"http://127.0.0.1:{port}"
        try:
            yield Site(f"http://127.0.0.1:{port}", admin, project, line)
        finally:
            server.should_exit = True
            thread.join(15)


def texts(n):
    """Tasks that say their number."""
    return [{"id": f"t{i:03}", "payload": {"text": f"Task number {i}", "author": "Zoë"}} for i in range(n)]
