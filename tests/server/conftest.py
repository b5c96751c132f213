"""Projects in temporary folders, on SQLite and on a PostgreSQL of our own."""

from __future__ import annotations

import uuid

import pytest
from starlette.testclient import TestClient

from crowdwise.server.api.app import make_app
from crowdwise.server.auth import issue
from crowdwise.server.commands import manage
from crowdwise.server.config import Config
from crowdwise.server.project import Project, create, load_tasks
from tests.server.postgres import BIN, Postgres


@pytest.fixture(scope="session")
def postgres():
    if BIN is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    found = Postgres(fsync=False, commit=True)  # processes are killed here, the power is not cut
    yield found
    found.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request):
    """None for SQLite in the folder, or the address of an empty database."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres").fresh()


class Made:
    """A project with tasks t0, t1, ... and workers w0, w1, ..., and a client that speaks to its application."""

    def __init__(self, path, config, database=None, tasks=20, workers=4, serve=False, **options):
        self.path = path
        self.admin = create(path, config, database=database)
        self.options = {"rate": 1e6, "burst": 1e6} | options
        self.project = Project(path, serve=serve)
        load_tasks(self.project, [{"id": f"t{i}", "payload": self.shown(config, i)} for i in range(tasks)])
        self.tokens = [self.project.queue.do(self._worker(f"w{i}")) for i in range(workers)]
        self.client = TestClient(make_app(self.project, **self.options), raise_server_exceptions=False)

    @staticmethod
    def shown(config, i):
        sides = {"left": f"left {i}", "right": f"right {i}"}
        return {"comparisons": sides, "similarities": sides, "rankings": {"items": ["x", "y", "z"]}}.get(
            config.kind, {"text": f"This is text number {i}."}
        )

    @staticmethod
    def _worker(name):
        return lambda batch: issue(batch, "annotate", manage.add_worker(batch, name))[1]

    def call(self, method, path, who=None, **more):
        """who: a worker's number, a token, or None for the admin."""
        token = self.admin if who is None else self.tokens[who] if isinstance(who, int) else who
        headers = {"Authorization": f"Bearer {token}"} | more.pop("headers", {})
        return self.client.request(method, f"/projects/main{path}", headers=headers, **more)

    def get(self, path, who=None, **more):
        return self.call("GET", path, who, **more)

    def post(self, path, body=None, who=None, key=None, **more):
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        return self.call("POST", path, who, json=body, headers=headers, **more)

    def next(self, who, n=1):
        return [task["id"] for task in self.get(f"/next?n={n}", who).json()["tasks"]]

    def label(self, who, task, answer="a", **more):
        return self.post("/labels", {"task": task, "answer": answer}, who, **more)

    def again(self, **more):
        """Close it and open it again, as after a restart."""
        self.project.close()
        self.project = Project(self.path, **more)
        self.client = TestClient(make_app(self.project, **self.options), raise_server_exceptions=False)


@pytest.fixture
def make(tmp_path):
    """make(tasks=..., workers=..., **settings of the project)."""
    made = []

    def one(database=None, tasks=20, workers=4, serve=False, app=None, **settings):
        config = Config(**{"question": "Which?", "classes": ("a", "b", "c"), "cap": 3} | settings)
        made.append(Made(tmp_path / f"p{len(made)}", config, database, tasks, workers, serve, **(app or {})))
        return made[-1]

    yield one
    for each in made:
        each.project.close()
