"""A request that cannot be stored fails alone: others of the same batch are answered, health does not change."""

from __future__ import annotations

import json
import queue
import threading
from concurrent.futures import Future

import pytest
import sqlalchemy as sa

from crowdwise.server.commands import annotate
from crowdwise.server.config import KINDS, NEED_CLASSES
from crowdwise.server.problems import Problem
from crowdwise.server.store import tables as t


def counted(p):
    return p.get("/status").json()["answers"]["counted"]


# Values that no database, no JSON document or no number of the model can hold.
POISON = {
    "a surrogate": b'"\\ud800"',
    "a surrogate in a list": b'["a", "\\ud800"]',
    "a surrogate as a field": b'{"\\ud800": 1}',
    "a surrogate in a span": b'[{"start": 0, "end": 1, "label": "\\udfff"}]',
    "nested 260 times": b"[" * 260 + b"]" * 260,
    "nested 900 times": b"[" * 900 + b"]" * 900,
    "objects nested 260 times": b'{"a":' * 260 + b"1" + b"}" * 260,
    "a whole number above 10^308": b"1" + b"0" * 400,
    "a float above 10^308": b"1e400",
    "a float below -10^308": b"-1e400",
    "a span that ends above 10^308": b'[{"start": 0, "end": 1' + b"0" * 400 + b', "label": "a"}]',
    "not a number": b"NaN",
    "a number of 4,000 digits": b"9" * 4_000,
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_stored_is_refused_before_the_queue(make, kind):
    p = make(tasks=3, kind=kind, classes=("a", "b") if kind in NEED_CLASSES else ())
    assert p.next(0, 3)
    desk = p.project.queue
    live, queued = desk.live, desk.commands
    headers = {"Idempotency-Key": "k", "Content-Type": "application/json"}

    def refused(path, body, who=None):
        return p.call("POST", path, who, content=body, headers=headers).status_code == 422

    for name, value in POISON.items():
        assert refused("/labels", b'{"task": "t0", "answer": %b}' % value, 0), name
        entry = b'{"task": "t0", "answer": %b, "key": "k", "worker": "w0"}' % value
        assert refused("/labels/bulk", b'{"labels": [%b]}' % entry), name
        assert refused("/gold", b'{"task": "t0", "answer": %b}' % value), name
        assert refused("/tasks", b'{"tasks": [{"id": "x", "payload": {"text": "x"}, "gold": %b}]}' % value), name
        assert refused("/checks/labels", b'{"task": "t0", "answer": %b}' % value), name
        assert p.client.get("/healthz").status_code == 200
    assert desk.commands == queued  # none of them came to the desk
    for name, value in POISON.items():  # what a task shows is checked by its command, which fails alone
        shown = b'{"text": %b, "left": %b, "right": "x", "items": %b}' % (value, value, value)
        assert refused("/tasks", b'{"tasks": [{"id": "x", "payload": %b}]}' % shown), name
    assert (desk.faults, desk.failed, desk.live is live) == (0, 0, True)
    assert p.client.get("/healthz").status_code == 200
    assert counted(p) == 0


def test_a_number_that_is_too_large_for_a_float_is_refused_by_its_kind(make):
    p = make(tasks=2, kind="numbers", classes=())
    with pytest.raises(Problem, match="too large"):
        p.project.queue.live.kind.check(10**400, {})


# ---------------------------------------------------------------- the desk itself
def together(desk, commands):
    """Have the desk do these commands in one batch; what became of each."""
    go, begun = threading.Event(), threading.Event()

    def first(_):
        begun.set()
        go.wait(30)

    waiting: list[Future] = []
    blocker: Future = Future()
    desk._queue.put((first, True, blocker))
    assert begun.wait(30)  # the desk is busy: what comes now is one batch
    for command in commands:
        done: Future = Future()
        waiting.append(done)
        desk._queue.put((command, True, done))
    go.set()
    out = []
    for done in waiting:
        try:
            out.append(done.result(60))
        except Exception as error:
            out.append(error)
    return out


def answers(p, n, wrong):
    """n answers of w0, with one poisoned command in their middle."""
    tasks = p.next(0, n)

    def label(i, task):
        return lambda s: annotate.label(s, 0, annotate.Submission(task, "a", f"k{i}", "b"))[1]["status"]

    commands = [label(i, task) for i, task in enumerate(tasks)]
    return [*commands[: n // 2], wrong, *commands[n // 2 :]]


def fails_at_once(_):
    raise OverflowError("planted")


def fails_after_a_change(batch):
    batch.enter("skip", task=19, worker=3, payload={"reason": ""}, key="x", body="b")
    raise RecursionError("planted")


def fails_at_the_end(batch):
    batch.enter("skip", task=19, worker=3, payload={"reason": "\ud800"}, key="x", body="b")


def fails_in_the_database(batch):
    batch.execute(sa.insert(t.worker), {"project": batch.project, "code": 0, "id": "w0", "kind": "x", "cost": 1.0,
                                        "status": "x"})  # fmt: skip


def fails_in_a_query(batch):
    """PostgreSQL ends the transaction by it; SQLite knows no such fault of a SELECT."""
    if batch.open_connection.dialect.name == "sqlite":
        raise sa.exc.DataError("SELECT", {}, Exception("planted"))
    batch.query(sa.text("SELECT CAST('x' AS integer)"))


WRONG = [fails_at_once, fails_after_a_change, fails_at_the_end, fails_in_the_database, fails_in_a_query]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_command_that_fails_fails_alone(make, database, wrong):
    p = make(database, tasks=20)
    desk, n = p.project.queue, 10
    assert p.next(3, 20)
    skips = desk.live.skips
    health = []
    desk.after.append(lambda _: health.append(desk.sound))
    got = together(desk, answers(p, n, wrong))
    failed = got.pop(n // 2)
    assert isinstance(failed, Exception)
    assert not isinstance(failed, Problem)
    assert got == ["counted"] * n
    assert all(health)
    assert desk.sound
    assert (desk.faults, desk.failed) == (0, 1)
    assert (desk.live.skips, counted(p)) == (skips, n)
    before = desk.live.session.task_index.posterior.copy()
    p.again()
    assert counted(p) == n
    assert (p.project.queue.live.session.task_index.posterior == before).all()


def test_many_poisoned_commands_in_one_batch(make):
    p = make(tasks=20)
    got = together(p.project.queue, [c for one in answers(p, 8, fails_at_the_end) for c in (one, fails_after_a_change)])
    assert got.count("counted") == 8
    assert sum(isinstance(each, Exception) for each in got) == 10
    assert counted(p) == 8
    assert p.client.get("/healthz").status_code == 200


def test_a_command_that_only_looks_fails_alone(make):
    p = make(tasks=3)
    live = p.project.queue.live
    with pytest.raises(OverflowError):
        p.project.queue.do(fails_at_once, write=False)
    assert p.project.queue.live is live
    assert p.client.get("/healthz").status_code == 200


def test_a_listener_that_fails_does_not_stop_the_writer(make, caplog):
    p = make(tasks=3)

    def broken(_):
        raise ValueError("planted")

    p.project.queue.after.append(broken)
    assert p.label(0, p.next(0)[0]).status_code == 201
    assert p.label(0, p.next(0)[0]).status_code == 201
    assert "a listener failed" in caplog.text


def test_a_full_disk_is_everybodys(make, monkeypatch):
    """A fault of the database is no command's own: all are refused with 503 and may be sent again."""
    p = make(tasks=20)
    desk = p.project.queue
    commands = answers(p, 6, lambda _: "fine")

    def full(_):
        raise sa.exc.OperationalError("INSERT", {}, Exception("database or disk is full"))

    got = together(desk, [*commands[:3], full, *commands[3:]])
    assert all(isinstance(each, Problem) and each.status == 503 for each in got)
    assert counted(p) == 0


ANSWERS = {
    "sets": ["a"],
    "numbers": 3.5,
    "comparisons": "left",
    "similarities": "same",
    "rankings": ["x", "y", "z"],
    "spans": [{"start": 0, "end": 4, "label": "a"}],
}


@pytest.mark.parametrize("kind", KINDS)
def test_honest_answers_beside_poison_over_http(make, kind):
    """Threads send answers while another sends poison: every honest answer is stored, health is never 503."""
    p = make(tasks=30, workers=3, cap=4, kind=kind, classes=("a", "b") if kind in NEED_CLASSES else ())
    over, statuses, honest = threading.Event(), queue.SimpleQueue(), []

    def poison():
        headers = {"Idempotency-Key": "k", "Content-Type": "application/json"}
        while not over.is_set():
            for value in POISON.values():
                body = b'{"task": "t0", "answer": %b}' % value
                statuses.put(p.call("POST", "/labels", 2, content=body, headers=headers).status_code)
                statuses.put(p.client.get("/healthz").status_code)

    thread = threading.Thread(target=poison)
    thread.start()
    for _ in range(5):
        for who in range(2):
            honest += [p.label(who, task, ANSWERS.get(kind, "a")).status_code for task in p.next(who, 2)]
    over.set()
    thread.join(60)
    found = []
    while not statuses.empty():
        found.append(statuses.get())
    assert set(found) == {200, 422}
    assert set(honest) == {201}
    assert len(honest) == counted(p) == 20
    assert json.loads(p.get("/status").text)
