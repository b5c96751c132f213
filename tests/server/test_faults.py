"""What may go wrong, and what then happens: what was acknowledged is there, what was not stored is said."""

from __future__ import annotations

import os
import threading
import time

import pytest
import sqlalchemy as sa

from crowdwise.core.errors import DataError
from crowdwise.server.commands import annotate
from crowdwise.server.project import Project
from crowdwise.server.store import tables as t


def counted(p):
    return p.get("/status").json()["answers"]["counted"]


@pytest.fixture
def full(monkeypatch):
    """A disk that has no room from now on, for SQLite: not a page more."""

    def fill(p):
        with p.project.database.writer.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")

    return fill


def test_a_full_disk_is_said_and_nothing_is_half_stored(make, full):
    p = make(tasks=50, cap=9)
    assert p.label(0, p.next(0)[0]).status_code == 201
    full(p)
    statuses, kept = set(), 1
    for i in range(200):
        got = p.post("/labels", {"task": f"t{i % 50}", "answer": "a", "worker": f"w{i // 50}"})
        statuses.add(got.status_code)
        kept += got.status_code == 201 and got.json()["status"] == "counted"
        if got.status_code == 503:
            assert "full" in got.json()["detail"]
            assert got.headers["retry-after"] == "1"
            break
    assert statuses == {201, 503}
    assert counted(p) == kept
    with p.project.database.writer.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    assert p.post("/labels", {"task": "t49", "answer": "b", "worker": "w3"}).status_code == 201
    p.again()
    assert counted(p) == kept + 1


def test_a_database_that_cannot_be_written_to(make):
    p = make(tasks=5)
    p.label(0, p.next(0)[0])
    own = p.project.database.writer.raw_connection()
    own.cursor().execute("PRAGMA query_only=1")
    own.close()
    got = p.post("/labels", {"task": "t4", "answer": "a", "worker": "w2"})
    assert got.status_code == 503
    assert counted(p) == 1  # who only looks is answered
    own = p.project.database.writer.raw_connection()
    own.cursor().execute("PRAGMA query_only=0")
    own.close()
    assert p.post("/labels", {"task": "t4", "answer": "a", "worker": "w2"}).status_code == 201


def test_the_clock_jumps(make, database):
    p = make(database, tasks=3, lease=60)
    now = p.project.clock()
    (first,) = p.next(0)
    p.project.queue.clock = lambda: now - 86_400  # back: time stands still rather than run backwards
    assert p.next(0) == [first]
    assert p.label(0, first).status_code == 201
    (second,) = p.next(0)
    p.project.queue.clock = lambda: now + 10 * 86_400  # ahead: leases end, late answers count where there is room
    assert p.label(0, second).json()["status"] == "counted"
    with p.project.database.reader.connect() as connection:
        at = connection.execute(sa.select(t.event.c.received_at).order_by(t.event.c.id)).scalars().all()
    assert at == sorted(at)


def test_a_response_that_is_lost_is_given_again(make, database):
    p = make(database, tasks=2)
    (task,) = p.next(0)
    said = annotate.Submission(task, "a", "k", "body")
    first = p.project.queue.do(lambda s: annotate.label(s, 0, said))  # stored; the answer never arrives
    p.again()
    assert p.project.queue.do(lambda s: annotate.label(s, 0, said)) == (False, first[1])
    assert counted(p) == 1


def test_postgresql_goes_down_and_comes_back(make, postgres):
    p = make(postgres.fresh(), tasks=5)
    (task,) = p.next(0)
    assert p.label(0, task, key="a").status_code == 201
    postgres.stop("immediate")
    try:
        got = p.label(0, task, "b", key="b")
        assert got.status_code == 503
        assert p.client.get("/healthz").status_code == 503
    finally:
        postgres.start()
    for _ in range(50):
        got = p.label(0, task, "b", key="b")
        if got.status_code != 503:
            break
        time.sleep(0.1)
    assert got.status_code in (200, 201)
    assert p.client.get("/healthz").status_code == 200
    assert counted(p) == 1
    assert p.get(f"/tasks/{task}").json()["by_worker"][0]["answer"] == "b"


def test_a_slow_disk_makes_batches_larger_not_answers_fewer(make, monkeypatch):
    p = make(tasks=60, workers=4, cap=4)
    desk = p.project.queue
    whole = desk._batch

    def slow(batch):
        time.sleep(0.05)
        return whole(batch)

    monkeypatch.setattr(desk, "_batch", slow)
    before = desk.commits

    def work(who):
        for i in range(30):
            said = annotate.Submission(f"t{i}", "a", f"{who} {i}", "b", trusted=True)
            threading.Thread(target=desk.do, args=(lambda s, said=said: annotate.label(s, who, said),)).start()

    for who in range(4):
        work(who)
    while desk.live.n_answers < 120:
        time.sleep(0.02)
    assert desk.commits - before < 60


def test_two_processes_of_one_project_stay_in_step(make, database):
    p = make(database, tasks=4, workers=4, cap=2)
    with Project(p.path) as other:
        for w in range(4):
            desk = (p.project if w % 2 else other).queue
            for name in desk.do(lambda s, w=w: annotate.take(s, w, 4)).names:
                said = annotate.Submission(name, "a", f"{w} {name}", "b")
                desk.do(lambda s, w=w, said=said: annotate.label(s, w, said))
        other.queue.do(str)
        p.project.queue.do(str)
        assert other.queue.live.n_answers == p.project.queue.live.n_answers == 8
        assert (
            other.queue.live.session.task_index.posterior == p.project.queue.live.session.task_index.posterior
        ).all()


def test_a_second_server_is_refused_in_one_line(make):
    p = make(tasks=1, serve=True)
    with pytest.raises(DataError, match=rf"served already by process {os.getpid()} on .*; stop that server first"):
        Project(p.path, serve=True)
    p.project.close()
    Project(p.path, serve=True).close()
    p.project = Project(p.path)


def test_a_damaged_database_is_refused(make):
    p = make(tasks=200)
    p.project.close()
    path = p.path / "project.db"
    data = bytearray(path.read_bytes())
    data[8192:40_000] = b"\x55" * (40_000 - 8192)
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"damaged|cannot be read|does not answer"):
        Project(p.path)
    p.project = make(tasks=1).project


def test_a_backup_of_a_running_project_can_be_served(make, tmp_path):
    from crowdwise.server.store.backup import backup
    from crowdwise.server.store.folder import Folder

    p = make(tasks=3, serve=True)
    p.label(0, p.next(0)[0])
    (p.path / "media" / "a.png").write_bytes(b"x")
    backup(Folder(p.path), tmp_path / "copy")
    p.label(0, p.next(0)[0])
    with Project(tmp_path / "copy", serve=True) as copy:
        assert copy.queue.live.n_answers == 1
    assert (tmp_path / "copy" / "media" / "a.png").read_bytes() == b"x"
    with pytest.raises(DataError, match="exists already"):
        backup(Folder(p.path), tmp_path / "copy")


def test_a_dump_of_postgresql(make, postgres, tmp_path):
    from crowdwise.server.store.backup import backup
    from crowdwise.server.store.folder import Folder

    p = make(postgres.fresh(), tasks=2)
    made = backup(Folder(p.path), tmp_path / "copy")
    assert made.read_bytes()[:5] == b"PGDMP"


def test_a_postgresql_that_acknowledges_too_early_is_named(make, postgres, caplog):
    url = postgres.fresh()
    p = make(url, tasks=1)
    caplog.clear()
    p.again()
    assert "synchronous_commit" not in caplog.text
    name = url.rsplit("/", 1)[1]
    with p.project.database.reader.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(
            f"ALTER DATABASE {name} SET synchronous_commit = off"
        )
    caplog.clear()
    p.again()
    (line,) = [record.getMessage() for record in caplog.records if record.name == "crowdwise.server"]
    assert "synchronous_commit = off" in line
    assert "\n" not in line
