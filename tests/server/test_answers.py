"""Answers over the API: stored once, counted up to the cap, replaced, taken back, never dropped."""

from __future__ import annotations

import pytest


def test_a_worker_answers(make, database):
    p = make(database, tasks=5)
    shown = p.get("/next", 0).json()
    assert shown["stopped"] is None
    task = shown["tasks"][0]
    got = p.label(0, task["id"], "b")
    assert got.status_code == 201
    assert got.json()["status"] == "counted"
    assert p.get("/status").json()["answers"] == {"counted": 1, "surplus": 0, "skips": 0}
    seen = p.get(f"/tasks/{task['id']}").json()
    assert [(each["worker"], each["answer"]) for each in seen["by_worker"]] == [("w0", "b")]
    assert seen["live"]["label"] == "b"


def test_the_same_key_is_the_same_answer(make, database):
    p = make(database)
    (task,) = p.next(0)
    first = p.label(0, task, key="k")
    again = p.label(0, task, key="k")
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert p.label(0, task, "b", key="k").status_code == 422
    assert p.call("POST", "/labels", 0, json={"task": task, "answer": "a"}).status_code == 400
    assert p.get("/status").json()["answers"]["counted"] == 1
    p.again()
    assert p.label(0, task, key="k").json() == first.json()


def test_one_answer_replaces_another_and_is_taken_back(make, database):
    p = make(database, tasks=3)
    (task,) = p.next(0)
    p.label(0, task, "a")
    assert p.label(0, task, "b").json()["status"] == "replaced"
    assert p.get("/status").json()["answers"]["counted"] == 1
    back = p.post("/undo", {}, 0)
    assert back.json() | {"event": 0} == {"event": 0, "task": task, "status": "undone", "answer": "b"}
    assert p.get("/status").json()["answers"]["counted"] == 0
    assert p.next(0) == [task]
    assert p.post("/undo", {}, 0).status_code == 409


def test_the_cap_holds_and_what_is_beyond_it_is_kept(make, database):
    p = make(database, tasks=1, workers=5, cap=2, target=0.9999)
    assert [p.next(w) for w in range(3)] == [["t0"], ["t0"], []]
    late = [p.post("/labels", {"task": "t0", "answer": "a", "worker": f"w{w}"}) for w in (2, 3)]
    assert [each.json()["status"] for each in late] == ["surplus", "surplus"]
    assert [p.label(w, "t0").json()["status"] for w in range(2)] == ["counted", "counted"]
    counts = p.get("/status").json()
    assert counts["answers"] == {"counted": 2, "surplus": 2, "skips": 0}
    assert len(p.get("/tasks/t0").json()["by_worker"]) == 4
    assert p.call("PATCH", "", json={"cap": 5}).status_code == 200
    assert [p.next(w) for w in range(5)] == [[], [], [], [], ["t0"]]  # who was late has answered all the same
    assert p.post("/undo", {}, 3).status_code == 201
    assert p.next(3) == ["t0"]


def test_who_is_paused_may_take_back_but_gets_nothing_in_hand(make, database):
    p = make(database, tasks=2, workers=2)
    assert p.post("/labels", {"task": "t1", "answer": "a", "worker": "w0"}).status_code == 201
    assert p.post("/workers/w0/pause", {"reason": "why"}).status_code == 200
    assert p.post("/undo", {}, 0).status_code == 201
    assert not p.project.queue.live.leases.held


def test_what_a_pause_took_out_of_their_hands_does_not_come_back_with_a_restart(make, database):
    p = make(database, tasks=2, workers=2)
    assert len(p.next(0, 2)) == 2
    for act in ("pause", "resume"):
        assert p.post(f"/workers/w0/{act}", {"reason": "why"}).status_code == 200
    p.again()
    assert not p.project.queue.live.leases.held


def test_an_answer_after_its_time_counts_where_there_is_room(make, database):
    p = make(database, tasks=1, workers=3, cap=1, lease=60)
    assert p.next(0) == ["t0"]
    now = p.project.clock()
    p.project.queue.clock = lambda: now + 61
    assert p.next(1) == ["t0"]
    assert p.label(0, "t0").json()["status"] == "surplus"
    assert p.label(1, "t0").json()["status"] == "counted"
    p = make(database=None, tasks=1, workers=3, cap=1, lease=60)
    assert p.next(0) == ["t0"]
    p.project.queue.clock = lambda: now + 61
    assert p.label(0, "t0").json()["status"] == "counted"


def test_nobody_answers_what_was_not_given_to_them(make):
    p = make()
    got = p.label(0, "t3")
    assert got.status_code == 403
    assert "was not given to you" in got.json()["detail"]
    assert p.post("/labels", {"task": "t3", "answer": "a", "worker": "w1"}, 0).status_code == 403


def test_a_skipped_task_does_not_come_back(make, database):
    p = make(database, tasks=2)
    first = p.next(0)
    assert p.post("/skips", {"task": first[0], "reason": "unclear"}, 0).status_code == 201
    assert p.next(0, 5) == [each for each in ("t0", "t1") if each not in first]
    p.again()
    assert first[0] not in p.next(0, 5)


@pytest.mark.parametrize("n", [1, 3])
def test_tasks_in_hand_come_first_and_stay_the_same(make, n):
    p = make(tasks=9)
    first = p.next(0, n)
    assert len(first) == n
    assert p.next(0, n) == first
    assert p.next(0, n + 1)[:n] == first
    p.again()
    assert p.next(0, n + 1)[:n] == first


def test_many_at_once(make):
    p = make(tasks=6)
    labels = [{"task": f"t{i}", "answer": "a", "worker": f"w{i % 4}", "key": f"k{i}"} for i in range(6)]
    labels += [{"task": "none", "answer": "a", "worker": "w0", "key": "x"}, labels[0]]
    got = p.call("POST", "/labels/bulk", json={"labels": labels}).json()["results"]
    assert [each["status_code"] for each in got] == [201] * 6 + [404, 200]
    assert p.get("/status").json()["answers"]["counted"] == 6


def test_a_late_answer_to_a_gold_task_looks_like_any_other(make, database):
    """The receipts, progress and tasks of a worker who is late are the same with and without gold."""
    seen = {}
    for gold in (False, True):
        p = make(database if gold else None, tasks=2, workers=5, cap=2, target=1.0, lease=60, explore=0.0)
        if gold:
            p.post("/gold", {"task": "t0", "answer": "a"})
        for who in range(3):
            p.project.queue.do(lambda s, who=who: s.lease(s.task("t0"), who))
        now = p.project.clock()
        p.project.queue.clock = lambda now=now: now + 61
        for who in (3, 4):  # the task has its answers from others
            assert p.post("/labels", {"task": "t0", "answer": "a", "worker": f"w{who}"}).status_code == 201
        seen[gold] = late = []
        for key, choice in (("k1", "a"), ("k2", "b"), ("k1", "a")):
            got = p.label(0, "t0", choice, key=key)
            late.append((got.status_code, got.json()["status"], got.json()["stopped"]))
        late.append(p.get("/next", 0).json()["progress"])
        got = p.post("/labels?next=1", {"task": "t0", "answer": "c"}, 1).json()
        late.append((got["status"], got["next"]["progress"]))
        entry = {"task": "t0", "answer": "c", "key": "k3"}
        late.append(p.call("POST", "/labels/bulk", 2, json={"labels": [entry]}).json()["results"][0]["status"])
        late.append(p.post("/undo", {}, 0).json()["status"])
        late.append(("t0" in p.next(0, 5), p.get("/next", 0).json()["progress"]["answered"]))
    assert seen[True] == seen[False]
    assert seen[True][0][1] == "surplus"
    lead = p.get("/tasks/t0").json()["by_worker"]
    assert {row["status"] for row in lead if row["worker"] in ("w1", "w2")} == {"counted"}  # it counts for the lead


def test_an_answer_to_gold_in_hand_is_counted_whatever_the_cap(make):
    p = make(tasks=5, workers=3, cap=1, gold_rate=1.0, target=1.0)
    p.post("/gold", {"task": "t0", "answer": "a"})
    assert [p.next(who) for who in range(3)] == [["t0"]] * 3
    assert [p.label(who, "t0").json()["status"] for who in range(3)] == ["counted"] * 3
