"""The client and a judge against the real server on a real socket."""

from __future__ import annotations

import threading
import time

import pytest
import uvicorn

from crowdwise.client.judging.forms import form_of
from crowdwise.client.judging.live import judge_project
from crowdwise.client.judging.log import Log
from crowdwise.client.judging.prompt import Brief
from crowdwise.client.problems import ServerProblem
from crowdwise.client.project import Project
from crowdwise.client.records import Refused
from crowdwise.server.api.app import make_app
from crowdwise.server.auth import issue
from crowdwise.server.commands import manage
from crowdwise.server.config import Config
from crowdwise.server.project import Project as Opened
from crowdwise.server.project import create, load_tasks
from crowdwise.server.store.log import events

from .stub import running, said
from .test_judging import judge_at

SHOWN = {"comparisons": {"left": "good", "right": "bad"}, "rankings": {"items": ["fig", "pear", "plum"]}}


class Running:
    """A project with tasks t0, t1, ..., served from a thread."""

    def __init__(self, path, n=6, **settings):
        self.admin_token = create(path, Config(**{"question": "Which?", "classes": ("a", "b"), "cap": 3} | settings))
        self.opened = Opened(path, serve=True)
        shown = SHOWN.get(settings.get("kind"), {"text": "some text"})
        load_tasks(self.opened, [{"id": f"t{i}", "payload": shown} for i in range(n)])
        config = uvicorn.Config(make_app(self.opened, rate=1e6, burst=1e6), port=0, log_level="warning")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        self.url = f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}"
        self.admin = Project(self.url, self.admin_token)

    def token(self, name, kind="human"):
        return self.opened.queue.do(lambda batch: issue(batch, "annotate", manage.add_worker(batch, name, kind))[1])

    def close(self):
        self.server.should_exit = True
        self.thread.join()
        self.opened.close()


@pytest.fixture
def serve(tmp_path):
    made = []

    def one(**settings):
        made.append(Running(tmp_path / f"p{len(made)}", **settings))
        return made[-1]

    yield one
    for each in made:
        each.close()


def test_a_worker_s_day(serve):
    live = serve()
    with Project(live.url, live.token("Ana")) as ana:
        assert ana.about()["classes"] == ["a", "b"]
        (task,) = ana.next().tasks
        assert ana.next().tasks[0].id == task.id  # a lost response leaks no lease
        told = ana.answer(task, "a", ms=900, following=1, key="k1")
        assert (told.status, told.again) == ("counted", False)
        again = ana.answer(task, "a", ms=900, key="k1")
        assert (again.event, again.again) == (told.event, True)
        ana.skip(told.next.tasks[0], "blurred")
        assert ana.undo()["task"] == task.id
        with pytest.raises(ServerProblem) as error:
            ana.answer(task, "c")
        assert error.value.status == 422
        assert "\n" not in str(error.value)
        with pytest.raises(ServerProblem) as error:
            ana.workers()
        assert error.value.status == 403


def test_a_lead_s_day(serve):
    live = serve()
    admin = live.admin
    ben = admin.add_worker("Ben", cost=2.0)
    assert ben["token"].startswith("cw_")
    good, bad = admin.bulk(
        [{"task": "t0", "answer": "a", "worker": "Ben"}, {"task": "t9", "answer": "a", "worker": "Ben"}]
    )
    assert good.status == "counted"
    assert isinstance(bad, Refused)
    assert bad.problem.status == 404
    admin.gold("t1", "b")
    admin.add_tasks([{"id": "t/7", "payload": {"text": "more"}}])
    assert admin.task("t/7")["payload"] == {"text": "more"}
    admin.worker("Ben", "pause", reason="tired")
    admin.worker("Ben", "resume")
    admin.change(target=0.9)
    assert admin.status()["answers"]["counted"] == 1
    assert [each["name"] for each in admin.workers()] == ["Ben"]
    assert "/join/" in admin.invite()
    assert admin.healthy()


def test_a_judge_among_the_workers(serve, tmp_path):
    live = serve(cap=1)
    plays = ['{"verdict": "a", "confidence": 0.7}', "b", "I cannot say", "a", "b", "a"]
    with (
        running(lambda body, n: said(plays[n])) as stub,
        Project(live.url, live.token("gpt", "model")) as project,
        Log(tmp_path / "log.jsonl") as log,
    ):
        judge = judge_at(stub, form_of("classes", ("a", "b")))
        tally = judge_project(project, judge, log=log, limit=4)
        assert (tally.verdicts, tally.nulls, tally.why) == (3, 1, "4 tasks were asked for")
        tally = judge_project(project, judge, log=log, parallel=2)
        assert tally.verdicts == 2
    assert len(stub.seen) == 6
    counted = live.admin.status()["answers"]
    assert (counted["counted"], counted["skips"]) == (5, 1)
    with live.opened.database.reader.connect() as connection:
        abouts = [e.payload["about"] for e in events(connection, "main") if e.kind == "label"]
    assert abouts[0]["confidence"] == 0.7
    assert all(each["model"] == "model-x" and each["cost"] > 0 for each in abouts)
    assert (tmp_path / "log.jsonl").read_text().count("\n") == 6


def test_a_judge_who_is_fooled_by_the_order(serve):
    live = serve(kind="comparisons", classes=(), cap=2, n=2)
    with running(lambda body, n: said("left")) as stub, Project(live.url, live.token("gpt", "model")) as project:
        form = form_of("comparisons", (), project.about())
        judge = judge_at(stub, brief=Brief("Which is better?", form), swap=True)
        assert judge_project(project, judge).verdicts == 2
    said_of = [each["answer"] for each in live.admin.task("t0")["by_worker"]]
    assert said_of == ["tie"]


def test_a_token_that_is_not_known(serve):
    live = serve()
    with Project(live.url, "cw_nonsense") as project, pytest.raises(ServerProblem, match="401"):
        project.next()


def test_simulated_workers_at_a_running_server(serve, capfd):
    from crowdwise.cli import main

    live = serve(n=10, cap=3)
    for wanted in ("12 answers", "answers of 4 simulated workers"):  # the second time the workers are there already
        with pytest.raises(SystemExit) as stop:
            main(["project", "simulate", live.url, "--token", live.admin_token, "--workers", "4", "--answers", "12"])
        err = capfd.readouterr().err
        assert stop.value.code == 0, err
        assert wanted in err
    assert live.admin.status()["answers"]["counted"] >= 12
