"""The live state is a function of the log: replayed, restored or alive, it is the same."""

from __future__ import annotations

import json

import numpy as np
import pytest

from crowdwise.server.commands import annotate, manage
from crowdwise.server.live.replay import replay
from crowdwise.server.live.snapshot import take
from crowdwise.server.refitter import Refitter
from crowdwise.server.store.engine import Database
from crowdwise.server.store.log import events


def busy(p, n=150, seed=0):
    """A project in which everything happens."""
    rng = np.random.default_rng(seed)
    desk = p.project.queue
    refitter = Refitter(p.project)
    refitter.close()
    for i in range(n):
        worker = int(rng.integers(4))
        names = desk.do(lambda s, w=worker: annotate.take(s, w, 1)).names
        if names:
            said = annotate.Submission(names[0], "abc"[rng.integers(3)], f"k{i}", "b", client_ms=int(rng.integers(900)))
            desk.do(lambda s, w=worker, said=said: annotate.label(s, w, said))
        what = rng.random()
        if what < 0.1:
            desk.do(lambda s, w=worker, i=i: _try(annotate.undo, s, w, None, f"u{i}", "b"))
        elif what < 0.15:
            for name in desk.do(lambda s, w=worker: annotate.take(s, w, 1)).names:
                desk.do(lambda s, w=worker, i=i, name=name: annotate.skip(s, w, name, "", f"s{i}", "b"))
        elif what < 0.2:
            desk.do(lambda s: manage.set_gold(s, f"t{rng.integers(20)}", "abc"[rng.integers(3)]))
        elif what < 0.23:
            desk.do(lambda s: manage.pause(s, f"w{rng.integers(4)}", "why"))
            desk.do(lambda s: manage.resume(s, f"w{rng.integers(4)}"))
        elif what < 0.25:
            desk.do(lambda s: manage.change(s, {"cap": int(rng.integers(2, 5)), "target": 0.9 + 0.09 * rng.random()}))
        elif what < 0.3:
            refitter.once(now=True)
        elif what < 0.32:
            desk.do(lambda s, i=i: manage.add_tasks(s, [{"id": f"n{i}", "payload": {"text": "new"}}]))
    return refitter


def _try(act, *given):
    from crowdwise.server.problems import Problem

    try:
        return act(*given)
    except Problem:
        return None


def same(a, b):
    one, two = take(a), take(b)
    assert one.keys() == two.keys()
    for name in one:
        if name == "plain":
            assert json.loads(one[name].tobytes()) == json.loads(two[name].tobytes())
        else:
            np.testing.assert_allclose(one[name], two[name], rtol=0, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("seed", range(3))
def test_replay_equals_the_live_state(make, seed):
    p = make(tasks=20, cap=3, seed=seed)
    refitter = busy(p, seed=seed)
    live = p.project.queue.live
    assert refitter.fits > 0
    assert live.skips > 0
    with p.project.database.reader.connect() as connection:
        log = list(events(connection, "main"))
    assert len(log) == live.last
    from crowdwise.server.config import Config

    # Nothing but the log: every fit is worked out again.
    again = replay(log, Config.of(log[0].payload))
    same(live, again)


def test_a_snapshot_and_the_rest_of_the_log_are_the_state(make, database):
    p = make(database, tasks=20)
    busy(p, 60)
    p.project.snapshot()
    at = p.project.snapshot_at
    busy_more = busy(p, 90, seed=7)
    assert busy_more is not None
    live = p.project.queue.live
    p.again()
    assert p.project.snapshot_at == at < p.project.queue.live.last
    same(live, p.project.queue.live)


def test_a_broken_snapshot_is_passed_over(make):
    p = make(tasks=5)
    p.label(0, p.next(0)[0])
    p.project.snapshot()
    path = p.path / "snapshots" / "state.npz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    p.again()
    assert p.get("/status").json()["answers"]["counted"] == 1
    path.write_bytes(b"")
    p.again()
    assert p.get("/status").json()["answers"]["counted"] == 1


def test_the_tables_go_up_and_down(tmp_path, database):
    import sqlalchemy as sa
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from crowdwise.server.store.engine import HEAD
    from crowdwise.server.store.tables import metadata

    def ours(_, name, kind, *__):
        return not (kind in ("table", "index") and name.startswith("task_words"))  # the index of words, by hand

    base = Database(database or f"sqlite:///{tmp_path}/x.db")
    for _ in range(2):
        base.migrate()
        with base.reader.connect() as connection:
            assert base.version(connection) == HEAD
            context = MigrationContext.configure(connection, opts={"include_object": ours})
            assert compare_metadata(context, metadata) == []
        base.migrate("base")
        with base.reader.connect() as connection:
            assert sa.inspect(connection).get_table_names() == ["alembic_version"]
    base.close()


def test_the_step_that_this_version_works_with_is_the_last_one():
    from alembic.script import ScriptDirectory

    from crowdwise.server.store.engine import HEAD, MIGRATIONS

    assert ScriptDirectory(str(MIGRATIONS)).get_current_head() == HEAD


def test_a_database_of_a_later_version_is_refused(tmp_path, make):
    from crowdwise.core.errors import DataError

    p = make(tasks=1)
    with p.project.database.writer.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(DataError, match="later version"):
        p.again()
