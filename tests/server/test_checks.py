"""The check queue: who may, what is drawn, what its answers change, and that the log alone says all of it."""

from __future__ import annotations

import hashlib
import json
import re

import numpy as np
import pytest
from starlette.testclient import TestClient

from crowdwise.server import auth
from crowdwise.server.api.app import make_app
from crowdwise.server.commands import check
from crowdwise.server.live.baseline import load_baseline
from crowdwise.server.live.checks import Checks, draw
from crowdwise.server.live.replay import replay
from crowdwise.server.live.snapshot import _restored, take
from crowdwise.server.project import Project
from crowdwise.server.refitter import Refitter
from crowdwise.server.store.log import events

CLASSES = "abc"


def answers(p, tasks, workers=4, skill=0.8, seed=0):
    """Votes of a planted crowd by the admin's token; the truth."""
    rng = np.random.default_rng(seed)
    truth = [CLASSES[i] for i in rng.integers(3, size=tasks)]
    rows = [
        {"task": f"t{t}", "answer": truth[t] if rng.random() < skill else rng.choice(list(CLASSES)), "worker": f"w{w}",
         "key": f"{t} {w}"}
        for t in range(tasks) for w in range(workers)
    ]  # fmt: skip
    got = p.post("/labels/bulk", {"labels": [row | {"answer": str(row["answer"])} for row in rows]})
    assert {row["status_code"] for row in got.json()["results"]} == {201}
    return truth


def fit(p):
    refitter = Refitter(p.project, start=False)
    assert refitter.once(now=True), refitter.failed
    return p.get("/status").json()


def check_all(p, truth, n):
    for _ in range(n):
        (task,) = p.get("/checks/next").json()["tasks"]
        assert set(task) == {"id", "payload"}
        assert p.post("/checks/labels", {"task": task["id"], "answer": truth[int(task["id"][1:])]}).status_code == 200


def test_the_queue_is_drawn_among_labelled_tasks_and_measures_from_ten_on(make):
    p = make(tasks=150, workers=4, cap=4)
    truth = answers(p, 120)
    before = fit(p)["trust"]
    assert before["checked"] == 0
    assert before["sentence"].startswith("no task has been checked")
    assert p.post("/checks", {"n": 60}).json() == {"asked": 60, "checked": 0, "left": 60}
    check_all(p, truth, 9)
    few = fit(p)["trust"]
    assert few["sentence"].startswith("9 checked tasks are too few")
    check_all(p, truth, 14)
    assert p.project.queue.live.refit_due(0.0)
    status = fit(p)
    assert not p.project.queue.live.refit_due(0.0)
    assert status["checks"] == {"asked": 60, "checked": 23, "left": 37}
    assert status["trust"]["checked"] == 23
    assert "measured on 23 checked tasks" in status["trust"]["sentence"]
    assert "similar crowds" not in json.dumps(status)
    share = np.mean(
        [row["label"] == truth[int(row["task"][1:])] for row in labels(p) if not row["gold"] and row["n_labels"]]
    )
    assert status["trust"]["low"] <= share <= status["trust"]["high"]
    assert sum(bool(row["can_ship"]) for row in labels(p)) == status["trust"]["ship"]
    # Labels that neither ship nor are in doubt need nothing: the three counts need not add up to all of them.
    stated = (status["trust"]["ship"], status["need"]["vote"], status["need"]["expert"])
    assert sum(stated) <= 120
    weak = [row for row in labels(p) if row["n_labels"] and not row["can_ship"] and row["confidence"] <= 0.5]
    assert stated[1] + stated[2] >= len(weak)


def labels(p):
    return [json.loads(line) for line in p.get("/export/labels.jsonl").text.splitlines()]


def test_checks_are_gold_and_no_votes_and_the_tasks_go_on(make):
    p = make(tasks=30, workers=4, cap=3, target=0.99)
    answers(p, 30, workers=2)
    p.post("/checks", {"n": 5})
    task = p.get("/checks/next").json()["tasks"][0]["id"]
    n = p.get("/status").json()["answers"]["counted"]
    state = p.get(f"/tasks/{task}").json()["state"]
    got = p.post("/checks/labels", {"task": task, "answer": "b"})
    assert got.json() == {"task": task, "answer": "b", "progress": {"asked": 5, "checked": 1, "left": 4}}
    row = p.get(f"/tasks/{task}").json()
    assert (row["gold"], row["drawn"], row["state"], row["answers"]) == ("b", "check", state, 2)
    assert p.get("/status").json()["answers"]["counted"] == n
    last = p.project.queue.live.last
    assert p.post("/checks/labels", {"task": task, "answer": "b"}).status_code == 200
    assert p.project.queue.live.last == last  # the same again is no event
    assert p.post("/checks/labels", {"task": task, "answer": None}).json()["progress"]["checked"] == 0
    assert p.get(f"/tasks/{task}").json()["gold"] is None
    p.post("/gold", {"task": task, "answer": "a"})
    assert p.get(f"/tasks/{task}").json()["drawn"] == "check"  # it was drawn, whoever enters its truth


def test_gold_that_was_chosen_teaches_and_does_not_calibrate(make):
    p = make(tasks=100, workers=4, cap=4)
    truth = answers(p, 100)
    for t in range(40):
        p.post("/gold", {"task": f"t{t}", "answer": truth[t]})
    status = fit(p)
    assert status["trust"]["checked"] == 0
    assert status["tasks"]["gold"] == 40
    assert p.get("/tasks/t3").json()["settled"]["confidence"] == pytest.approx(1)
    for t in range(40):
        p.post("/gold", {"task": f"t{t}", "answer": truth[t], "drawn": "random"})
    status = fit(p)
    assert status["trust"]["checked"] == 40
    assert status["tasks"]["gold"] == 0
    assert {row["gold_drawn"] for row in labels(p) if row["gold"]} == {"random"}


def test_the_state_follows_from_the_log_and_from_a_snapshot(make):
    p = make(tasks=60, workers=4, cap=4)
    truth = answers(p, 60)
    p.post("/checks", {"n": 20})
    check_all(p, truth, 12)
    fit(p)
    p.post("/checks", {"n": 5})
    live = p.project.queue.live
    arrays = take(live)
    restored = _restored(arrays, json.loads(arrays["plain"].tobytes()))
    with p.project.database.reader.connect() as connection:
        log = list(events(connection, "main"))
        again = replay(log, live.config, stored=lambda event: load_baseline(connection.execute, "main", event.id))
        refitted = replay(log, live.config)
    drawn = [event.payload for event in log if event.kind == "check"]
    assert [len(each["tasks"]) for each in drawn] == [20, 5]
    assert len({each["seed"] for each in drawn}) == 1
    assert draw(drawn[0]["seed"], np.arange(60) >= 0, 20) == drawn[0]["tasks"]
    for other in (restored, again, refitted):
        assert other.checks == live.checks
        assert other.session.gold == live.session.gold == []
        board, mine = other.session.task_index, live.session.task_index
        assert board.calibration == mine.calibration
        assert board.calibration is not None
        assert board.doubt == mine.doubt
        np.testing.assert_array_equal(board.posterior, mine.posterior)
        assert board.progress.accuracy == pytest.approx(mine.progress.accuracy)
    p.again()
    assert p.get("/checks").json() == {"asked": 25, "checked": 12, "left": 13}


def test_old_logs_have_no_queue_and_their_gold_was_chosen(make):
    p = make(tasks=5, workers=1)
    p.post("/gold", {"task": "t1", "answer": "c"})
    with p.project.database.reader.connect() as connection:
        gold = next(event for event in events(connection, "main") if event.kind == "gold")
    assert gold.payload == {"answer": "c"}
    live = p.project.queue.live
    assert live.checks == Checks()
    assert live.hides_gold(1)
    assert p.get("/tasks/t1").json()["drawn"] == "chosen"


def test_drawn_in_goes_the_sample_is_that_of_one_go():
    some = np.ones(200, dtype=bool)
    first = draw(7, some[:120], 20)
    more = np.ones(200, dtype=bool)
    more[first] = False
    both = {*first, *draw(7, more, 40)}
    whole = draw(7, some, 60)
    number = np.random.default_rng(7).random(200)
    below = number[whole].max()
    assert {t for t in both if number[t] <= below} >= set(first) & set(whole)
    assert len(both & set(whole)) >= 50
    counts = np.zeros(50)
    for seed in range(400):
        counts[draw(seed, np.arange(50) % 2 == 0, 5)] += 1
    assert (counts[1::2] == 0).all()
    assert counts[::2].min() > 40  # 80 on average


def test_what_makes_no_sense_is_refused(make):
    p = make(tasks=12, workers=2)
    assert p.post("/checks", {"n": 5}).status_code == 409
    answers(p, 4, workers=2)
    for body in ({"n": 0}, {"n": 5_001}, {"n": "3"}, {"n": 2, "seed": 1}):
        assert p.post("/checks", body).status_code == 422
    assert p.post("/checks", {"n": 60}).json()["asked"] == 4
    assert p.post("/checks", {}).status_code == 409  # nothing is left
    assert p.post("/checks/labels", {"task": "t9", "answer": "a"}).status_code == 409
    assert p.post("/checks/labels", {"task": "nobody", "answer": "a"}).status_code == 404
    got = p.post("/checks/labels", {"task": "t1", "answer": "zebra"})
    assert (got.status_code, "zebra" in got.json()["detail"]) == (422, True)
    assert p.get("/checks").json() == {"asked": 4, "checked": 0, "left": 4}
    with pytest.raises(Exception, match="1 to"):
        p.project.queue.do(lambda batch: check.ask(batch, 0))
    q = make(kind="rankings", classes=(), tasks=3)
    assert q.post("/checks", {}).status_code == 409
    assert q.get("/status").json()["checks"] is None


def test_a_checker_may_check_and_nothing_else(make):
    p = make(tasks=10, workers=2)
    answers(p, 10, workers=2)
    p.post("/checks", {"n": 3})
    token = p.project.queue.do(lambda batch: auth.issue(batch, "check"))[1]
    (task,) = p.get("/checks/next", token).json()["tasks"]
    assert p.post("/checks/labels", {"task": task["id"], "answer": "a"}, token).status_code == 200
    assert p.get("", token).json()["question"] == "Which?"
    for path in ("/status", "/tasks", "/workers", "/checks", "/export/labels.csv", "/next", "/report"):
        assert p.get(path, token).status_code == 403, path
    for path, body in (
        ("/checks", {}),
        ("/gold", {"task": "t0", "answer": "a"}),
        ("/labels", {"task": "t0", "answer": "a"}),
    ):
        assert p.post(path, body, token).status_code == 403, path
    for who in (0, p.project.queue.do(lambda batch: auth.issue(batch, "read"))[1]):
        assert p.get("/checks/next", who).status_code == 403
        assert p.post("/checks/labels", {"task": task["id"], "answer": "b"}, who).status_code == 403
    assert p.get(f"/tasks/{task['id']}").json()["gold"] == "a"


def test_the_pages_draw_check_and_say_how_far_it_is(make):
    p = make(tasks=40, workers=3, cap=3)
    truth = answers(p, 40, workers=3)
    fit(p)
    client = TestClient(make_app(p.project, rate=1e6, burst=1e6), follow_redirects=False, base_url="https://testserver")
    client.cookies.set("crowdwise", p.admin)
    lead = client.get("/p/main/lead").text
    assert "No task has been checked" in lead
    csrf = re.search(r'name="csrf" value="([^"]+)"', lead)[1]
    assert client.post("/p/main/lead", data={"csrf": csrf, "action": "check", "n": "x"}).status_code == 422
    assert client.post("/p/main/lead", data={"csrf": "x", "action": "check", "n": "12"}).status_code == 403
    assert client.post("/p/main/lead", data={"csrf": csrf, "action": "check", "n": "12"}).status_code == 303
    for done in range(12):
        page = client.get("/p/main/check").text
        assert f"<b data-checked>{done}</b> of 12 checked" in page
        task = re.search(r'data-task="([^"]+)"', page)[1]
        sent = {
            "csrf": re.search(r'name="csrf" value="([^"]+)"', page)[1],
            "task": task,
            "answer": truth[int(task[1:])],
        }
        got = client.post("/p/main/check", data=sent)
        assert got.status_code == 303, got.text
    undo = client.get(got.headers["location"]).text
    assert "All 12 tasks are checked" in undo
    assert f'name="task" value="{task}"' in undo
    assert client.post("/p/main/check", data=sent | {"action": "undo"}).status_code == 303
    assert client.post("/p/main/check", data=sent | {"answer": "zebra"}).status_code == 422
    assert client.post("/p/main/check", data=sent).status_code == 303
    fit(p)
    lead = client.get("/p/main/lead").text
    assert "12 of 12 checked" in lead
    assert "measured on 12 checked tasks" in lead
    assert "similar crowds" not in lead
    later = client.get("/p/main/check?after=7").text
    assert "All 12" in later


def test_a_restart_with_an_old_snapshot_replays_the_log(make, caplog):
    p = make(tasks=8, workers=2, serve=True)
    answers(p, 8, workers=2)
    p.project.snapshot()
    path = next(p.path.rglob("state.npz"))
    head, _, rest = path.read_bytes()[65:].partition(b"\n")
    old = json.dumps(json.loads(head) | {"format": 2}).encode() + b"\n" + rest
    p.project.refitter.close()
    p.project.refitter = None
    path.write_bytes(hashlib.sha256(old).hexdigest().encode() + b"\n" + old)
    p.project.close()
    p.project = Project(p.path)
    assert p.project.queue.live.n_answers == 16
    assert "another version" in caplog.text
