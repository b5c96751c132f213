"""Snapshots are a shortcut: a damaged one, or one of another log, is discarded, and the log is replayed."""

from __future__ import annotations

import json
import random
import shutil
import sys

import numpy as np
import pytest
import sqlalchemy as sa

from crowdwise.core.errors import CrowdwiseError, DataError
from crowdwise.server import fitting
from crowdwise.server.config import Config
from crowdwise.server.fitting import Fitter
from crowdwise.server.live.fits import FitInput
from crowdwise.server.live.snapshot import NAME, Unusable, load
from crowdwise.server.project import Project
from crowdwise.server.store import log
from crowdwise.server.store import tables as t
from crowdwise.server.store.log import digest


def answered(p, n, choice="a"):
    for i in range(n):
        task = p.next(i % 3)[0]
        assert p.label(i % 3, task, choice).status_code == 201


def loads(p, folder):
    """Whether the snapshot of a folder is used; an Unusable is the only way in which it is not."""
    with p.project.database.reader.connect() as connection:
        try:
            return load(folder, p.project.uid, lambda number: digest(connection, "main", number)) is not None
        except Unusable:
            return False


def damaged(data, dice):
    """A copy of a file with one of the damages that disks and people do."""
    out = bytearray(data)
    kind = dice.randrange(5)
    if kind == 0:
        out[dice.randrange(len(out))] ^= 1 << dice.randrange(8)
    elif kind == 1:
        del out[dice.randrange(len(out)) :]
    elif kind == 2:
        at = dice.randrange(len(out))
        out[at : at + 512] = bytes(512)
    elif kind == 3:
        at = dice.randrange(len(out))
        out[at:at] = dice.randbytes(dice.randint(1, 40))
    else:
        for _ in range(dice.randint(2, 30)):
            out[dice.randrange(len(out))] = dice.randrange(256)
    return bytes(out)


def test_no_damaged_snapshot_is_used(make, tmp_path):
    p = make(tasks=10)
    answered(p, 6)
    p.project.snapshot()
    whole = (p.path / "snapshots" / NAME).read_bytes()
    folder, dice, tried = tmp_path / "damaged", random.Random(0), 0
    folder.mkdir()
    (folder / NAME).write_bytes(whole)
    assert loads(p, folder)
    while tried < 300:
        data = damaged(whole, dice)
        if data == whole:
            continue
        (folder / NAME).write_bytes(data)
        assert not loads(p, folder)
        tried += 1


@pytest.mark.parametrize("damage", ["compression", "truncated", "empty", "not a snapshot", "old format"])
def test_a_start_with_a_damaged_snapshot_replays_the_log(make, damage, caplog):
    p = make(tasks=10)
    answered(p, 6)
    p.project.snapshot()
    path = p.path / "snapshots" / NAME
    data = path.read_bytes()
    if damage == "compression":  # a zip entry with a method that Python's zipfile does not know
        at = data.index(b"PK\x03\x04") + 8
        data = data[:at] + b"\x63" + data[at + 1 :]
    other = {
        "truncated": data[:-100],
        "empty": b"",
        "not a snapshot": b"x" * 500,
        "old format": data[data.index(b"PK") :],
    }
    path.write_bytes(other.get(damage, data))
    caplog.clear()
    p.again()
    assert p.get("/status").json()["answers"]["counted"] == 6
    lines = [record.getMessage() for record in caplog.records if record.name == "crowdwise.server"]
    assert len(lines) == 1
    assert lines[0].startswith("the snapshot is not used: ")
    assert "\n" not in lines[0]
    assert not path.exists()


def test_a_snapshot_of_another_log_is_not_used(make, tmp_path):
    """A backup is restored, and other answers come; the snapshot still has those that were lost."""
    p = make(tasks=10, workers=4)
    answered(p, 3)
    p.project.close()
    shutil.copy(p.path / "project.db", tmp_path / "backup.db")
    p.again()
    answered(p, 3, "b")
    p.project.snapshot()
    kept = p.project.snapshot_at
    p.project.close()
    for left in p.path.glob("project.db*"):
        left.unlink()
    shutil.copy(tmp_path / "backup.db", p.path / "project.db")
    shutil.move(p.path / "snapshots" / NAME, tmp_path / NAME)
    p.again()
    answered(p, 6, "c")
    assert p.project.queue.live.last > kept
    expected = p.project.queue.live.session.task_index.posterior.copy()
    p.project.close()
    shutil.move(tmp_path / NAME, p.path / "snapshots" / NAME)
    p.again()
    assert p.project.snapshot_at == 0
    assert (p.project.queue.live.session.task_index.posterior == expected).all()


def test_a_snapshot_of_events_that_were_never_stored_is_not_used(make):
    """A snapshot that is ahead of the log: the machine lost its last writes."""
    p = make(tasks=10)
    answered(p, 4)
    p.project.snapshot()
    last = p.project.queue.live.last
    with p.project.database.writer.begin() as connection:
        connection.execute(sa.delete(t.event).where(t.event.c.id == last))
    p.again()
    assert p.project.queue.live.last == last - 1


def test_a_damaged_fit_is_made_again(make):
    from crowdwise.server.refitter import Refitter

    p = make(tasks=10, workers=4, cap=4)
    labels = [
        {"task": f"t{i}", "answer": "ab"[i % 2], "worker": f"w{w}", "key": f"{i} {w}"}
        for i in range(10)
        for w in range(4)
    ]
    assert p.call("POST", "/labels/bulk", json={"labels": labels}).status_code == 200
    refitter = Refitter(p.project, start=False)
    assert refitter.once(now=True)
    expected = p.project.queue.live.session.task_index.posterior.copy()
    with p.project.database.writer.begin() as connection:
        connection.execute(sa.update(t.baseline).values(arrays=b"PK\x03\x04 damaged"))
    p.again()
    assert (p.project.queue.live.session.task_index.posterior == expected).all()


# ---------------------------------------------------------------- broken logs
def changed(number, **values):
    return sa.update(t.event).where(t.event.c.id == number).values(**values)


BROKEN = {
    "an event is missing": lambda n: sa.delete(t.event).where(t.event.c.id == n),
    "the first event is missing": lambda _: sa.delete(t.event).where(t.event.c.id == 1),
    "a payload is not JSON": lambda n: changed(n, payload="{"),
    "a payload lacks a field": lambda n: changed(n, payload="{}"),
    "a kind is unknown": lambda n: changed(n, kind="odd"),
    "a worker is unknown": lambda n: changed(n, worker=999),
}


def with_two_answers(make, snapshot):
    """A project and the number of its first answer; its snapshot was taken "before" or "after" the answers."""
    p = make(tasks=3)
    first = p.project.queue.live.last + 1
    if snapshot == "before":
        p.project.snapshot()
    answered(p, 2)
    if snapshot == "after":
        p.project.snapshot()
    return p, first


def execute(p, statement):
    with p.project.database.writer.begin() as connection:
        connection.execute(statement)


@pytest.mark.parametrize("snapshot", ["none", "before", "after"])
@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_log_is_refused_in_one_line(make, what, snapshot, caplog):
    p, number = with_two_answers(make, snapshot)
    execute(p, BROKEN[what](number))
    with pytest.raises(DataError, match=r"the log cannot be replayed \(.*event.*\); restore a backup") as refused:
        Project(p.path)
    assert "\n" not in str(refused.value)
    assert [record for record in caplog.records if record.name == "crowdwise.server"] == []  # no second line


@pytest.mark.parametrize("column", ["payload", "received_at", "idempotency_key"])
def test_a_changed_event_before_the_snapshot_is_noticed(make, column, caplog):
    """The log can be replayed, but it is not the one that the snapshot was made from: the log counts."""
    p, number = with_two_answers(make, "after")
    other = {"answer": "b", "status": "counted", "stopped": ""}
    execute(p, changed(number, **{column: json.dumps(other) if column == "payload" else 7}))
    p.again()
    assert p.project.snapshot_at == 0
    (line,) = [record.getMessage() for record in caplog.records if record.name == "crowdwise.server"]
    assert line == f"the snapshot is not used: the log up to event {number + 1} is another one; the log is replayed"
    if column == "payload":
        answers = p.get("/tasks?answers=true").json()["tasks"]
        assert sorted(row["answer"] for task in answers for row in task["by_worker"]) == ["a", "b"]


def test_of_a_long_log_the_last_events_are_hashed_and_all_are_counted(make, monkeypatch):
    monkeypatch.setattr(log, "HASHED", 2)
    p = make(tasks=10)
    answered(p, 5)
    p.project.snapshot()
    last = p.project.snapshot_at
    p.again()
    assert p.project.snapshot_at == last
    execute(p, sa.delete(t.event).where(t.event.c.id == 2))
    assert not loads(p, p.path / "snapshots")


def test_the_command_line_says_it_in_one_line(make):
    """Once as a process; what is said does not depend on the snapshot, as the tests above show."""
    import subprocess

    p, number = with_two_answers(make, "after")
    execute(p, BROKEN["an event is missing"](number))
    command = [sys.executable, "-m", "crowdwise.cli", "serve", str(p.path), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "restore a backup" in done.stderr


# ---------------------------------------------------------------- fits
def test_a_fit_that_hangs_is_ended(monkeypatch, tmp_path):
    """The process reads nothing and never ends."""
    script = tmp_path / "hangs"
    script.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(600)\n")
    script.chmod(0o700)
    monkeypatch.setattr(fitting, "MANY", 0)
    monkeypatch.setattr(fitting.sys, "executable", str(script))
    codes = np.zeros(3, np.int64)
    fitter = Fitter(longest=0.2)
    with pytest.raises(CrowdwiseError, match=r"longer than 0\.2 seconds"):
        fitter.fit(FitInput(Config("Which?", classes=("a", "b")), 3, codes, codes, codes, {}))
    assert fitter._process.poll() is not None
